import type { Config } from "../server/settings/config.ts";
import { type Environment, readConfig } from "../server/settings/read-config.ts";

/**
 * Reads settings of the server for another command: from those of its options that `names` lists, and from these
 * variables. Throws a `ConfigError`.
 */
export function readSettings<Name extends string>(
  given: Readonly<Partial<Record<Name, string | boolean>>>,
  names: readonly Name[],
  env: Environment,
): Config {
  const args = names.flatMap((name) => (given[name] === undefined ? [] : `--${name}=${given[name]}`));
  return readConfig(args, env);
}
