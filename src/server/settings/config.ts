import { maxWebhookConcurrency } from "../../domain/applications.ts";
import { confirmedFrom, defaultConfirmAbovePercent } from "../../domain/livestreams.ts";
import { readDestination } from "../../operations/backups/destination.ts";
import { logFormats, logLevels } from "../../runtime/log.ts";
import { type Collector, tracesPath } from "../../runtime/tracing.ts";
import {
  adminKey,
  baseUrl,
  databaseUrl,
  duration,
  entriesOf,
  hexColor,
  hostName,
  hostNames,
  integer,
  keptTime,
  keptTimes,
  networks,
  nonEmpty,
  oneOf,
  pageUrl,
  pictureFile,
  proxyUrl,
  type Setting,
  type SettingTable,
  size,
  timesToLive,
  type ValuesOf,
  webhookSecret,
  withoutPassword,
  yesOrNo,
} from "./setting-values.ts";

/** Settings of backups. */
const backupSettings = {
  backupEvery: {
    value: "DURATION",
    default: null,
    help: "interval of automatic backups, aligned to UTC: 24h is every midnight, 1h every full hour",
    read: duration,
  },
  backupTo: {
    value: "DESTINATION",
    default: null,
    help: "destination of backups: a directory, or s3://bucket/prefix with credentials in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or in the file that AWS_SHARED_CREDENTIALS_FILE names (default: backups/ in the data directory)",
    read(text: string) {
      readDestination(text);
      return text;
    },
  },
  backupEndpoint: {
    value: "URL",
    default: null,
    help: "URL of S3-compatible storage other than AWS (default: AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL)",
    read: baseUrl,
  },
  backupRegion: {
    value: "REGION",
    default: null,
    help: "region of the S3 storage (default: AWS_REGION, AWS_DEFAULT_REGION, us-east-1)",
    read: nonEmpty,
  },
  backupRecipients: {
    value: "LIST",
    default: "",
    help: 'encrypt backups for these age public keys (age1…), separated by commas; "onair backup key" makes a key pair',
    read: recipientList,
  },
  keepBackups: {
    value: "N",
    default: "3",
    help: "number of backups to keep; older ones are deleted when a new one is complete",
    read: integer(1, 10_000),
  },
  keepBackupsDays: {
    value: "DAYS",
    default: null,
    help: "delete backups older than this, except the newest three (default: only --keep-backups applies)",
    read: integer(1, 3_650),
  },
} satisfies SettingTable;

/** Parses age public keys, separated by commas. Throws a `TypeError`. The checksum of a key is left to age. */
function recipientList(text: string): string[] {
  const keys = entriesOf(text);
  const wrong = keys.find((key) => !/^age1[02-9ac-hj-np-z]{58,2000}$/.test(key));
  if (wrong === undefined) return keys;
  if (/^AGE-SECRET-KEY-/i.test(wrong)) {
    const advice = 'the secret key (keep it elsewhere; only "onair restore" needs it)';
    throw new TypeError(`must be public keys of age, like age1…, and ${advice} is not one`);
  }
  throw new TypeError(`must be public keys of age, like age1…, and "${wrong.slice(0, 80)}" is not one`);
}

const file = (help: string) => ({ value: "FILE", default: null, help, read: nonEmpty });

/** Settings of TLS on the listeners themselves, without a proxy in front. */
const tlsSettings = {
  tlsCert: file(
    "certificate of the public listener with its chain (PEM), to serve TLS; read again when the file changes",
  ),
  tlsKey: file("private key of --tls-cert (PEM)"),
  adminTlsCert: file("certificate of the admin listener, likewise"),
  adminTlsKey: file("private key of --admin-tls-cert (PEM)"),
  adminTlsClientCa: file(
    "certificate authority (PEM); the admin listener then accepts only callers with a client certificate signed by it",
  ),
  hsts: {
    value: "SECONDS",
    default: "0",
    help: "how long browsers must use https only (Strict-Transport-Security); 0 sends no such header",
    read: integer(0, 63_072_000),
  },
  redirectPort: {
    value: "PORT",
    default: null,
    help: "port on the same address that redirects plain HTTP to --public-url; 0 picks a free one",
    read: integer(0, 65_535),
  },
} satisfies SettingTable;

/** The address of a collector. */
function collectorUrl(text: string): string {
  const url = baseUrl(text);
  if (!url.endsWith(tracesPath)) return url;
  throw new TypeError(`must be the address of the collector without ${tracesPath}, which is appended`);
}

/** A number from 0 to 1. */
function share(text: string): number {
  const value = /^[0-9]+(\.[0-9]+)?$/.test(text) ? Number(text) : Number.NaN;
  if (value >= 0 && value <= 1) return value;
  throw new TypeError("must be a number from 0 to 1, like 0.1");
}

