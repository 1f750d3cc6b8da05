import { readFileSync, statSync } from "node:fs";
import type { ParseArgsOptionsConfig } from "node:util";
import { checkArguments } from "./arguments.ts";
import { maxWebhookConcurrency } from "./domain/applications.ts";
import { helpEntry } from "./help-text.ts";
import { type LogLevel, logLevels } from "./log.ts";

import {
  adminKey,
  baseUrl,
  hostName,
  hostNames,
  integer,
  networks,
  nonEmpty,
  oneOf,
  pageUrl,
  proxyUrl,
  timesToLive,
  yesOrNo,
} from "./setting-values.ts";

/** The checked settings of a server. */
export interface Config {
  readonly data: string;
  readonly host: string;
  readonly port: number;
  readonly adminHost: string;
  readonly adminPort: number;
  /** Further host names of the admin listener, besides `adminHost`, `localhost` and IP addresses. */
  readonly adminHosts: readonly string[];
  /** null for the address of the public listener. */
  readonly publicUrl: string | null;
  /** null for the keys of the data directory, of which the first start makes one. */
  readonly adminKey: string | null;
  readonly allowPrivateWebhooks: boolean;
  /** The URL of the egress proxy, which may hold a password; null for none. */
  readonly webhookProxy: string | null;
  /** Concurrent deliveries to an endpoint. */
  readonly webhookConcurrency: number;
  /** Requests a minute; 0 means no limit. */
  readonly rateLimit: number;
  readonly subscriptionLimit: number;
  /** Open event streams of an application. */
  readonly streamLimit: number;
  /** Addresses and networks of proxies whose `X-Forwarded-For` is trusted. */
  readonly trustedProxies: readonly string[];
  /** The platform's login and consent page; null disables logins. */
  readonly loginUrl: string | null;
  /** The key set that signs the platform's own access tokens (JWTs); null refuses such tokens. */
  readonly jwksUrl: string | null;
  readonly jwtIssuer: string | null;
  readonly jwtAudience: string | null;
  /** Whether tokens without a subject belong to the application itself; else they are refused. */
  readonly jwtAppWithoutSub: boolean;
  /** Seconds after which an undelivered event expires, by event type; 0 for never. */
  readonly timeToLive: Readonly<Record<string, number>>;
  readonly keepDeliveredDays: number;
  readonly keepFailedDays: number;
  readonly keepBodiesDays: number;
  /** Backups to keep in the data directory. */
  readonly keepBackups: number;
  /** Seconds between `/readyz` reporting the stop and the listeners closing. */
  readonly drainDelay: number;
  /** The log file; null for standard error. */
  readonly logFile: string | null;
  readonly logLevel: LogLevel;
}

/** Invalid settings. The message lists all problems. */
export class ConfigError extends Error {
  override name = "ConfigError";
}

interface Setting<T> {
  readonly help: string;
  /** The placeholder of the value in the help; absent for a switch. */
  readonly value?: string;
  readonly default: string | null;
  /** Read only from the environment, because other users of the machine can see arguments. */
  readonly secret?: boolean;
  /** Parses the setting; throws a `TypeError` that states what it must be. */
  readonly read: (text: string) => T;
}

type Settings = { readonly [Key in keyof Config]: Setting<Config[Key]> };

