import { maxWebhookConcurrency } from "../domain/applications.ts";
import { logFormats, logLevels } from "../log/log.ts";
import { baseUrl } from "../runtime/base-url.ts";
import { backupSettings } from "./backup-settings.ts";
import {
  adminKey,
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
import { tlsSettings } from "./tls-settings.ts";
import { tracingSettings } from "./tracing-settings.ts";

const table = {
  config: {
    value: "FILE",
    default: null,
    help: "file with settings (TOML), named like the options; options and variables win over it",
    read: nonEmpty,
  },
  data: { value: "DIR", default: "onair-data", help: "data directory, made where missing", read: nonEmpty },
  database: {
    value: "URL",
    default: null,
    file: true,
    checkFlag: withoutPassword,
    help: "PostgreSQL database to use instead of a data directory, like postgres://onair@db.example.com/onair; where its URL holds a password, set the variable, or ONAIR_DATABASE_FILE, which names a file with it",
    read: databaseUrl,
  },
  databaseDirect: {
    value: "URL",
    default: null,
    file: true,
    checkFlag: withoutPassword,
    help: "the same database without PgBouncer, where --database goes through it in transaction mode",
    read: databaseUrl,
  },
  databaseConnections: {
    value: "N",
    default: "20",
    help: "connections to the database, at most",
    read: integer(2, 1_000),
  },
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
  ...tlsSettings,
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
  portal: {
    default: "false",
    help: "serve the portal for developers of applications at /portal of the public listener",
    read: yesOrNo,
  },
  portalName: {
    value: "NAME",
    default: "On Air",
    help: "what the portal calls the platform",
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
    help: "application as which the portal sends owners of applications to the login of --login-url",
    read: nonEmpty,
  },
  timeToLive: {
    value: "TYPE=SECONDS,…",
    default: "",
    help: "when an undelivered event is not sent any more; 0 is never (chat.message.sent: 600, other built-in types: 0)",
    read: timesToLive,
  },
  holdDeliveries: {
    default: "false",
    help: 'send nothing until "onair deliveries release", as a restored backup does anyway',
    read: yesOrNo,
  },
  notifyUrl: {
    value: "URL",
    default: null,
    help: "where the operator gets notices, signed like webhooks: endpoints that fail or are disabled, a full disk, failed backups, stuck deliveries",
    read: pageUrl,
  },
  notifySecret: {
    default: null,
    secret: true,
    help: "signs them beside the platform's key: whsec_ and 24 to 64 bytes in base64",
    read: webhookSecret,
  },
  keepDeliveredDays: {
    value: "TIME",
    default: "7",
    help: "how long deliveries that arrived are kept: days, or hours like 36h",
    read: keptTime,
  },
  keepFailedDays: {
    value: "TIME",
    default: "30",
    help: "how long deliveries that failed, expired or were canceled are kept",
    read: keptTime,
  },
  keepBodiesDays: {
    value: "TIME",
    default: "7",
    help: "how long the bodies of events are kept once nothing of them is pending",
    read: keptTime,
  },
  keepByType: {
    value: "TYPE=TIME,…",
    default: "",
    help: "how long deliveries and bodies of these event types are kept, whatever became of them, like chat.message.sent=6h; for a data directory",
    read: keptTimes,
  },
  maxDataSize: {
    value: "SIZE",
    default: null,
    help: "how large the database of a data directory may become, like 20GB: from nine tenths on the oldest deliveries that have ended go, and events are refused where that does not do (default: no limit)",
    read: size(10e6),
  },
  keepAuditDays: {
    value: "DAYS",
    default: "365",
    help: "how long it is kept who changed what through the admin API",
    read: integer(1, 3_650),
  },
  ...backupSettings,
  drainDelay: {
    value: "SECONDS",
    default: "0",
    help: "how long a server that stops still takes requests while /readyz says that it stops",
    read: integer(0, 600),
  },
  ...tracingSettings,
  logFile: {
    value: "FILE",
    default: null,
    help: "where the log goes, opened again at SIGHUP (default: standard error)",
    read: nonEmpty,
  },
  logFormat: {
    value: "FORMAT",
    default: "auto",
    help: `${logFormats.join(", ")}: auto is text for people on a terminal, and JSON elsewhere`,
    read: oneOf(...logFormats),
  },
  logLevel: { value: "LEVEL", default: "info", help: logLevels.join(", "), read: oneOf(...logLevels) },
} satisfies SettingTable;

/** The checked settings of a server. */
export type Config = ValuesOf<typeof table>;

/** All settings by name. */
export const settings: Readonly<Record<keyof Config, Setting<unknown>>> = table;

/** Settings that a running server takes from its file at SIGHUP; all others need a restart. */
export const reloadable = [
  "rateLimit",
  "subscriptionLimit",
  "streamLimit",
] as const satisfies readonly (keyof Config)[];
