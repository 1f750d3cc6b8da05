import type { DueDelivery, NewEvent, PublishedEvent, TraceContext } from "../../domain/deliveries.ts";
import type { Log } from "../log.ts";
import type { Collector } from "./collector.ts";
import { type ActiveSpan, readTraceparent, startTracing, type Tracer, traceparentOf } from "./tracer.ts";

/** Starts the tracing of the main thread. */
export function startRequestTracing(settings: Collector, log: Log) {
  const { tracer, ...tracing } = startTracing(settings, log);
  return {
    publishing: new PublishTraces(tracer),
    requestsOf: (isTrusted: boolean) => new RequestTraces(tracer, isTrusted),
    ...tracing,
  };
}

/** A request that was answered. */
interface AnsweredRequest {
  readonly method: string;
  readonly url: string;
  readonly path: string;
  readonly status: number;
  /** The operation id in the OpenAPI document; null if the request matched none. */
  readonly operation: string | null;
  readonly requestId: string;
  readonly applicationId: string | null;
}

/** Paths that only monitor the server, and are not traced. */
const probes = new Set(["/healthz", "/readyz", "/metrics"]);

/** The most characters of a path in a span. */
const maxPathLength = 1_024;

/** The spans of the requests of one listener. */
export class RequestTraces {
  /** @param isTrusted whether callers may decide that their traces are sampled */
  constructor(
    readonly tracer: Tracer,
    readonly isTrusted: boolean,
  ) {}

  /** @param header `traceparent` */
  begin(path: string, header: string | null): ActiveSpan | null {
    if (probes.has(path)) return null;
    return this.tracer.begin(readTraceparent(header), this.isTrusted);
  }

  end(
    span: ActiveSpan,
    { method, url, path, status, operation, requestId, applicationId }: AnsweredRequest,
  ): void {
    this.tracer.end(span, {
      name: operation === null ? method : `${method} ${operation}`,
      kind: "server",
      attributes: {
        "http.request.method": method,
        "url.scheme": url.startsWith("https:") ? "https" : "http",
        "url.path": path.slice(0, maxPathLength),
        "http.response.status_code": status,
        "error.type": status >= 500 ? String(status) : null,
        "onair.operation": operation,
        "onair.request_id": requestId,
        "onair.application_id": applicationId,
      },
      error: status >= 500 ? `The answer was ${status}.` : null,
    });
  }
}

/** The spans of publishing. Each ends when its event is on disk. */
export class PublishTraces {
  readonly #tracer: Tracer;

  constructor(tracer: Tracer) {
    this.#tracer = tracer;
  }

  /** Publishes an event in a span, which becomes the parent of its attempts. */
  async one(
    event: NewEvent,
    parent: TraceContext | null,
    publish: (event: NewEvent) => Promise<PublishedEvent>,
  ): Promise<PublishedEvent> {
    const [published] = await this.all([event], parent, async ([traced = event]) => [await publish(traced)]);
    if (!published) throw new Error("publishing returned no event");
    return published;
  }

  /**
   * Publishes several events, each in a span that becomes the parent of its attempts. All or none of them are stored.
   */
  async all(
    events: readonly NewEvent[],
    parent: TraceContext | null,
    publish: (events: readonly NewEvent[]) => Promise<readonly PublishedEvent[]>,
  ): Promise<readonly PublishedEvent[]> {
    const spans = events.map(() => this.#tracer.begin(parent));
    try {
      const published = await publish(events.map((event, i) => traced(event, spans[i])));
      this.#end(events, spans, (i) => ({ deliveries: published[i]?.deliveries ?? null, error: null }));
      return published;
    } catch (error) {
      this.#end(events, spans, () => ({ deliveries: null, error: "The event was not stored." }));
      throw error;
    }
  }

  #end(
    events: readonly NewEvent[],
    spans: readonly ActiveSpan[],
    outcomeOf: (i: number) => { readonly deliveries: number | null; readonly error: string | null },
  ): void {
    for (const [i, span] of spans.entries()) {
      const event = events[i];
      const { deliveries, error } = outcomeOf(i);
      this.#tracer.end(span, {
        name: `publish ${event?.name}`,
        kind: "producer",
        attributes: {
          "onair.event_id": event?.id ?? null,
          "onair.broadcaster_user_id": event?.broadcaster_user_id ?? null,
          "onair.deliveries": deliveries,
        },
        error,
      });
    }
  }
}

function traced(event: NewEvent, span: ActiveSpan | undefined): NewEvent {
  return span ? { ...event, trace: span.context } : event;
}

/** An attempt that has ended. */
interface EndedAttemptFields {
  readonly delivery: Pick<DueDelivery, "id" | "application_id" | "subscription_id" | "attempts" | "event">;
  readonly url: string | null;
  readonly outcome: string;
  readonly status: number | null;
  readonly error: string | null;
}

/** The most events whose trace is kept in memory. */
const maxEvents = 20_000;

/**
 * The spans of attempts. The process that published an event keeps its trace in memory, for the last events. Attempts
 * for other events, for example after a restart or on another replica, have a trace that is derived from the event's
 * id.
 */
export class AttemptTraces {
  readonly #tracer: Tracer;
  /** The traces of the last events by event id, the oldest first. */
  readonly #events = new Map<string, TraceContext>();

  constructor(tracer: Tracer) {
    this.#tracer = tracer;
  }

  /** Notes the trace of an event. A repeated event keeps its first trace. */
  note({ id, trace }: NewEvent): void {
    if (!trace || this.#events.has(id)) return;
    const [oldest] = this.#events.keys();
    if (oldest !== undefined && this.#events.size >= maxEvents) this.#events.delete(oldest);
    this.#events.set(id, trace);
  }

  /** Begins the span of an attempt. */
  begin({ event }: Pick<DueDelivery, "event">): ActiveSpan {
    const parent = this.#events.get(event.id);
    return parent ? this.#tracer.begin(parent) : this.#tracer.beginTrace(traceIdOf(event.id));
  }

  /** Adds the header that passes the trace to the receiver. */
  addHeader(headers: Record<string, string>, { context }: ActiveSpan): void {
    headers["traceparent"] = traceparentOf(context);
  }

  /** Ends the span of an attempt. */
  end(span: ActiveSpan, { delivery, url, outcome, status, error }: EndedAttemptFields): void {
    if (!span.context.isSampled) return;
    const { id, application_id, subscription_id, attempts, event } = delivery;
    const target = url !== null && URL.canParse(url) ? new URL(url) : null;
    this.#tracer.end(span, {
      name: `deliver ${event.name}`,
      kind: "client",
      attributes: {
        "http.request.method": "POST",
        // The path is left out: it may contain a secret of the receiver.
        "server.address": target?.hostname ?? null,
        "server.port": target && portOf(target),
        "http.response.status_code": status,
        "error.type": errorType(outcome, status),
        "onair.event_id": event.id,
        "onair.delivery_id": id,
        "onair.application_id": application_id,
        "onair.subscription_id": subscription_id,
        "onair.attempt": attempts + 1,
        "onair.outcome": outcome,
      },
      error,
    });
  }
}

const portOf = ({ port, protocol }: URL) => Number(port) || (protocol === "https:" ? 443 : 80);

/** Returns the status if it is the error, else the class of the outcome; null for a success. */
function errorType(outcome: string, status: number | null): string | null {
  if (outcome === "ok") return null;
  return outcome === "status" && status !== null ? String(status) : outcome;
}

function traceIdOf(eventId: string): string {
  return new Bun.CryptoHasher("sha256").update(eventId).digest("hex").slice(0, 32);
}