const settings: Settings = {
  data: { value: "DIR", default: "onair-data", help: "data directory, made where missing", read: nonEmpty },
  host: { value: "HOST", default: "127.0.0.1", help: "address of the public listener", read: hostName },
  port: { value: "PORT", default: "8080", help: "its port; 0 picks a free one", read: integer(0, 65_535) },
  adminHost: { value: "HOST", default: "127.0.0.1", help: "address of the admin listener", read: hostName },
  adminPort: {
    value: "PORT",
    default: "8081",
    help: "its port; 0 picks a free one",
    read: integer(0, 65_535),
  },
  adminHosts: {
    value: "LIST",
    default: "",
    help: "names by which it may be asked, separated by commas, beside --admin-host, localhost and addresses",
    read: hostNames,
  },
  publicUrl: {
    value: "URL",
    default: null,
    help: "where the public listener is reached from outside (default: its address)",
    read: baseUrl,
  },
  adminKey: {
    default: null,
    secret: true,
    help: "an operator key; ONAIR_ADMIN_KEY_FILE names a file with it (default: one made at the first start and shown once)",
    read: adminKey,
  },
  allowPrivateWebhooks: {
    default: "false",
    help: "let webhooks go to http URLs and private addresses: for development only",
    read: yesOrNo,
  },
  webhookProxy: {
    value: "URL",
    default: null,
    help: "proxy that webhooks go through; where its URL holds a password, set the variable",
    read: proxyUrl,
  },
  webhookConcurrency: {
    value: "N",
    default: "128",
    help: "deliveries to an endpoint at once, at most; an application may have a number of its own",
    read: integer(1, maxWebhookConcurrency),
  },
  rateLimit: {
    value: "N",
    default: "800",
    help: "requests a minute for each application, and for each address (IPv6: each /64) without a token; 0 is no limit",
    read: integer(0, 10_000_000),
  },
  subscriptionLimit: {
    value: "N",
    default: "10000",
    help: "subscriptions for each application",
    read: integer(0, 1_000_000),
  },
  streamLimit: {
    value: "N",
    default: "100",
    help: "event streams that an application may have open at the same time, and its users together; one user has 5 % of it",
    read: integer(1, 10_000),
  },
  trustedProxies: {
    value: "LIST",
    default: "",
    help: "proxies whose X-Forwarded-For is believed: addresses and networks, separated by commas",
    read: networks,
  },
  loginUrl: {
    value: "URL",
    default: null,
    help: "the platform's login and consent page; without it users cannot authorize applications",
    read: pageUrl,
  },
  jwksUrl: {
    value: "URL",
    default: null,
    help: "keys of the platform's own access tokens (JWTs), which are then accepted",
    read: pageUrl,
  },
  jwtIssuer: { value: "ISSUER", default: null, help: "who must have issued them (iss)", read: nonEmpty },
  jwtAudience: {
    value: "AUDIENCE",
    default: null,
    help: "the audience (aud) that they must name",
    read: nonEmpty,
  },
  jwtAppWithoutSub: {
    default: "false",
    help: "take those without a subject (sub) as tokens of the application itself",
    read: yesOrNo,
  },
  timeToLive: {
    value: "TYPE=SECONDS,…",
    default: "",
    help: "when an undelivered event is not sent any more; 0 is never (chat.message.sent: 600, other built-in types: 0)",
    read: timesToLive,
  },
  keepDeliveredDays: {
    value: "DAYS",
    default: "7",
    help: "how long deliveries that arrived are kept",
    read: integer(1, 3_650),
  },
  keepFailedDays: {
    value: "DAYS",
    default: "30",
    help: "how long deliveries that failed, expired or were canceled are kept",
    read: integer(1, 3_650),
  },
  keepBodiesDays: {
    value: "DAYS",
    default: "7",
    help: "how long the bodies of events are kept once nothing of them is pending",
    read: integer(1, 3_650),
  },
  keepBackups: {
    value: "N",
    default: "3",
    help: "backups that stay in the data directory; older ones go when a new one is whole",
    read: integer(1, 1_000),
  },
  drainDelay: {
    value: "SECONDS",
    default: "0",
    help: "how long a server that stops still takes requests while /readyz says that it stops",
    read: integer(0, 600),
  },
  logFile: {
    value: "FILE",
    default: null,
    help: "where the log goes, opened again at SIGHUP (default: standard error)",
    read: nonEmpty,
  },
  logLevel: { value: "LEVEL", default: "info", help: logLevels.join(", "), read: oneOf(...logLevels) },
};

const names = Object.keys(settings) as (keyof Config)[];
const flagOf = (name: string) => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
const variableOf = (name: string) => `ONAIR_${flagOf(name).replaceAll("-", "_").toUpperCase()}`;

/** The settings by option name, for the log; of a secret only whether it is set. */
export function shownSettings(config: Config): Record<string, unknown> {
  const shown = (name: keyof Config) =>
    settings[name].secret ? config[name] !== null && "set" : withoutSecrets(config[name]);
  return Object.fromEntries(names.map((name) => [flagOf(name), shown(name)]));
}

/** A URL without its user, password and query. */
function withoutSecrets(value: unknown): unknown {
  if (typeof value !== "string" || !/^https?:/i.test(value) || !URL.canParse(value)) return value;
  const url = new URL(value);
  if (url.username || url.password) url.username = "***";
  url.password = "";
  if (url.search) url.search = "***";
  return url.href;
}

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads the settings: arguments override the environment, which overrides `defaults`, which override the built-in
 * defaults. Throws a `ConfigError` with all mistakes.
 */
export function readConfig(
  args: readonly string[],
  env: Environment,
  defaults: Partial<Record<keyof Config, string>> = {},
  others: ParseArgsOptionsConfig = {},
): Config {
  const { config, mistakes } = checkConfig(args, env, defaults, others);
  if (mistakes.length > 0) throw new ConfigError(mistakes.join("\n"));
  return config;
}

