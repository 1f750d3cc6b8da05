import type { Log } from "../log/log.ts";
import { SpanExporter } from "./exporter.ts";
import type { SpanCounts } from "./span-counts.ts";
import { Tracer } from "./tracer.ts";

/** Where spans go. */
export interface TracingSettings {
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The share of traces that are sampled, from 0 to 1. */
  readonly share: number;
}

interface Tracing {
  readonly tracer: Tracer;
  readonly counts: SpanCounts;
  /** Sends the last spans. */
  stop(): Promise<void>;
}

/** Begins to export the spans of this thread. */
export function startTracing({ endpoint, headers, share }: TracingSettings, log: Log): Tracing {
  const exporter = new SpanExporter({ endpoint, headers, log });
  return {
    tracer: new Tracer(exporter.add, share),
    get counts() {
      return exporter.counts;
    },
    stop: () => exporter.stop(),
  };
}
