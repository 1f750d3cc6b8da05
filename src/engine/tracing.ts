import type { EventSink } from "../domain/deliveries.ts";
import type { Log } from "../log/log.ts";
import type { AttemptTraces } from "../tracing/attempts.ts";
import type { Collector } from "../tracing/collector.ts";

/** Starts the tracing of the engine's thread; null if it is off. Its modules are loaded only if it is on. */
export async function tracingOf(settings: Collector | null, log: Log) {
  if (!settings) return null;
  const { startTracing } = await import("../tracing/start.ts");
  const { AttemptTraces } = await import("../tracing/attempts.ts");
  const { tracer, ...tracing } = startTracing(settings, log);
  return { attempts: new AttemptTraces(tracer), ...tracing };
}

/** Returns a sink that notes the trace of each event before its attempts can begin. */
export function tracedSink(attempts: AttemptTraces | null, sink: EventSink): EventSink {
  if (!attempts) return sink;
  return {
    publish(event) {
      attempts.note(event);
      return sink.publish(event);
    },
    publishAll(events) {
      for (const event of events) attempts.note(event);
      return sink.publishAll(events);
    },
  };
}
