import type { BackupConfig } from "../../backups/open-backups.ts";
import { type AwsVariables, awsVariables } from "../../backups/place.ts";
import { type Environment, readConfig, readSecret } from "../../config/read-config.ts";
import { variablesOf } from "../../config/setting-names.ts";
import { type DataPlace, placeOf } from "../../data/place.ts";
import { type Certificate, CertificateError, readCertificate } from "../../serving/certificates.ts";
import { type Given, valued } from "../arguments.ts";

/** The target of a command: a running server, or data that it opens itself. */
export interface Target {
  readonly server: {
    readonly url: URL;
    readonly key: string;
    /** With which the command shows who it is to a listener that asks for it. */
    readonly certificate: Pick<Certificate, "cert" | "key"> | null;
  } | null;
  /** Where the data is, used when there is no server. */
  readonly place: DataPlace;
  readonly allowPrivateWebhooks: boolean;
  /** How backups are made and kept, used when there is no server. */
  readonly backups: BackupConfig;
  readonly aws: AwsVariables;
  /** The option that names the target to another command, with a space before it; "" when the environment names it. */
  readonly option: string;
}

export const targetOptions = valued("url", "data", "database", "config", "client-cert", "client-key");
type GivenTarget = Given<typeof targetOptions>;

export const targetHelp = `  --url URL      the admin listener of a running server, like http://127.0.0.1:8081 (ONAIR_URL); the
                 operator key is taken from ONAIR_ADMIN_KEY, or from the file that
                 ONAIR_ADMIN_KEY_FILE names
  --client-cert FILE, --client-key FILE
                 for a listener with --admin-tls-client-ca: a certificate of that authority and its
                 key, both PEM (ONAIR_CLIENT_CERT, ONAIR_CLIENT_KEY)
  --data DIR     instead: the data directory, as of "onair serve" (ONAIR_DATA, where ONAIR_URL is
                 not set; default: onair-data); refused while a server uses it
  --database URL instead: the PostgreSQL database (ONAIR_DATABASE, or the file that
                 ONAIR_DATABASE_FILE names), without a password in the option
  --config FILE  instead: the data that the file of settings of "onair serve" names (ONAIR_CONFIG)`;

/** Options that say where data is. */
const placeNames = ["data", "database", "config"] as const;

export type NamedData = Pick<GivenTarget, (typeof placeNames)[number]>;

/** Whether an option says where data is. */
export const namesData = (given: NamedData): boolean => placeNames.some((name) => given[name] !== undefined);

/** Reads the target of a command, and adds problems to `mistakes`. */
export function readTarget(given: GivenTarget, env: Environment, mistakes: string[]): Target {
  const named = placeNames.filter((name) => given[name] !== undefined);
  const address = given.url ?? (named.length === 0 ? env["ONAIR_URL"] || undefined : undefined);
  const source = given.url === undefined ? "ONAIR_URL" : "--url";
  const url = address !== undefined && URL.canParse(address) ? new URL(address) : null;
  const key = address === undefined ? undefined : adminKeyOf(env, mistakes);
  if (address !== undefined) {
    if (!url || !/^https?:$/.test(url.protocol))
      mistakes.push(`${source} must be an http URL, like http://127.0.0.1:8081, not "${address}"`);
    for (const name of named) mistakes.push(`--url and --${name} exclude each other`);
    if (!key && mistakes.every((one) => !one.startsWith("ONAIR_ADMIN_KEY")))
      mistakes.push(`${source} needs the operator key in ONAIR_ADMIN_KEY`);
  }
  const certificate = address === undefined ? null : certificateOf(given, env, mistakes);
  const config = configOf(given, dataVariables(env, address === undefined));
  const option = ["url" as const, ...named].map((name) => (given[name] ? ` --${name} ${given[name]}` : ""));
  return {
    server: url && key ? { url, key, certificate } : null,
    place: placeOf(config),
    allowPrivateWebhooks: config.allowPrivateWebhooks,
    backups: config,
    aws: awsVariables(env),
    option: option.join(""),
  };
}

function configOf(given: NamedData, env: Environment) {
  const args = placeNames.flatMap((name) => (given[name] === undefined ? [] : `--${name}=${given[name]}`));
  return readConfig(args, env);
}

/** Where the data is for a command that goes to no server. */
export function placeOfCommand(given: NamedData, env: Environment): DataPlace {
  return placeOf(configOf(given, dataVariables(env, true)));
}

/** The variables that concern data, of which none counts beside a server. */
function dataVariables(env: Environment, isHere: boolean): Environment {
  if (!isHere) return variablesOf(env, "allowPrivateWebhooks");
  const backups = ["keepBackups", "keepBackupsDays", "backupTo", "backupEndpoint", "backupRegion"] as const;
  const data = ["allowPrivateWebhooks", "config", "data", "database", "databaseDirect"] as const;
  return variablesOf(env, ...data, ...backups, "backupRecipients");
}

/** The certificate for requests to a server; null when there is none. */
export function certificateOf(
  given: Pick<GivenTarget, "client-cert" | "client-key">,
  env: Environment,
  mistakes: string[],
): Certificate | null {
  const named = (name: "client-cert" | "client-key", variable: string) => {
    if (given[name] !== undefined) return { option: `--${name}`, path: given[name] };
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
