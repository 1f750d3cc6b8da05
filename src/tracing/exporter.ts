import { second } from "../domain/time.ts";
import type { Log } from "../log/log.ts";
import { tracesPath } from "./collector.ts";
import { otlpBody } from "./otlp.ts";
import { noSpans, type SpanCounts } from "./span-counts.ts";
import type { EndedSpan } from "./tracer.ts";

interface ExporterOptions {
  /** Where a collector takes OTLP over HTTP, without `/v1/traces`. */
  readonly endpoint: string;
  /** Sent with each request. */
  readonly headers: Readonly<Record<string, string>>;
  readonly log: Log;
  /** The time limit of a request. */
  readonly timeoutMs?: number;
  /** How long a stop waits for the last ones. */
  readonly lastMs?: number;
}

/** Spans that wait at most. */
const maxWaiting = 4_096;
/** Those of one request, whose JSON takes less than a millisecond. */
const batchSize = 128;
const gatherMs = second / 2;

/**
 * Sends spans to a collector, one request at a time. No caller waits for it: while the collector is slow or away, spans
 * above the size of the buffer are dropped and counted, and so are those that it refuses; nothing is sent twice.
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

  /** Sends what waits, within a time limit. */
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

  /** @returns why the collector did not take them; null when it did */
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

  /** One line when the collector begins to fail, one when it takes spans again. */
  #logChange(problem: string | null): void {
    if (this.#isFailing === (problem !== null)) return;
    this.#isFailing = problem !== null;
    const { log, endpoint } = this.#options;
    const { dropped } = this.#counts;
    if (problem !== null) log.warn("spans_not_exported", { endpoint, problem, effect: "spans are dropped" });
    else log.info("spans_exported_again", { endpoint, dropped });
  }
}
