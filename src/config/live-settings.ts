import { type Config, reloadable } from "./config.ts";
import { flagOf } from "./setting-names.ts";
import { settingsInForce } from "./shown-settings.ts";

/** What came of settings that were read again, by option name. */
export interface Reloaded {
  /** In force from now on. */
  readonly changed: readonly string[];
  /** Changed, and in force after a restart. */
  readonly needRestart: readonly string[];
}

/** Settings some of which change while the server runs: who reads `live` gets the newest. */
export function liveSettings(config: Config) {
  const live: { -readonly [Key in keyof Config]: Config[Key] } = { ...config };
  return {
    live: live as Config,
    /** Takes the settings that may change. */
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
    /** The settings as people read them. */
    shown: () => settingsInForce(live),
  };
}
