import { smallFile } from "../../runtime/files.ts";
import { didYouMean } from "./command-line.ts";

/** A parsed settings file. */
export interface ConfigFile {
  readonly path: string;
  /** Settings by option name, written as on the command line. */
  readonly values: Readonly<Record<string, string>>;
  /** Sentences, each with its file and line. */
  readonly mistakes: readonly string[];
  /** Returns the line of a setting: `onair.toml:7`. */
  readonly place: (name: string) => string;
  /** Returns the source line of a setting, to append to a sentence. */
  readonly quote: (name: string) => string;
}

/** Loads the parser on first use: most servers have no settings file. */
const toml = () => require("smol-toml") as typeof import("smol-toml");

const mostBytes = 64 * 1024;

/** The names allowed in the file. */
interface KnownNames {
  /** Options, and options with the suffix `-file`, whose value is the path of a file with the value. */
  readonly settings: readonly string[];
  /** Settings refused in the file, because the file is not secret. */
  readonly secrets: ReadonlySet<string>;
}

/** Reads a settings file (TOML 1.0). Throws a `TypeError` when the file cannot be read. */
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
    `${place(name)} ${name} is not a setting.${didYouMean(name, settings)}${quote(name)}`;
  let found: Record<string, unknown> = {};
  const { parse, TomlError } = toml();
  try {
    found = parse(text);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    // The lines before the error may have mistakes of their own.
    for (const line of lines.slice(0, error.line - 1)) {
      const name = keyOf(line);
      if (/^\s*\[/.test(line)) break;
      if (name !== undefined && !isKnown(name)) mistakes.push(misnamed(name));
    }
    const [sentence = ""] = error.message.replace("Invalid TOML document: ", "").split("\n");
    const hint = sentence === "invalid value" ? " (put text in quotes; a switch is true or false)" : "";
    mistakes.push(`${path}:${error.line} is not TOML: ${sentence}${hint}${quoted(lines[error.line - 1])}`);
  }
  for (const [name, value] of Object.entries(found)) {
    const written = textOf(value);
    if (secrets.has(name)) {
      mistakes.push(
        `${place(name)} has the secret ${name}: put the secret into its own file, and set ${name}-file to the path of that file`,
      );
    } else if (!isKnown(name)) {
      mistakes.push(misnamed(name));
    } else if (written === null) {
      mistakes.push(`${place(name)} ${name} must be a string, an integer, true or false${quote(name)}`);
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

/** Returns the key or table name at the start of a line. */
function keyOf(line: string): string | undefined {
  const [, table, key] = /^\s*(?:\[\s*"?([\w-]+)|"?([\w-]+)"?\s*=)/.exec(line) ?? [];
  return table ?? key;
}

/**
 * Returns a value as written on the command line: a list with commas, a table as `name=value` pairs; null for other
 * types.
 */
function textOf(value: unknown): string | null {
  if (typeof value === "string" || typeof value === "boolean" || Number.isSafeInteger(value))
    return `${value}`;
  if (Array.isArray(value)) return value.every((one) => typeof one === "string") ? value.join(",") : null;
  if (typeof value !== "object" || value === null || value instanceof Date) return null;
  const pairs = Object.entries(value);
  if (!pairs.every(([, one]) => Number.isSafeInteger(one) || typeof one === "string")) return null;
  return pairs.map(([name, one]) => `${name}=${one}`).join(",");
}

/** Returns a line to quote. The value is hidden where it may be a secret. */
function quoted(line = ""): string {
  const shown = /secret|key|password|database|:\/\/.*@/i.test(line) ? `${line.split("=")[0]}= …` : line;
  return `\n    ${shown.trim().slice(0, 100)}`;
}
