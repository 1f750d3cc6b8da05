import { resolve } from "node:path";
import type { ParseArgsOptionsConfig } from "node:util";
import { backupsOfPostgres } from "../../domain/backups.ts";
import { tlsMistakes } from "../../operations/certificates.ts";
import { smallFile } from "../../runtime/files.ts";
import { checkArguments, didYouMean } from "./command-line.ts";
import { type Config, settings } from "./config.ts";
import type { Setting } from "./setting-values.ts";
import { flagOf, mayBeInFile, names, settingOptions, variableOf } from "./shown-settings.ts";

/** Invalid settings. The message lists all problems. */
export class ConfigError extends Error {
  override name = "ConfigError";
}

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads the settings. Precedence, highest first: arguments, environment variables, the settings file, `defaults`, the
 * built-in defaults. Throws a `ConfigError` with all mistakes.
 */
export function readConfig(
  args: readonly string[],
  env: Environment,
  defaults: Partial<Record<keyof Config, string>> = {},
  others: ParseArgsOptionsConfig = {},
): Config {
  return sound(checkConfig(args, env, defaults, others)).config;
}

/** Returns `checked` if it has no mistakes. Throws a `ConfigError` with all mistakes otherwise. */
export function sound(checked: CheckedConfig): CheckedConfig {
  if (checked.mistakes.length > 0) throw new ConfigError(checked.mistakes.join("\n"));
  return checked;
}

/**
 * Reads the settings and returns them with their mistakes; an invalid setting gets its default. `others` are the
 * command's options that are not settings.
 */
export function checkConfig(
  args: readonly string[],
  env: Environment,
  defaults: Partial<Record<keyof Config, string>> = {},
  others: ParseArgsOptionsConfig = {},
): CheckedConfig {
  const { values: flags, positionals, mistakes: misused } = checkArguments(args, settingOptions(others));
  const mistakes = [...misused, ...positionals.map((word) => `"${word}" is not expected here`)];
  const file = fileOf(flags, env, mistakes);
  const config: Partial<Record<keyof Config, unknown>> = {};
  const sources: Partial<Record<keyof Config, string>> = {};
  const secretFiles: string[] = [];
  for (const name of names) {
    const setting: Setting<unknown> = settings[name];
    const source = sourceOf(name, flags, env, file);
    sources[name] = source?.name ?? "default";
    if (source?.file !== undefined) secretFiles.push(source.file);
    let raw = "";
    try {
      raw = source?.text() ?? "";
      if (!source?.isHidden) setting.checkFlag?.(raw);
      const text = source ? raw : (defaults[name] ?? setting.default);
      config[name] = text === null ? null : setting.read(text);
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      const line = source?.quote ?? repeated(raw, setting, error.message);
      mistakes.push(`${source?.name} ${error.message}${line}`);
      const initial = defaults[name] ?? setting.default;
      config[name] = initial === null ? null : setting.read(initial);
    }
  }
  if (config.port !== 0 && config.port === config.adminPort && config.host === config.adminHost) {
    mistakes.push("--port and --admin-port must differ");
  }
  mistakes.push(...contradictions(config, sources));
  const named = (["jwksUrl", "jwtIssuer", "jwtAudience"] as const).filter((name) => config[name] !== null);
  if (named.length % 3 !== 0 && mistakes.length === 0) {
    mistakes.push("--jwks-url, --jwt-issuer and --jwt-audience must be given together");
  }
  const checked = Object.freeze(config as unknown as Config);
  mistakes.push(...tlsMistakes(checked, Date.now()).map((one) => withSource(one, sources)));
  secretFiles.push(...[checked.tlsKey, checked.adminTlsKey].filter((path) => path !== null));
  return { config: checked, flags, mistakes, sources: sources as Record<keyof Config, string>, secretFiles };
}

