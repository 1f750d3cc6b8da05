import { type Environment, readConfig, readSecret } from "../../read-config.ts";

/** The target of a command: a running server, or a data directory that no server uses. */
export interface Target {
  readonly server: { readonly url: URL; readonly key: string } | null;
  /** The data directory, used when there is no server. */
  readonly data: string;
  readonly allowPrivateWebhooks: boolean;
  /** The number of backups to keep in the data directory. */
  readonly keepBackups: number;
  /** The option that names the target to another command, with a space before it; "" when the environment names it. */
  readonly option: string;
}

export const targetOptions = { url: { type: "string" }, data: { type: "string" } } as const;

export const targetHelp = `  --url URL      the admin listener of a running server, like http://127.0.0.1:8081 (ONAIR_URL); the
                 operator key is taken from ONAIR_ADMIN_KEY, or from the file that
                 ONAIR_ADMIN_KEY_FILE names
  --data DIR     instead: the data directory, as of "onair serve" (ONAIR_DATA, where ONAIR_URL is
                 not set; default: onair-data); refused while a server uses it`;

/** Reads the target of a command, and adds problems to `mistakes`. */
export function readTarget(
  given: { readonly url?: string | undefined; readonly data?: string | undefined },
  env: Environment,
  mistakes: string[],
): Target {
  const { data: directory } = given;
  const address = given.url ?? (directory === undefined ? env["ONAIR_URL"] || undefined : undefined);
  const source = given.url === undefined ? "ONAIR_URL" : "--url";
  const url = address !== undefined && URL.canParse(address) ? new URL(address) : null;
  const key = address === undefined ? undefined : adminKeyOf(env, mistakes);
  if (address !== undefined) {
    if (!url || !/^https?:$/.test(url.protocol))
      mistakes.push(`${source} must be an http URL, like http://127.0.0.1:8081, not "${address}"`);
    if (directory !== undefined) mistakes.push("--url and --data exclude each other");
    if (!key && mistakes.every((one) => !one.startsWith("ONAIR_ADMIN_KEY")))
      mistakes.push(`${source} needs the operator key in ONAIR_ADMIN_KEY`);
  }
  const { ONAIR_DATA, ONAIR_ALLOW_PRIVATE_WEBHOOKS, ONAIR_KEEP_BACKUPS } = env;
  const { data, allowPrivateWebhooks, keepBackups } = readConfig(
    directory === undefined ? [] : [`--data=${directory}`],
    { ONAIR_DATA, ONAIR_ALLOW_PRIVATE_WEBHOOKS, ONAIR_KEEP_BACKUPS },
  );
  const option = given.url !== undefined ? ` --url ${given.url}` : directory ? ` --data ${directory}` : "";
  return { server: url && key ? { url, key } : null, data, allowPrivateWebhooks, keepBackups, option };
}

/** The key for requests to a server; undefined when there is none. */
function adminKeyOf(env: Environment, mistakes: string[]): string | undefined {
  try {
    return readSecret(env, "ONAIR_ADMIN_KEY");
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    mistakes.push(`ONAIR_ADMIN_KEY ${error.message}`);
    return undefined;
  }
}
