import type { AttemptResult, DueDelivery } from "../domain/deliveries.ts";
import { idTime } from "../domain/ids.ts";
import { type EndpointNotice, endpointNotices } from "../domain/notices.ts";
import { BoundedCounts, type Exemplar, type Histogram, newHistogram, observe } from "../domain/statistics.ts";
import { outcomeClasses } from "./retry.ts";
import type { SendResult } from "./send/send.ts";

/** Counters since the start, for `/metrics`. */
export interface Counts {
  /** Attempts by their class of outcome. */
  readonly attempts: Readonly<Record<string, number>>;
  /** Deliveries that have ended, by final state. */
  readonly finished: Readonly<Record<string, number>>;
  /** Notices about endpoints. */
  readonly notices: Readonly<Record<string, number>>;
  /** Attempts that failed, by application. */
  readonly failures: Readonly<Record<string, number>>;
  /** The duration of attempts, in seconds. */
  readonly attemptSeconds: Histogram;
  /** The time from publishing to arrival, in seconds, by whether the first attempt or a later one arrived. */
  readonly arrivalSeconds: Readonly<Record<"first" | "later", Histogram>>;
}

/** The outcome of an attempt, or of a delivery that ended without one. */
export interface EndedDelivery {
  readonly delivery: DueDelivery;
  readonly result: AttemptResult;
  /** null if the delivery ended without an attempt. */
  readonly sent: SendResult | null;
  /** null if the attempt is not traced. */
  readonly traceId: string | null;
}

const attemptBounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15] as const;
const arrivalBounds = [...attemptBounds.slice(0, -1), 30, 60, 300, 3_600, 43_200] as const;

const zeros = (names: readonly string[]): Record<string, number> =>
  Object.fromEntries(names.map((name) => [name, 0]));

/** Counts attempts, finished deliveries and notices. */
export class DeliveryCounter {
  readonly #attempts = zeros(outcomeClasses);
  readonly #finished = zeros(["delivered", "failed", "expired", "canceled"]);
  readonly #notices = zeros(endpointNotices);
  readonly #failures = new BoundedCounts();
  readonly #attemptSeconds = newHistogram(attemptBounds);
  readonly #arrivalSeconds = { first: newHistogram(arrivalBounds), later: newHistogram(arrivalBounds) };

  /** Counts an attempt, or the end of a delivery. */
  ended({ delivery, result, sent, traceId }: EndedDelivery, now: number): void {
    const { status, attempts } = result;
    if (status !== "pending") add(this.#finished, status);
    if (!sent) return;
    add(this.#attempts, sent.class);
    const labels = { delivery_id: delivery.id, ...(traceId !== null && { trace_id: traceId }) };
    const exemplar: Omit<Exemplar, "value"> = { labels, at: now };
    observe(this.#attemptSeconds, sent.durationMs / 1000, exemplar);
    if (sent.class !== "ok") {
      this.#failures.count(delivery.application_id, now);
      return;
    }
    // The id contains the time of publishing.
    const arrivalMs = Math.max(0, now - idTime(delivery.id));
    observe(this.#arrivalSeconds[attempts === 1 ? "first" : "later"], arrivalMs / 1000, exemplar);
  }

  /** Counts a notice. */
  notice(notice: EndpointNotice): void {
    add(this.#notices, notice);
  }

  get counts(): Counts {
    return {
      attempts: this.#attempts,
      finished: this.#finished,
      notices: this.#notices,
      failures: this.#failures.shown(),
      attemptSeconds: this.#attemptSeconds,
      arrivalSeconds: this.#arrivalSeconds,
    };
  }
}

function add(counts: Record<string, number>, name: string): void {
  counts[name] = (counts[name] ?? 0) + 1;
}
