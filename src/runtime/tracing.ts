import type { DueDelivery, NewEvent, PublishedEvent, TraceContext } from "../domain/deliveries.ts";
import { second } from "../domain/time.ts";
import type { Log } from "./log.ts";
import { version } from "./version.ts";

/** The path of the collector's endpoint for spans. */
export const tracesPath = "/v1/traces";

/** The settings of the collector that spans are exported to. */
export interface Collector {
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The share of traces that are sampled, from 0 to 1. */
  readonly share: number;
}

/** The number of spans since the start, by outcome. */
export interface SpanCounts {
  readonly exported: number;
  /** Spans that the collector refused or that a full buffer dropped. */
  readonly dropped: number;
}

export const noSpans: SpanCounts = { exported: 0, dropped: 0 };

/** Starts to export the spans of this thread; null if tracing is off. `stop` sends the last spans. */
export function startTracing(collector: Collector | null, log: Log) {
  if (!collector) return null;
  const { endpoint, headers, share } = collector;
  const exporter = new SpanExporter({ endpoint, headers, log });
  const tracer = new Tracer(exporter.add, share);
  return {
    requestsOf: (isTrusted: boolean) => new RequestTraces(tracer, isTrusted),
    publishing: new PublishTraces(tracer),
    attempts: new AttemptTraces(tracer),
    counts: () => exporter.counts,
    stop: () => exporter.stop(),
  };
}

type SpanKind = "server" | "client" | "producer";

/** A span that has not ended. */
export interface ActiveSpan {
  readonly context: TraceContext;
  /** The trace id in the collector; null if the trace is not sampled. */
  readonly sampledTraceId: string | null;
  /** The id of the parent span; null for the root of a trace. */
  readonly parentId: string | null;
  /** The start, on the clock of `performance.now`. */
  readonly startedAt: number;
}

/** The properties of a span that are set at its end. */
interface SpanEnd {
  readonly name: string;
  readonly kind: SpanKind;
  /** Attributes that are null are left out. */
  readonly attributes: Readonly<Record<string, string | number | null>>;
  /** The error; null for none. */
  readonly error: string | null;
}

interface EndedSpan extends SpanEnd {
  readonly span: ActiveSpan;
  /** The end, on the clock of `performance.now`. */
  readonly endedAt: number;
}

/** Makes spans, and passes sampled ones on at their end. */
export class Tracer {
  readonly #add: (span: EndedSpan) => void;
  readonly #share: number;

  /** @param share the share of traces beginning here that are sampled, from 0 to 1 */
  constructor(add: (span: EndedSpan) => void, share: number) {
    this.#add = add;
    this.#share = share;
  }

  /**
   * Begins a span. It is sampled if its parent is sampled. If the parent is untrusted, because any client may have sent
   * it, the share must include the trace, too.
   */
  begin(parent: TraceContext | null, isTrusted = true): ActiveSpan {
    if (!parent) return this.beginTrace(randomHex(16));
    const { traceId } = parent;
    const isSampled = parent.isSampled && (isTrusted || this.#isChosen(traceId));
    return begun(traceId, parent.spanId, isSampled);
  }

  /** Begins the first span of a trace with this id. */
  beginTrace(traceId: string): ActiveSpan {
    return begun(traceId, null, this.#isChosen(traceId));
  }

  /** Ends a span. */
  end(span: ActiveSpan, end: SpanEnd): void {
    if (span.context.isSampled) this.#add({ ...end, span, endedAt: performance.now() });
  }

  /** Whether the share includes a trace. Decided by the id, so that all processes decide alike. */
  #isChosen(traceId: string): boolean {
    return Number.parseInt(traceId.slice(-12), 16) < this.#share * 2 ** 48;
  }
}

function begun(traceId: string, parentId: string | null, isSampled: boolean): ActiveSpan {
  const context = { traceId, spanId: randomHex(8), isSampled };
  return { context, sampledTraceId: isSampled ? traceId : null, parentId, startedAt: performance.now() };
}

function randomHex(bytes: number): string {
  return crypto.getRandomValues(Buffer.allocUnsafe(bytes)).toString("hex");
}

/** The form of `traceparent`. Later versions of it may have more fields after these. */
const form = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** Parses the header `traceparent`; returns null if it is absent or invalid. */
export function readTraceparent(header: string | null): TraceContext | null {
  const [, version, traceId, spanId, flags = "", more] = form.exec(header ?? "") ?? [];
  if (traceId === undefined || spanId === undefined || (version === "00" && more !== undefined)) return null;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

/** Returns the value of the header `traceparent`. */
export function traceparentOf({ traceId, spanId, isSampled }: TraceContext): string {
  return `00-${traceId}-${spanId}-${isSampled ? "01" : "00"}`;
}

/** The protocol's numbers of span kinds and of the status "error". */
const kinds = { server: 2, client: 3, producer: 4 } as const;
const failed = 2;

const attribute = (key: string, value: string | number) => {
  if (typeof value === "string") return { key, value: { stringValue: value } };
  return { key, value: Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value } };
};

const resource = {
  attributes: [attribute("service.name", "onair"), attribute("service.version", version)],
};

/** Returns spans in the JSON encoding of OTLP. */
function otlpBody(spans: readonly EndedSpan[]): string {
  const scopeSpans = [{ scope: { name: "onair", version }, spans: spans.map(otlpSpan) }];
  return JSON.stringify({ resourceSpans: [{ resource, scopeSpans }] });
}

function otlpSpan({ span, name, kind, endedAt, attributes, error }: EndedSpan) {
  const { context, parentId, startedAt } = span;
  const known = Object.entries(attributes).filter(
    (entry): entry is [string, string | number] => entry[1] !== null,
  );
  return {
    traceId: context.traceId,
    spanId: context.spanId,
    ...(parentId !== null && { parentSpanId: parentId }),
    name,
    kind: kinds[kind],
    startTimeUnixNano: nanosecondsOf(startedAt),
    endTimeUnixNano: nanosecondsOf(endedAt),
    attributes: known.map(([key, value]) => attribute(key, value)),
    ...(error !== null && { status: { code: failed, message: error } }),
  };
}

/** Returns microseconds followed by three zeros: nanoseconds would exceed the exact integers of a number. */
function nanosecondsOf(at: number): string {
  return `${Math.round((performance.timeOrigin + at) * 1000)}000`;
}

interface ExporterOptions {
  /** The collector's URL for OTLP over HTTP, without `/v1/traces`. */
  readonly endpoint: string;
  /** Headers that are sent with each request. */
  readonly headers: Readonly<Record<string, string>>;
  readonly log: Log;
  /** The time limit of a request. */
  readonly timeoutMs?: number;
  /** How long `stop` waits for the last spans. */
  readonly lastMs?: number;
}

/** The size of the buffer, in spans. */
const maxWaiting = 4_096;
/** The most spans of one request. Encoding them must not block the thread for long. */
const batchSize = 128;
const gatherMs = second / 2;

/**
 * Sends spans to a collector, one request at a time, without delaying callers. If the collector is slow or unavailable,
 * spans above the size of the buffer are dropped and counted, and so are spans that it refuses. Nothing is sent twice.
 */
export class SpanExporter {
  readonly #options: ExporterOptions;
  readonly #url: string;
  readonly #stopping = new AbortController();
  #waiting: EndedSpan[] = [];
  #timer: Timer | null = null;
  #sending: Promise<void> | null = null;
  #counts = { ...noSpans };
  #isFailing = false;

