import type { Log } from "../log.ts";
import type { Collector } from "./collector.ts";
import { SpanExporter } from "./exporter.ts";
import { Tracer } from "./tracer.ts";

/** Starts to export the spans of this thread; `stop` sends the last ones. */
export function startTracing({ endpoint, headers, share }: Collector, log: Log) {
  const exporter = new SpanExporter({ endpoint, headers, log });
  return {
    tracer: new Tracer(exporter.add, share),
    counts: () => exporter.counts,
    stop: () => exporter.stop(),
  };
}
