import { existsSync } from "node:fs";
import { fitsHeader } from "../../client/tokens.ts";
import { StoreError } from "../../domain/store.ts";
import type { BackupConfig } from "../../operations/backups/backups.ts";
import { type AwsVariables, awsVariables } from "../../operations/backups/destination.ts";
import { type Certificate, CertificateError, readCertificate } from "../../operations/certificates.ts";
import { isLoopback } from "../../operations/checks/requests.ts";
import type { Config } from "../../server/settings/config.ts";
import { type Environment, readConfig, readSecret } from "../../server/settings/read-config.ts";
import { variablesOf } from "../../server/settings/shown-settings.ts";
import { storageAt } from "../../server/storage-at.ts";
import { type DataLocation, locationOf, shownDataLocation } from "../../store/location.ts";
import { DirectoryInUse, databaseIn } from "../../store/sqlite/directory.ts";
import { type OptionValues, valued } from "../arguments.ts";
import { UsageError } from "../command.ts";
import { devProfile, type Profile, Profiles } from "./profiles.ts";

/**
 * Reads settings of the server for another command: from those of its options that `names` lists, and from these
 * variables. Throws a `ConfigError`.
 */
export function readSettings<Name extends string>(
  options: Readonly<Partial<Record<Name, string | boolean>>>,
  names: readonly Name[],
  env: Environment,
): Config {
  const args = names.flatMap((name) => (options[name] === undefined ? [] : `--${name}=${options[name]}`));
  return readConfig(args, env);
}

/** The target of a command: a running server, or data that the command opens. */
export interface Target {
  readonly server: {
    readonly url: URL;
    readonly key: string;
    /** The client certificate for a listener that requires one. */
    readonly certificate: Pick<Certificate, "cert" | "key"> | null;
  } | null;
  /** The location of the data, used without a server. */
  readonly location: DataLocation;
  /**
   * The server of `onair dev`, used if neither a server nor data is named, and there is no data at the location. The
   * key is null when the environment has another key.
   */
  readonly dev: { readonly url: URL; readonly key: string | null } | null;
  readonly allowPrivateWebhooks: boolean;
  /** The setting for snapshots of livestreams, used without a server. */
  readonly confirmAbovePercent: number;
  /** The settings of backups, used without a server. */
  readonly backups: BackupConfig;
  readonly aws: AwsVariables;
  /**
   * The options for suggested commands that name the same target, with a leading space; "" when the environment names
   * it.
   */
  readonly option: string;
}

export const targetOptions = valued("url", "data", "database", "config", "client-cert", "client-key");
type TargetOptions = OptionValues<typeof targetOptions>;

export const targetHelp = `  --url URL      the admin listener of a running server, like http://127.0.0.1:8081
                 (ONAIR_ADMIN_URL, else ONAIR_URL, unless ONAIR_TOKEN is set); set the operator key
                 in ONAIR_ADMIN_KEY, or name a file that holds it in ONAIR_ADMIN_KEY_FILE
  --client-cert FILE, --client-key FILE
                 for a listener with --admin-tls-client-ca: a certificate signed by that authority
                 and its key, both PEM (ONAIR_CLIENT_CERT, ONAIR_CLIENT_KEY)
  --data DIR     instead: the data directory of "onair serve" (ONAIR_DATA, unless one of these URLs
                 is set; default: onair-data); refused while a server uses it
  --database URL instead: the PostgreSQL database, without a password in the URL (ONAIR_DATABASE, or
                 the file that ONAIR_DATABASE_FILE names). Where nothing is named and there is no
                 onair-data, the running "onair dev" is used
  --config FILE  instead: the data named by this settings file of "onair serve" (ONAIR_CONFIG)`;

/** Options that name the location of data. */
const placeNames = ["data", "database", "config"] as const;

export type NamedData = Pick<TargetOptions, (typeof placeNames)[number]>;

/** Whether an option names the location of data. */
export const namesData = (options: NamedData): boolean =>
  placeNames.some((name) => options[name] !== undefined);

/** Reads the target of a command, and adds problems to `mistakes`. */
export function readTarget(options: TargetOptions, env: Environment, mistakes: string[]): Target {
  const named = placeNames.filter((name) => options[name] !== undefined);
  const variable = env["ONAIR_ADMIN_URL"] ? "ONAIR_ADMIN_URL" : "ONAIR_URL";
  const address = options.url ?? (named.length === 0 ? env[variable] || undefined : undefined);
  const source = options.url === undefined ? variable : "--url";
  if (address !== undefined && source === "ONAIR_URL" && env["ONAIR_TOKEN"])
    mistakes.push(
      "With ONAIR_TOKEN, ONAIR_URL is the public listener: name the admin listener in ONAIR_ADMIN_URL or --url",
    );
  const url = address !== undefined && URL.canParse(address) ? new URL(address) : null;
  const key = address === undefined ? undefined : adminKeyOf(env, mistakes);
  if (address !== undefined) {
    if (!url || !/^https?:$/.test(url.protocol))
      mistakes.push(`${source} must be an http or https URL, like http://127.0.0.1:8081, not "${address}"`);
    if (key !== undefined && !fitsHeader(key))
      mistakes.push(
        "The operator key in ONAIR_ADMIN_KEY has invalid characters: check that it was copied correctly",
      );
    for (const name of named) mistakes.push(`--url and --${name} exclude each other`);
    if (!key && mistakes.every((one) => !one.startsWith("ONAIR_ADMIN_KEY")))
      mistakes.push(`${source} needs an operator key: set ONAIR_ADMIN_KEY`);
  }
  const certificate = address === undefined ? null : certificateOf(options, env, mistakes);
  const config = readSettings(options, placeNames, dataVariables(env, address === undefined));
  const option = ["url" as const, ...named].map((name) =>
    options[name] ? ` --${name} ${options[name]}` : "",
  );
  return {
    server: url && key ? { url, key, certificate } : null,
    location: locationOf(config),
    dev: isNothingNamed(options, env) ? devServer(env, mistakes) : null,
    allowPrivateWebhooks: config.allowPrivateWebhooks,
    confirmAbovePercent: config.confirmSnapshotAbove,
    backups: config,
    aws: awsVariables(env),
    option: option.join(""),
  };
}

