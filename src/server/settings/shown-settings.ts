import type { ParseArgsOptionsConfig } from "node:util";
import { DeprecatedUse, deprecationNotice } from "../../domain/deprecations.ts";
import { nearest } from "./command-line.ts";
import { type Config, settings } from "./config.ts";
import type { Setting } from "./setting-values.ts";

/*
 * Settings as people see them: the names as options and environment variables, the help texts, and the values.
 */

/** The names of all settings. */
export const names = Object.keys(settings) as (keyof Config)[];
export const flagOf = (name: string) => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
export const variableOf = (name: string) => `ONAIR_${flagOf(name).replaceAll("-", "_").toUpperCase()}`;

/** Whether the value may be in a file, named by the variable with the suffix `_FILE`. */
export const mayBeInFile = ({ secret = false, file = false }: Setting<unknown>) => secret || file;

/**
 * Returns the options of all settings, and `others`. A switch has a default, so that `--name=false` can override a
 * variable.
 */
export function settingOptions(others: ParseArgsOptionsConfig = {}): ParseArgsOptionsConfig {
  const options: ParseArgsOptionsConfig = { ...others };
  for (const name of names) {
    const { secret, value } = settings[name];
    if (!secret) options[flagOf(name)] = value ? { type: "string" } : { type: "boolean", default: false };
  }
  return options;
}

/** Returns the environment reduced to the variables of these settings. */
export function variablesOf(
  env: Readonly<Record<string, string | undefined>>,
  ...wanted: readonly (keyof Config)[]
): Readonly<Record<string, string | undefined>> {
  const known = wanted.flatMap((name) => [variableOf(name), `${variableOf(name)}_FILE`]);
  return Object.fromEntries(known.map((name) => [name, env[name]]));
}

/** Variables that only commands other than `serve` read. */
const commandVariables = [
  "ONAIR_URL",
  "ONAIR_ADMIN_URL",
  "ONAIR_TOKEN",
  "ONAIR_PROFILE",
  "ONAIR_WEBHOOK_SECRET",
  "ONAIR_CLIENT_CERT",
  "ONAIR_CLIENT_KEY",
];

/** All variables that any command reads. */
const knownVariables: readonly string[] = [
  ...names.flatMap((name) =>
    mayBeInFile(settings[name]) ? [variableOf(name), `${variableOf(name)}_FILE`] : variableOf(name),
  ),
  ...commandVariables,
];

const prefix = "ONAIR_";

/** Returns unknown variables with the prefix of settings, each with the closest known one; null when none is close. */
export function unknownVariables(
  env: Readonly<Record<string, string | undefined>>,
): { name: string; meant: string | null }[] {
  return Object.keys(env)
    .filter((name) => name.startsWith(prefix) && !knownVariables.includes(name))
    .map((name) => ({ name, meant: meantBy(name.slice(prefix.length)) }));
}

/** Returns the closest known variable. The prefix is left out, because all have it. */
function meantBy(word: string): string | null {
  const known = knownVariables.map((name) => name.slice(prefix.length));
  const meant = nearest(word, known);
  return meant === null ? null : prefix + meant;
}

/**
 * Returns the help of all settings: purpose, default and variable, in lines of at most 100 characters, and whether one
 * is deprecated.
 */
export function settingsHelp(
  defaults: Partial<Record<keyof Config, string>> = {},
  deprecated = new DeprecatedUse(),
): string {
  return names
    .map((name) => {
      const { value, secret } = settings[name];
      const [ending] = deprecated.ofSettings([flagOf(name)]);
      const help = settings[name].help + (ending ? `; ${deprecationNotice(ending)}` : "");
      const initial = defaults[name] ?? settings[name].default;
      const tail = initial === null || initial === "" ? "" : ` (default: ${initial})`;
      if (secret) return helpEntry(variableOf(name), `${help}${tail}`);
      return helpEntry(
        `--${flagOf(name)}${value ? ` ${value}` : ""}`,
        `${help}${tail} [${variableOf(name)}]`,
      );
    })
    .join("\n");
}

/** The terminal width that every help text fits. */
export const helpColumns = 100;

const indentWidth = 29;
const indent = " ".repeat(indentWidth);

/** Formats a term and its meaning. After a long term, the meaning begins on the next line. */
function helpEntry(term: string, meaning: string): string {
  const [first = "", ...more] = Bun.wrapAnsi(meaning, helpColumns - indentWidth).split("\n");
  const head = `  ${term}`.padEnd(indentWidth);
  const lines = head.length > indentWidth ? [head, indent + first] : [head + first];
  return [...lines, ...more.map((line) => indent + line)].join("\n");
}

/** Returns the settings by option name, for the log. A secret is "set" or false. */
export function shownSettings(config: Config): Record<string, unknown> {
  return Object.fromEntries(names.map((name) => [flagOf(name), valueForLog(config, name)]));
}

function valueForLog(config: Config, name: keyof Config): unknown {
  return settings[name].secret ? config[name] !== null && "set" : withoutSecrets(config[name]);
}

/** Returns a setting for display. A secret is "set" or null. */
function settingInForce(config: Config, name: keyof Config) {
  const { help, secret: is_secret = false, default: initial } = settings[name];
  const value = is_secret && config[name] === null ? null : written(valueForLog(config, name));
  return { name: flagOf(name), value, default: initial, is_secret, help };
}

/** Returns the settings for display. A secret is "set" or null. */
export function settingsInForce(config: Config) {
  return names.map((name) => settingInForce(config, name));
}

/**
 * Returns the settings for display, each with the source of its value: `default`, an option, a variable, or a line of
 * the settings file.
 */
export function settingsWithSources(config: Config, sources: Readonly<Record<keyof Config, string>>) {
  return names.map((name) => ({ ...settingInForce(config, name), source: sources[name] }));
}

/** Returns the options, without dashes, of the settings that do not have their default. */
export function changedSettings(config: Config): string[] {
  return settingsInForce(config).flatMap(({ name, value, default: initial }) =>
    (value ?? "") === (initial ?? "") ? [] : name,
  );
}

/** Returns a value as written on the command line. */
function written(value: unknown): string | null {
  if (value === null) return null;
  if (Array.isArray(value)) return value.join(",");
  if (typeof value !== "object") return String(value);
  const pairs = Object.entries(value).map(([key, one]) => `${key}=${one}`);
  return pairs.join(",");
}

/** Hides user, password and query of a URL; returns any other value unchanged. */
function withoutSecrets(value: unknown): unknown {
  if (typeof value !== "string" || !/^\s*(https?|postgres(ql)?):/i.test(value)) return value;
  // The URL parser rejects several hosts, which PostgreSQL allows.
  if (!URL.canParse(value)) return value.replace(/\/\/[^/?#]*@/, "//***@").replace(/\?.*/s, "?***");
  const url = new URL(value);
  if (url.username || url.password) url.username = "***";
  url.password = "";
  if (url.search) url.search = "***";
  return url.href;
}
