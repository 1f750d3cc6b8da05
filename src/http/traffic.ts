import { type Histogram, newHistogram, observe } from "../domain/operations/histogram.ts";
import type { StatisticCounter } from "../domain/operations/statistics.ts";
import type { RequestTraces } from "../tracing/requests.ts";

/** Upper bounds of the histogram's buckets, in seconds. */
const durationBounds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2.5] as const;

/** Statuses whose counters exist from the start, so that the first response with one is visible as an increase. */
const usualStatuses = [
  200, 201, 202, 204, 206, 302, 304, 400, 401, 403, 404, 405, 409, 413, 415, 416, 421, 429, 499, 500, 503,
] as const;

/** A completed request. */
interface Answered {
  readonly status: number;
  readonly durationMs: number;
  /** The `operationId` in the document; null for other requests. */
  readonly operation: string | null;
  readonly requestId: string;
  /** null if the request is not traced. */
  readonly traceId: string | null;
}

/** The requests of one listener since its start. */
export class Traffic {
  /** Responses by status. */
  readonly statuses = new Map<number, number>(usualStatuses.map((status) => [status, 0]));
  /** Times to the response, in seconds. */
  readonly seconds: Histogram = newHistogram(durationBounds);
  readonly #counter: StatisticCounter | null;
  readonly #listener: string;

  /** The spans of requests; null if tracing is off. */
  readonly traces: RequestTraces | null;

  /** @param counter counts requests by the names of listener and operation */
  constructor(listener = "", counter: StatisticCounter | null = null, traces: RequestTraces | null = null) {
    this.#listener = listener;
    this.#counter = counter;
    this.traces = traces;
  }

  count({ status, durationMs, operation, requestId, traceId }: Answered): void {
    const subject = `${this.#listener} ${operation ?? "other"}`;
    this.#counter?.count("requests", subject, "requests", durationMs, errorOf(status));
    this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1);
    const labels =
      traceId === null ? { request_id: requestId } : { request_id: requestId, trace_id: traceId };
    observe(this.seconds, durationMs / 1000, { labels, at: Date.now() });
  }
}

function errorOf(status: number): string | undefined {
  if (status < 400) return undefined;
  return status >= 500 ? "server_errors" : "client_errors";
}