/** Variables that name a server or data. */
const placeVariables = [
  "ONAIR_ADMIN_URL",
  "ONAIR_URL",
  "ONAIR_DATA",
  "ONAIR_DATABASE",
  "ONAIR_DATABASE_FILE",
  "ONAIR_CONFIG",
];

function isNothingNamed(options: TargetOptions, env: Environment): boolean {
  return options.url === undefined && !namesData(options) && placeVariables.every((name) => !env[name]);
}

/**
 * Returns the server of the profile that `onair dev` stores; null without one. It is on this machine. A key in the
 * environment that is not its own is probably that of a real platform, and not for it.
 */
function devServer(env: Environment, mistakes: string[]): Target["dev"] {
  let admin: Profile["admin"];
  try {
    admin = new Profiles(env).find(devProfile)?.admin;
  } catch {
    // A damaged profile is reported by the commands that use profiles.
    return null;
  }
  const url = admin && URL.parse(admin.url);
  if (!admin || !url || !isLoopback(url.hostname)) return null;
  const key = adminKeyOf(env, mistakes) ?? admin.key;
  return { url, key: key === admin.key ? key : null };
}

/**
 * Adds a mistake when `--data`, which names a directory, is given the content of an event or request.
 * @param instead says how to give content to this command
 */
export function refuseContent({ data }: NamedData, instead: string, mistakes: string[]): void {
  if (data !== undefined && /^\s*[{[@]|=/.test(data) && !existsSync(data))
    mistakes.push(`--data names a data directory, and "${data}" is none: ${instead}`);
}

/** Returns the location of the data for a command that never uses a server. */
export function locationOfCommand(options: NamedData, env: Environment): DataLocation {
  return locationOf(readSettings(options, placeNames, dataVariables(env, true)));
}

/** Returns the variables about data. With a server, its location is ignored. */
function dataVariables(env: Environment, isHere: boolean): Environment {
  if (!isHere) return variablesOf(env, "allowPrivateWebhooks");
  const backups = ["keepBackups", "keepBackupsDays", "backupTo", "backupEndpoint", "backupRegion"] as const;
  const data = [
    "allowPrivateWebhooks",
    "confirmSnapshotAbove",
    "config",
    "data",
    "database",
    "databaseDirect",
  ] as const;
  return variablesOf(env, ...data, ...backups, "backupRecipients");
}

/** Reads the client certificate for requests to a server; null when none is given. Adds problems to `mistakes`. */
export function certificateOf(
  options: Pick<TargetOptions, "client-cert" | "client-key">,
  env: Environment,
  mistakes: string[],
): Certificate | null {
  const named = (name: "client-cert" | "client-key", variable: string) => {
    if (options[name] !== undefined) return { option: `--${name}`, path: options[name] };
    return env[variable] ? { option: variable, path: env[variable] } : null;
  };
  const [cert, key] = [named("client-cert", "ONAIR_CLIENT_CERT"), named("client-key", "ONAIR_CLIENT_KEY")];
  if (cert === null && key === null) return null;
  try {
    if (cert && key) return readCertificate({ cert, key, clientCa: null }, Date.now());
    mistakes.push("--client-cert and --client-key must be given together");
  } catch (error) {
    if (!(error instanceof CertificateError)) throw error;
    mistakes.push(error.message);
  }
  return null;
}

/** Reads the operator key for requests to a server; undefined when there is none. Adds problems to `mistakes`. */
function adminKeyOf(env: Environment, mistakes: string[]): string | undefined {
  try {
    return readSecret(env, "ONAIR_ADMIN_KEY");
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    mistakes.push(`ONAIR_ADMIN_KEY ${error.message}`);
    return undefined;
  }
}

/** Adds a mistake when the directory named by an option has no database. */
export function requireDatabase(directory: string, option: string, mistakes: string[]): void {
  if (!existsSync(databaseIn(directory)))
    mistakes.push(`There is no data in ${directory}; name the data directory with ${option}`);
}

/** A command found no data. */
export class NoDataError extends UsageError {}

/** Throws an error of opening data again; if a server uses the data, with the advice to name the server. */
export function adviseUrl(error: unknown): never {
  if (!(error instanceof DirectoryInUse)) throw error;
  throw new StoreError(
    `${error.message} Or let the running server do it: name its admin listener with --url, and set ONAIR_ADMIN_KEY.`,
  );
}

/**
 * Throws a `NoDataError` when there is no data in a location, and a `StoreError` when the data cannot be used.
 * @param why no other platform is used, appended to the message
 */
export async function requireData(location: DataLocation, why: string | null = null): Promise<void> {
  if (await (await storageAt(location)).hasData()) return;
  const where = shownDataLocation(location);
  throw new NoDataError(
    "directory" in location
      ? `There is no data in ${where}; name the data directory with --data, or a server with --url${why ?? ""}`
      : `There is no data in the database ${where}; "onair serve" or "onair import" creates it`,
  );
}