/** Headers as OpenTelemetry writes them: `name=value`, separated by commas, values percent-encoded. */
function headers(text: string): Readonly<Record<string, string>> {
  try {
    const pairs = entriesOf(text).map((entry) => {
      const [, name = "", value = ""] = /^\s*([^=\s]+)\s*=(.*)$/.exec(entry) ?? [];
      return [name, decodeURIComponent(value.trim())];
    });
    // Throws for names and values that HTTP does not allow.
    return Object.fromEntries(new Headers(Object.fromEntries(pairs)));
  } catch {
    throw new TypeError("must be headers like authorization=Bearer%20abc, separated by commas");
  }
}

/** The settings of traces. */
const tracingSettings = {
  otlpEndpoint: {
    value: "URL",
    default: null,
    alias: "OTEL_EXPORTER_OTLP_ENDPOINT",
    help: "collector for traces (OTLP over HTTP), like http://127.0.0.1:4318; OTEL_EXPORTER_OTLP_ENDPOINT works as well",
    read: collectorUrl,
  },
  otlpHeaders: {
    default: null,
    secret: true,
    alias: "OTEL_EXPORTER_OTLP_HEADERS",
    help: "headers of requests to the collector, like authorization=Bearer%20abc, separated by commas; OTEL_EXPORTER_OTLP_HEADERS works as well",
    read: headers,
  },
  otlpSample: {
    value: "SHARE",
    default: "1",
    help: "share of traces to send, from 0 to 1; for a request with a trace context, its sampled flag decides instead",
    read: share,
  },
} satisfies SettingTable;
type TracingConfig = ValuesOf<typeof tracingSettings>;

/** Returns the collector of spans; null when tracing is off. */
export function collectorOf(config: TracingConfig): Collector | null {
  const { otlpEndpoint: endpoint, otlpHeaders, otlpSample: share } = config;
  return endpoint === null ? null : { endpoint, headers: otlpHeaders ?? {}, share };
}

