import { second } from "../../domain/time.ts";
import type { Log } from "../log.ts";
import { version } from "../version.ts";
import { noSpans, type SpanCounts, tracesPath } from "./collector.ts";
import type { EndedSpan } from "./tracer.ts";

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

/** Nanoseconds would exceed the exact integers of a number, so this has microseconds and three zeros. */
function nanosecondsOf(at: number): string {
  return `${Math.round((performance.timeOrigin + at) * 1000)}000`;
}

interface ExporterOptions {
  /** The collector's URL for OTLP over HTTP, without `/v1/traces`. */
  readonly endpoint: string;
  /** Sent with each request. */
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