/** Settings with their mistakes and sources. */
export interface CheckedConfig {
  readonly config: Config;
  /** The given options, including the command's own. */
  readonly flags: Readonly<Record<string, string | true>>;
  readonly mistakes: readonly string[];
  /** The source of each value: `default`, an option, a variable, or a line of the settings file. */
  readonly sources: Readonly<Record<keyof Config, string>>;
  /** Paths of the files that hold secret values, including TLS keys. */
  readonly secretFiles: readonly string[];
}

/** Replaces the option at the start of a sentence by the source of its value. */
function withSource(sentence: string, sources: Partial<Record<keyof Config, string>>): string {
  const option = /^--([a-z-]+) names /.exec(sentence)?.[1];
  const name = names.find((one) => flagOf(one) === option);
  const source = name && sources[name];
  return source === undefined || option === undefined
    ? sentence
    : source + sentence.slice(`--${option}`.length);
}

/** The source of a setting's value. */
interface Source {
  readonly name: string;
  /** Returns the value. Throws a `TypeError` if it is in a file that cannot be read. */
  readonly text: () => string;
  /** Whether the value is hidden from other users of the machine; they can see arguments. */
  readonly isHidden: boolean;
  /** The line of the settings file, to append to a sentence. */
  readonly quote?: string;
  /** The path of the file that holds only this value. */
  readonly file?: string | undefined;
}

/** Returns the source of a setting that takes precedence; null when it is not given. */
function sourceOf(
  name: keyof Config,
  flags: CheckedConfig["flags"],
  env: Environment,
  file: ConfigFile | null,
): Source | null {
  const option = flagOf(name);
  const variable = variableOf(name);
  const flag = flags[option];
  if (flag !== undefined) return { name: `--${option}`, text: () => String(flag), isHidden: false };
  const isFileTaken = mayBeInFile(settings[name]);
  const isUnset = env[variable] === undefined || (name === "data" && env[variable] === "");
  if (!isUnset || (isFileTaken && env[`${variable}_FILE`] !== undefined)) {
    const text = () => (isFileTaken ? readSecret(env, variable) : env[variable]) ?? "";
    const inFile = isFileTaken && env[variable] === undefined ? env[`${variable}_FILE`] : undefined;
    return { name: variable, text, isHidden: true, file: inFile };
  }
  const { alias } = settings[name] as Setting<unknown>;
  const meant = alias === undefined ? undefined : env[alias];
  if (alias !== undefined && meant) return { name: alias, text: () => meant, isHidden: true };
  const named = file?.values[`${option}-file`];
  if (file && named !== undefined) {
    const label = `${option}-file`;
    const text = () => contentOfSecret(named, "it");
    const name = `${file.place(label)} ${label}`;
    return { name, text, isHidden: true, quote: file.quote(label), file: named };
  }
  const written = file?.values[option];
  if (!file || written === undefined) return null;
  const at = `${file.place(option)} ${option}`;
  return { name: at, text: () => written, isHidden: false, quote: file.quote(option) };
}

/** Reads the settings file; null when no file is named. Adds a mistake and returns null for an unreadable file. */
function fileOf(flags: CheckedConfig["flags"], env: Environment, mistakes: string[]): ConfigFile | null {
  const path = flags["config"] ?? env[variableOf("config")];
  if (typeof path !== "string" || path === "") return null;
  const known = {
    settings: names.flatMap((name) => {
      const option = flagOf(name);
      if (name === "config") return [];
      if (settings[name].secret) return [`${option}-file`];
      return mayBeInFile(settings[name]) ? [option, `${option}-file`] : [option];
    }),
    secrets: new Set(names.filter((name) => settings[name].secret).map(flagOf)),
  };
  try {
    const file = readConfigFile(path, known);
    mistakes.push(...file.mistakes);
    return file;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    mistakes.push(`${flags["config"] === undefined ? variableOf("config") : "--config"} ${error.message}`);
    return null;
  }
}