const table = {
  config: {
    value: "FILE",
    default: null,
    help: "file with settings (TOML), named like the options; options and variables override it",
    read: nonEmpty,
  },
  data: { value: "DIR", default: "onair-data", help: "data directory, created if missing", read: nonEmpty },
  database: {
    value: "URL",
    default: null,
    file: true,
    checkFlag: withoutPassword,
    help: "PostgreSQL database to use instead of a data directory, like postgres://onair@db.example.com/onair; if the URL has a password, set the variable, or put the URL into a file and its path into ONAIR_DATABASE_FILE",
    read: databaseUrl,
  },
  databaseDirect: {
    value: "URL",
    default: null,
    file: true,
    checkFlag: withoutPassword,
    help: "URL of the same database without PgBouncer, if --database goes through PgBouncer in transaction mode",
    read: databaseUrl,
  },
  databaseConnections: {
    value: "N",
    default: "20",
    help: "maximum number of connections to the database",
    read: integer(2, 1_000),
  },
  host: { value: "HOST", default: "127.0.0.1", help: "address of the public listener", read: hostName },
  port: {
    value: "PORT",
    default: "8080",
    help: "port of the public listener; 0 picks a free one",
    read: integer(0, 65_535),
  },
  adminHost: { value: "HOST", default: "127.0.0.1", help: "address of the admin listener", read: hostName },
  adminPort: {
    value: "PORT",
    default: "8081",
    help: "port of the admin listener; 0 picks a free one",
    read: integer(0, 65_535),
  },
  adminHosts: {
    value: "LIST",
    default: "",
    help: "host names that requests to the admin listener may use, separated by commas, in addition to --admin-host, localhost and IP addresses",
    read: hostNames,
  },
  ...tlsSettings,
  publicUrl: {
    value: "URL",
    default: null,
    help: "URL at which clients reach the public listener (default: its address)",
    read: baseUrl,
  },
  adminKey: {
    default: null,
    secret: true,
    help: "an operator key of 16 to 200 characters; ONAIR_ADMIN_KEY_FILE can name a file that holds it (default: a key made at the first start and shown once)",
    read: adminKey,
  },
  allowPrivateWebhooks: {
    default: "false",
    help: "allow webhooks to http URLs and private addresses; for development only",
    read: yesOrNo,
  },
  webhookProxy: {
    value: "URL",
    default: null,
    help: "HTTP proxy for webhooks; if its URL has a password, set the variable",
    read: proxyUrl,
  },
  webhookConcurrency: {
    value: "N",
    default: "128",
    help: "maximum number of concurrent deliveries to an endpoint; an application can have its own limit",
    read: integer(1, maxWebhookConcurrency),
  },
  rateLimit: {
    value: "N",
    default: "800",
    help: "requests per minute of each application, of which one user has at most half, and of each address (IPv6: each /64) without a token; 0 is no limit",
    read: integer(0, 10_000_000),
  },
  subscriptionLimit: {
    value: "N",
    default: "10000",
    help: "maximum number of subscriptions of an application; an application can have its own limit",
    read: integer(0, 1_000_000),
  },
  streamLimit: {
    value: "N",
    default: "32",
    help: "maximum number of open event streams of an application, and as many of all its users together; one user may have 5 % of it",
    read: integer(1, 10_000),
  },
  confirmSnapshotAbove: {
    value: "PERCENT",
    default: String(defaultConfirmAbovePercent),
    help: `a snapshot of livestreams that ends more than this percentage of at least ${confirmedFrom} needs confirm=true (onair import --confirm); 0 is no limit`,
    read: integer(0, 100),
  },
  trustedProxies: {
    value: "LIST",
    default: "",
    help: "proxies whose X-Forwarded-For is trusted: addresses and networks, separated by commas",
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
    help: "key set (JWKS) of the platform's own access tokens (JWTs), which are then accepted",
    read: pageUrl,
  },
  jwtIssuer: {
    value: "ISSUER",
    default: null,
    help: "required issuer (iss) of these tokens",
    read: nonEmpty,
  },
  jwtAudience: {
    value: "AUDIENCE",
    default: null,
    help: "required audience (aud) of these tokens",
    read: nonEmpty,
  },
  jwtAppWithoutSub: {
    default: "false",
    help: "accept such tokens without a subject (sub) as tokens of the application itself",
    read: yesOrNo,
  },
  portal: {
    default: "false",
    help: "serve the portal for developers of applications at /portal of the public listener",
    read: yesOrNo,
  },
  portalName: {
    value: "NAME",
    default: "On Air",
    help: "name of the platform in the portal and in its documentation",
    read: nonEmpty,
  },
  portalAccent: {
    value: "COLOR",
    default: null,
    help: "accent colour of the portal and of the documentation, like #1a73e8",
    read: hexColor,
  },
  portalLogo: {
    value: "FILE",
    default: null,
    help: "logo of the portal and of the documentation: an SVG, PNG, JPEG or WebP file",
    read: pictureFile,
  },
  portalLogin: {
    value: "APP",
    default: null,
    help: "id of the application that the portal uses to sign in owners of applications at --login-url",
    read: nonEmpty,
  },
  timeToLive: {
    value: "TYPE=SECONDS,…",
    default: "",
    help: "when an undelivered event expires; 0 is never (chat.message.sent: 600, other built-in types: 0)",
    read: timesToLive,
  },
  holdDeliveries: {
    default: "false",
    help: 'send nothing until "onair deliveries release"; a restored backup always starts like this',
    read: yesOrNo,
  },
  notifyUrl: {
    value: "URL",
    default: null,
    help: "URL for notices to the operator, signed like webhooks: failing or disabled endpoints, a full disk, failed backups, stuck deliveries",
    read: pageUrl,
  },
  notifySecret: {
    default: null,
    secret: true,
    help: "secret that signs these notices, in addition to the platform's key: whsec_ and 24 to 64 bytes in base64",
    read: webhookSecret,
  },
  keepDeliveredDays: {
    value: "TIME",
    default: "7",
    help: "how long delivered deliveries are kept: days, or hours like 36h",
    read: keptTime,
  },
  keepFailedDays: {
    value: "TIME",
    default: "30",
    help: "how long failed, expired and canceled deliveries are kept",
    read: keptTime,
  },
  keepBodiesDays: {
    value: "TIME",
    default: "7",
    help: "how long the body of an event is kept after its last pending delivery has ended",
    read: keptTime,
  },
  keepByType: {
    value: "TYPE=TIME,…",
    default: "",
    help: "how long deliveries and bodies of these event types are kept, whatever their outcome, like chat.message.sent=6h; only for a data directory",
    read: keptTimes,
  },
  maxDataSize: {
    value: "SIZE",
    default: null,
    help: "maximum size of the database in a data directory, like 20GB: from 90 % on the oldest ended deliveries are deleted; if that is not enough, events are refused (default: no limit)",
    read: size(10e6),
  },
  keepAuditDays: {
    value: "DAYS",
    default: "365",
    help: "how long the audit log of the admin API is kept",
    read: integer(1, 3_650),
  },
  ...backupSettings,
  drainDelay: {
    value: "SECONDS",
    default: "0",
    help: "how long a stopping server still accepts requests while /readyz reports that it is stopping",
    read: integer(0, 600),
  },
  ...tracingSettings,
  logFile: {
    value: "FILE",
    default: null,
    help: "file for the log, reopened at SIGHUP (default: standard error)",
    read: nonEmpty,
  },
  logFormat: {
    value: "FORMAT",
    default: "auto",
    help: `${logFormats.join(", ")}: auto is text on a terminal, and JSON elsewhere`,
    read: oneOf(...logFormats),
  },
  logLevel: { value: "LEVEL", default: "info", help: logLevels.join(", "), read: oneOf(...logLevels) },
} satisfies SettingTable;

/** The checked settings of a server. */
export type Config = ValuesOf<typeof table>;

/** All settings by name of their field in `Config`. */
export const settings: Readonly<Record<keyof Config, Setting<unknown>>> = table;

/** Settings that a running server reloads from its settings file at SIGHUP; all others need a restart. */
export const reloadable = [
  "rateLimit",
  "subscriptionLimit",
  "streamLimit",
] as const satisfies readonly (keyof Config)[];
