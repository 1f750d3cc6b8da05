import type { TraceContext } from "../../domain/deliveries.ts";
import { second } from "../../domain/time.ts";
import type { Log } from "../log.ts";
import { version } from "../version.ts";
import { type Collector, noSpans, type SpanCounts, tracesPath } from "./collector.ts";

/** Starts to export the spans of this thread; `stop` sends the last ones. */
export function startTracing({ endpoint, headers, share }: Collector, log: Log) {
  const exporter = new SpanExporter({ endpoint, headers, log });
  return {
    tracer: new Tracer(exporter.add, share),
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
