import { type Config, reloadable } from "./config.ts";
import { flagOf } from "./setting-names.ts";
import { settingsInForce } from "./shown-settings.ts";

/** The effect of reading the settings again, by option name. */
export interface Reloaded {
  /** Changed, and now in effect. */
  readonly changed: readonly string[];
  /** Changed, and in effect only after a restart. */
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
    shown: () => settingsInForce(live),
  };
}
