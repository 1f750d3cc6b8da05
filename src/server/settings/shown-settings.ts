import { type Config, reloadable, settings } from "./config.ts";
import type { CheckedConfig } from "./read-config.ts";
import { flagOf, names } from "./setting-names.ts";

/** Returns the settings by option name, for the log. A secret is "set" or false. */
export function shownSettings(config: Config): Record<string, unknown> {
  const display = (name: keyof Config) =>
    settings[name].secret ? config[name] !== null && "set" : withoutSecrets(config[name]);
  return Object.fromEntries(names.map((name) => [flagOf(name), display(name)]));
}

/** Returns the settings for display. A secret is "set" or null. */
export function settingsInForce(config: Config) {
  const values = shownSettings(config);
  return names.map((name) => {
    const { help, secret: is_secret = false, default: initial } = settings[name];
    const value = is_secret && config[name] === null ? null : written(values[flagOf(name)]);
    return { name: flagOf(name), value, default: initial, is_secret, help };
  });
}

/** Returns the options, without dashes, of the settings that do not have their default. */
export function changedSettings(config: Config): string[] {
  return settingsInForce(config).flatMap(({ name, value, default: initial }) =>
    (value ?? "") === (initial ?? "") ? [] : name,
  );
}

/**
 * Returns the settings for display, each with the source of its value: `default`, an option, a variable, or a line of
 * the settings file.
 */
export function settingsWithSources({ config, sources }: Pick<CheckedConfig, "config" | "sources">) {
  const inForce = settingsInForce(config);
  return names.map((name, at) => ({ ...inForce[at], name: flagOf(name), source: sources[name] }));
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

/** The effect of reading the settings again, by option name. */
export interface Reloaded {
  /** Settings that have changed and are in effect. */
  readonly changed: readonly string[];
  /** Settings that have changed, with effect after a restart. */
  readonly needRestart: readonly string[];
}

/**
 * Holds the settings in effect. A reload changes those listed in `reloadable`, so read them from `live` at each use.
 */
export function liveSettings(config: Config) {
  const live: { -readonly [Key in keyof Config]: Config[Key] } = { ...config };
  return {
    live: live as Config,
    /** Applies the reloadable settings of `next`. */
    reload(next: Config): Reloaded {
      const names = (Object.keys(live) as (keyof Config)[]).filter(
        (name) => !Bun.deepEquals(live[name], next[name]),
      );
      const isLive = (name: keyof Config) => (reloadable as readonly string[]).includes(name);
      for (const name of reloadable) live[name] = next[name];
      return {
        changed: names.filter(isLive).map(flagOf),
        needRestart: names.filter((name) => !isLive(name)).map(flagOf),
      };
    },
    /** Returns the settings in effect for display, without secrets. */
    inForce: () => settingsInForce(live),
  };
}