/** A parsed settings file. */
interface ConfigFile {
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
function readConfigFile(path: string, { settings, secrets }: KnownNames): ConfigFile {
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
  /** Adds a mistake for each setting in a table, and returns the table without them. */
  const withoutSettings = (table: string, entries: object) => {
    const start = lineOf(table);
    const rest = Object.entries(entries).filter(([name]) => {
      if (!isKnown(name)) return true;
      const at = Math.max(
        start,
        lines.findIndex((line, i) => i > start && keyOf(line) === name),
      );
      mistakes.push(`${path}:${at + 1} ${name} is a setting: move it above [${table}]${quoted(lines[at])}`);
      return false;
    });
    return Object.fromEntries(rest);
  };
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
    const written = textOf(isKnown(name) && isTable(value) ? withoutSettings(name, value) : value);
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
  if (!isTable(value)) return null;
  const pairs = Object.entries(value);
  if (!pairs.every(([, one]) => Number.isSafeInteger(one) || typeof one === "string")) return null;
  return pairs.map(([name, one]) => `${name}=${one}`).join(",");
}

const isTable = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date);

/** Returns a line to quote. The value is hidden where it may be a secret. */
function quoted(line = ""): string {
  const masked = /secret|key|password|database|:\/\/.*@/i.test(line) ? `${line.split("=")[0]}= …` : line;
  return `\n    ${masked.trim().slice(0, 100)}`;
}

/** Returns contradictions between settings about the location of the data. */
function contradictions(
  config: Partial<Record<keyof Config, unknown>>,
  sources: Partial<Record<keyof Config, string>>,
): string[] {
  const isSet = (name: keyof Config) => sources[name] !== "default";
  if (isSet("data") && isSet("database")) {
    const [data, database] = [sources.data, sources.database];
    return [
      `${data} and ${database} contradict each other: give the data directory or the database, not both${data === "ONAIR_DATA" ? " (an empty ONAIR_DATA is none)" : ""}`,
    ];
  }
  const backups = (["backupEvery", "backupTo"] as const).filter((name) => config[name] !== null);
  if (config.database !== null && backups.length > 0)
    return [`--${flagOf(backups[0] ?? "")} is for a data directory. ${backupsOfPostgres}`];
  if (config.database !== null) {
    return (["keepByType", "maxDataSize"] as const)
      .filter((name) => isSet(name))
      .map((name) => `--${flagOf(name)} is for a data directory, not for PostgreSQL`);
  }
  if (config.databaseDirect === null) return [];
  return ["--database-direct needs --database"];
}

/**
 * Reads a secret from the environment: the variable itself, or the content of the file that the variable with the
 * suffix `_FILE` names. Throws a `TypeError` for an unreadable file.
 */
export function readSecret(env: Environment, variable: string): string | undefined {
  const file = env[`${variable}_FILE`];
  if (file === undefined) return env[variable];
  if (env[variable] !== undefined) throw new TypeError(`and ${variable}_FILE exclude each other`);
  return contentOfSecret(file, `${variable}_FILE`);
}

/** @param named the setting that names the file, for the error message */
function contentOfSecret(path: string, named: string): string {
  const file = resolve(path);
  try {
    const text = smallFile(file, longestSecretBytes).replace(/\r?\n$/, "");
    if (/[\u2018-\u201f]/.test(text)) throw new TypeError("has typographic quotes: remove them");
    return text;
  } catch (error) {
    throw new TypeError(`cannot be read: ${named} names ${file}, which ${(error as TypeError).message}`);
  }
}

const longestSecretBytes = 4096;

/** Returns the given value to append to an error; "" when the sentence has it already or it may be secret. */
function repeated(value: string, { secret = false }: Setting<unknown>, sentence: string): string {
  if (secret || value === "" || /[@]|^postgres/i.test(value) || sentence.endsWith(" is not one")) return "";
  return `, not "${value}"`;
}
