import { type ParseArgsOptionsConfig, parseArgs } from "node:util";
import { type Environment, readConfig, readSecret } from "../config.ts";
import { UsageError } from "./command.ts";

/** What a command works on: a running server, or a data directory that nobody serves. */
export interface Target {
  readonly server: { readonly url: URL; readonly key: string } | null;
  /** Without a server: the data directory. */
  readonly data: string;
  readonly allowPrivateWebhooks: boolean;
  /** Of a data directory: backups that are kept. */
  readonly keepBackups: number;
}

export const targetOptions = { url: { type: "string" }, data: { type: "string" } } as const;

export const targetHelp = `  --url URL      the admin listener of a running server, like http://127.0.0.1:8081; the operator key is
                 taken from ONAIR_ADMIN_KEY, or from the file that ONAIR_ADMIN_KEY_FILE names
  --data DIR     without --url: the data directory, as of "onair serve" (ONAIR_DATA, default: onair-data);
                 refused while a server uses it`;

/** Reads what a command works on, and notes what is wrong with it in `mistakes`. */
export function readTarget(
  {
    url: address,
    data: directory,
  }: { readonly url?: string | undefined; readonly data?: string | undefined },
  env: Environment,
  mistakes: string[],
): Target {
  const url = address !== undefined && URL.canParse(address) ? new URL(address) : null;
  const key = address === undefined ? undefined : adminKeyOf(env, mistakes);
  if (address !== undefined) {
    if (!url || !/^https?:$/.test(url.protocol)) mistakes.push("--url must be an http URL");
    if (directory !== undefined) mistakes.push("--url and --data exclude each other");
    if (!key && mistakes.every((one) => !one.startsWith("ONAIR_ADMIN_KEY")))
      mistakes.push("--url needs the operator key in ONAIR_ADMIN_KEY");
  }
  const { ONAIR_DATA, ONAIR_ALLOW_PRIVATE_WEBHOOKS, ONAIR_KEEP_BACKUPS } = env;
  const { data, allowPrivateWebhooks, keepBackups } = readConfig(
    directory === undefined ? [] : ["--data", directory],
    { ONAIR_DATA, ONAIR_ALLOW_PRIVATE_WEBHOOKS, ONAIR_KEEP_BACKUPS },
  );
  return { server: url && key ? { url, key } : null, data, allowPrivateWebhooks, keepBackups };
}

/** The key for requests to a server; undefined where there is none. */
function adminKeyOf(env: Environment, mistakes: string[]): string | undefined {
  try {
    return readSecret(env, "ONAIR_ADMIN_KEY");
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    mistakes.push(`ONAIR_ADMIN_KEY ${error.message}`);
    return undefined;
  }
}

/** Reads the words and options of a command; throws `UsageError`. */
export function readArguments<const Options extends ParseArgsOptionsConfig>(
  args: readonly string[],
  options: Options,
) {
  try {
    return parseArgs({ args: [...args], allowPositionals: true, options });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

/** The file or directory of a server as it is told to people. */
export function addressOf({ server, data }: Target): string {
  return server ? server.url.origin : data;
}
