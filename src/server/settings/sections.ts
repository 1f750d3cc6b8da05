import { readDestination } from "../../operations/backups/destination.ts";
import { type Collector, tracesPath } from "../../runtime/tracing/collector.ts";
import {
  baseUrl,
  duration,
  entriesOf,
  integer,
  nonEmpty,
  type SettingTable,
  type ValuesOf,
} from "./setting-values.ts";

/** Settings of backups. */
export const backupSettings = {
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
export const tlsSettings = {
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
export const tracingSettings = {
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
