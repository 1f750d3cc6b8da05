import { smallFile } from "../runtime/small-file.ts";
import { didYouMean } from "./command-line.ts";

/** A file of settings as it was read. */
export interface ConfigFile {
  readonly path: string;
  /** Settings by option name, each in the form in which an option has it. */
  readonly values: Readonly<Record<string, string>>;
  /** Sentences, each with the line it is about. */
  readonly mistakes: readonly string[];
  /** Names a line of the file: `onair.toml:7`. */
  readonly place: (name: string) => string;
  /** The line of a setting as it stands there, to append to a sentence. */
  readonly quote: (name: string) => string;
}

/** Loaded on first use: most servers have no such file. */
const toml = () => require("smol-toml") as typeof import("smol-toml");

const mostBytes = 64 * 1024;

/** What a name in the file may be: an option, or an option with `-file`, which names a file with the value. */
interface KnownNames {
  readonly settings: readonly string[];
  /** Settings that may not stand in the file, because it is not secret. */
  readonly secrets: ReadonlySet<string>;
}

/** Reads a file of settings (TOML 1.0). Throws a `TypeError` when it cannot be read. */
export function readConfigFile(path: string, { settings, secrets }: KnownNames): ConfigFile {
  const text = contentOf(path);
  const lines = text.split("\n");
  const lineOf = (name: string) => lines.findIndex((line) => keyOf(line) === name);
  const place = (name: string) => `${path}:${lineOf(name) + 1}`;
  const quote = (name: string) => quoted(lines[lineOf(name)]);
  const values: Record<string, string> = {};
  const mistakes: string[] = [];
  const isKnown = (name: string) => settings.includes(name) || secrets.has(name);
  const misnamed = (name: string) =>
    `${place(name)} ${name} is no setting.${didYouMean(name, settings)}${quote(name)}`;
  let found: Record<string, unknown> = {};
  const { parse, TomlError } = toml();
  try {
    found = parse(text);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    // What stands before it may be mistaken as well.
    for (const line of lines.slice(0, error.line - 1)) {
      const name = keyOf(line);
      if (/^\s*\[/.test(line)) break;
      if (name !== undefined && !isKnown(name)) mistakes.push(misnamed(name));
    }
    const [sentence = ""] = error.message.replace("Invalid TOML document: ", "").split("\n");
    const hint = sentence === "invalid value" ? " (a text stands in quotes, a switch is true or false)" : "";
    mistakes.push(`${path}:${error.line} is not TOML: ${sentence}${hint}${quoted(lines[error.line - 1])}`);
  }
  for (const [name, value] of Object.entries(found)) {
    const written = textOf(value);
    if (secrets.has(name)) {
      mistakes.push(
        `${place(name)} has the secret ${name}: put it into a file and name that in ${name}-file`,
      );
    } else if (!isKnown(name)) {
      mistakes.push(misnamed(name));
    } else if (written === null) {
      mistakes.push(`${place(name)} ${name} must be a text, an integer, true or false${quote(name)}`);
    } else values[name] = written;
  }
  return { path, values, mistakes, place, quote };
}

function contentOf(path: string): string {
  try {
    return smallFile(path, mostBytes);
  } catch (error) {
    throw new TypeError(`names ${path}, which ${(error as TypeError).message}`);
  }
}

/** The key or the table that a line begins with. */
function keyOf(line: string): string | undefined {
  const [, table, key] = /^\s*(?:\[\s*"?([\w-]+)|"?([\w-]+)"?\s*=)/.exec(line) ?? [];
  return table ?? key;
}

/** A list as an option has it, with commas; a table as pairs. */
function textOf(value: unknown): string | null {
  if (typeof value === "string" || typeof value === "boolean" || Number.isSafeInteger(value))
    return `${value}`;
  if (Array.isArray(value)) return value.every((one) => typeof one === "string") ? value.join(",") : null;
  if (typeof value !== "object" || value === null || value instanceof Date) return null;
  const pairs = Object.entries(value);
  if (!pairs.every(([, one]) => Number.isSafeInteger(one) || typeof one === "string")) return null;
  return pairs.map(([name, one]) => `${name}=${one}`).join(",");
}

/** A secret may stand in a mistaken line: what follows its sign of equality is then not repeated. */
function quoted(line = ""): string {
  const shown = /secret|key|password|database|:\/\/.*@/i.test(line) ? `${line.split("=")[0]}= …` : line;
  return `\n    ${shown.trim().slice(0, 100)}`;
}