/**
 * Reads the settings and returns the mistakes beside them; an invalid setting has its default. `others` are options of
 * the command that are not settings.
 */
export function checkConfig(
  args: readonly string[],
  env: Environment,
  defaults: Partial<Record<keyof Config, string>> = {},
  others: ParseArgsOptionsConfig = {},
): { readonly config: Config; readonly mistakes: readonly string[] } {
  const { values: flags, positionals, mistakes: misused } = checkArguments(args, settingOptions(others));
  const mistakes = [...misused, ...positionals.map((word) => `"${word}" is not expected here`)];
  const config: Partial<Record<keyof Config, unknown>> = {};
  for (const name of names) {
    const setting: Setting<unknown> = settings[name];
    const flag = flags[flagOf(name)];
    try {
      const variable = setting.secret ? readSecret(env, variableOf(name)) : env[variableOf(name)];
      const given = flag ?? variable ?? defaults[name] ?? setting.default;
      config[name] = given === null ? null : setting.read(String(given));
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      const source = flag === undefined ? variableOf(name) : `--${flagOf(name)}`;
      const given = String(flag ?? env[variableOf(name)] ?? "");
      mistakes.push(`${source} ${error.message}${repeated(given, setting, error.message)}`);
      const initial = defaults[name] ?? setting.default;
      config[name] = initial === null ? null : setting.read(initial);
    }
  }
  if (config.port !== 0 && config.port === config.adminPort && config.host === config.adminHost) {
    mistakes.push("--port and --admin-port must differ");
  }
  const given = (["jwksUrl", "jwtIssuer", "jwtAudience"] as const).filter((name) => config[name] !== null);
  if (given.length % 3 !== 0 && mistakes.length === 0) {
    mistakes.push("--jwks-url, --jwt-issuer and --jwt-audience must be given together");
  }
  return { config: Object.freeze(config as unknown as Config), mistakes };
}

/**
 * Reads a secret from the environment: the variable itself, or the content of the file that the variable with the
 * suffix `_FILE` names. Throws a `TypeError` for an unreadable file.
 */
export function readSecret(env: Environment, variable: string): string | undefined {
  const file = env[`${variable}_FILE`];
  if (file === undefined) return env[variable];
  if (env[variable] !== undefined) throw new TypeError(`and ${variable}_FILE exclude each other`);
  const stats = statSync(file, { throwIfNoEntry: false });
  if (!stats?.isFile())
    throw new TypeError(`cannot be read: ${variable}_FILE names ${file}, which is no file`);
  if (stats.size > longestSecretBytes)
    throw new TypeError(`cannot be read: ${file} has more than ${longestSecretBytes} bytes`);
  try {
    return readFileSync(file, "utf8").replace(/\r?\n$/, "");
  } catch {
    throw new TypeError(`cannot be read: this user may not read ${file}`);
  }
}

const longestSecretBytes = 4096;

/** The given value, to append to an error, unless it is in the sentence already or may be secret. */
function repeated(given: string, { secret = false }: Setting<unknown>, sentence: string): string {
  if (secret || given === "" || given.includes("@") || sentence.endsWith(" is not one")) return "";
  return `, not "${given}"`;
}

/** The options of all settings and `others`. */
export function settingOptions(others: ParseArgsOptionsConfig = {}): ParseArgsOptionsConfig {
  const options: ParseArgsOptionsConfig = { ...others };
  for (const name of names) {
    if (!settings[name].secret) options[flagOf(name)] = { type: settings[name].value ? "string" : "boolean" };
  }
  return options;
}

/** Variables that other commands read, and that may be set beside the settings. */
const commandVariables = ["ONAIR_URL", "ONAIR_TOKEN", "ONAIR_WEBHOOK_SECRET"];

/** All variables that any command reads. */
export const knownVariables: readonly string[] = [
  ...names.flatMap((name) =>
    settings[name].secret ? [variableOf(name), `${variableOf(name)}_FILE`] : variableOf(name),
  ),
  ...commandVariables,
];

/** Variables that look like settings but are unknown, most likely misspelt. */
export function unknownVariables(env: Environment): string[] {
  return Object.keys(env).filter((name) => name.startsWith("ONAIR_") && !knownVariables.includes(name));
}

/** The help of all settings: purpose, default and variable, in lines of at most 100 characters. */
export function settingsHelp(defaults: Partial<Record<keyof Config, string>> = {}): string {
  return names
    .map((name) => {
      const { help, value, secret } = settings[name];
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