  constructor(options: ExporterOptions) {
    this.#options = options;
    this.#url = `${options.endpoint}${tracesPath}`;
  }

  get counts(): SpanCounts {
    return { ...this.#counts };
  }

  readonly add = (span: EndedSpan): void => {
    if (this.#waiting.length >= maxWaiting) {
      this.#counts.dropped++;
      return;
    }
    this.#waiting.push(span);
    if (this.#waiting.length >= batchSize) this.#send();
    else this.#timer ??= setTimeout(() => this.#send(), gatherMs).unref();
  };

  /** Sends the buffered spans, within a time limit. */
  async stop(): Promise<void> {
    const { lastMs = 5 * second } = this.#options;
    const late = setTimeout(() => this.#stopping.abort(), lastMs);
    this.#send();
    await this.#sending;
    clearTimeout(late);
  }

  #send(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = null;
    });
  }

  async #sendAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.slice(0, batchSize);
      this.#waiting = this.#waiting.slice(batchSize);
      const problem = await this.#post(batch);
      this.#counts[problem === null ? "exported" : "dropped"] += batch.length;
      this.#logChange(problem);
    }
  }

  /** Returns the reason why the collector did not accept the spans; null if it did. */
  async #post(batch: readonly EndedSpan[]): Promise<string | null> {
    const { headers, timeoutMs = 10 * second } = this.#options;
    try {
      const response = await fetch(this.#url, {
        method: "POST",
        headers: { ...headers, "content-type": "application/json" },
        body: otlpBody(batch),
        redirect: "manual",
        signal: AbortSignal.any([this.#stopping.signal, AbortSignal.timeout(timeoutMs)]),
      });
      await response.body?.cancel();
      return response.ok ? null : `it answered ${response.status}`;
    } catch (error) {
      const { name = "", code } = error as { name?: string; code?: string };
      return name === "TimeoutError" ? `no answer in ${timeoutMs / second} s` : (code ?? name);
    }
  }

  /** Logs one line when the collector begins to fail, and one when it accepts spans again. */
  #logChange(problem: string | null): void {
    if (this.#isFailing === (problem !== null)) return;
    this.#isFailing = problem !== null;
    const { log, endpoint } = this.#options;
    const { dropped } = this.#counts;
    if (problem !== null) log.warn("spans_not_exported", { endpoint, problem, effect: "spans are dropped" });
    else log.info("spans_exported_again", { endpoint, dropped });
  }
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
  async publish(
    event: NewEvent,
    parent: TraceContext | null,
    publish: (event: NewEvent) => Promise<PublishedEvent>,
  ): Promise<PublishedEvent> {
    const [published] = await this.publishAll([event], parent, async ([traced = event]) => [
      await publish(traced),
    ]);
    if (!published) throw new Error("publishing returned no event");
    return published;
  }

  /**
   * Publishes several events, each in a span that becomes the parent of its attempts. All or none of them are stored.
   */
  async publishAll(
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
