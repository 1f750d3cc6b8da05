import type { StatisticCounter } from "../domain/operations/statistics.ts";

/** Upper bounds of the histogram's buckets, in seconds. */
export const durationBounds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2.5] as const;

/** The requests of one listener since its start. */
export class Traffic {
  /** Answers by status. */
  readonly statuses = new Map<number, number>();
  /** Answers by duration; the last bucket has no upper bound. */
  readonly durations: number[] = Array(durationBounds.length + 1).fill(0);
  totalMs = 0;
  readonly #counter: StatisticCounter | null;
  readonly #listener: string;
  readonly #subjects = new Map<string | null, string>();

  /** @param counter counts requests by operation, which it has under the name of this listener */
  constructor(listener = "", counter: StatisticCounter | null = null) {
    this.#listener = listener;
    this.#counter = counter;
  }

  /** @param operation of the document; null for a request that came to none */
  count(status: number, durationMs: number, operation: string | null = null): void {
    this.#counter?.count("requests", this.#subjectOf(operation), "requests", durationMs, errorOf(status));
    let at = 0;
    while (durationMs > (durationBounds[at] ?? Number.POSITIVE_INFINITY) * 1000) at++;
    this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1);
    this.durations[at] = (this.durations[at] ?? 0) + 1;
    this.totalMs += durationMs;
  }

  #subjectOf(operation: string | null): string {
    const known = this.#subjects.get(operation);
    if (known !== undefined) return known;
    const subject = `${this.#listener} ${operation ?? "other"}`;
    this.#subjects.set(operation, subject);
    return subject;
  }
}

function errorOf(status: number): string | undefined {
  if (status < 400) return undefined;
  return status >= 500 ? "server_errors" : "client_errors";
}
