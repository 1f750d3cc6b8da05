import { maxWebhookConcurrency } from "../../domain/applications.ts";
import { confirmedFrom, defaultConfirmAbovePercent } from "../../domain/livestreams.ts";
import { logFormats, logLevels } from "../../runtime/log.ts";
import { backupSettings, tlsSettings, tracingSettings } from "./sections.ts";
import {
  adminKey,
  baseUrl,
  databaseUrl,
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
    default: "100",
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
    help: "name of the platform in the portal",
    read: nonEmpty,
  },
  portalAccent: {
    value: "COLOR",
    default: null,
    help: "accent colour of the portal, like #1a73e8",
    read: hexColor,
  },
  portalLogo: {
    value: "FILE",
    default: null,
    help: "logo of the portal: an SVG, PNG, JPEG or WebP file",
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
