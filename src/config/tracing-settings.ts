import { baseUrl } from "../runtime/base-url.ts";
import { type Collector, tracesPath } from "../tracing/collector.ts";
import { entriesOf, type SettingTable, type ValuesOf } from "./setting-values.ts";

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
