import { minute, second } from "../domain/time.ts";

/** At most so many attempts run at once for one endpoint. */
export const maxConcurrency = 64;
/** An endpoint that nothing is known of gets so many at once. */
const firstConcurrency = 8;
/** So many failures in a row open the circuit. */
const openAfterFailures = 5;
/** How long an open circuit waits before it probes: from the first time on twice as long each time. */
const shortestOpenMs = 5 * second;
const longestOpenMs = 5 * minute;
/** The least time that an endpoint is left alone after it answered that it has too much to do. */
const shortestPauseMs = second;
/** An answer is slow when it takes twice as long as the fastest, and so much longer. */
const slowBeyondMs = 100;

/** An attempt, as far as it says how much an endpoint can take. */
export interface Feedback {
  readonly startedAt: number;
  readonly at: number;
  readonly isSuccess: boolean;
  /** It has too much to do: 429, 502, 503, 504. */
  readonly isThrottled: boolean;
  readonly retryAfterMs: number | null;
  /** From 0 to 1, for the jitter. */
  readonly random: number;
}

/**
 * How fast one endpoint may be sent to. Concurrency doubles with each round of fast answers until the first trouble,
 * then grows by one a round; it shrinks when answers slow down and halves when they fail or throttle. After five
 * failures in a row the circuit opens: nothing is sent for a while, then one delivery as a probe; a success lets
 * concurrency grow again from one. What waits for that uses up no attempts.
 */
export class Pace {
  inFlight = 0;
  #limit: number;
  #isStarting = true;
  #fastestMs = Number.POSITIVE_INFINITY;
  #shrunkAt = Number.NEGATIVE_INFINITY;
  #failures = 0;
  #openMs = 0;
  #pausedUntil = 0;
  #openUntil = 0;

  /** @param concurrency how many may run at once to begin with */
  constructor(concurrency = firstConcurrency) {
    this.#limit = concurrency;
  }

  /** How many may run at once now. */
  get limit(): number {
    return Math.floor(this.#limit);
  }

  /** Nothing is sent before that; in the past when nothing holds it up. */
  get resumeAt(): number {
    return Math.max(this.#pausedUntil, this.#openUntil);
  }

  /** Whether failures have opened the circuit and no success has closed it. */
  get isOpen(): boolean {
    return this.#openMs > 0;
  }

  /** Lifts what holds it up: the next delivery is a probe. What was learned of its concurrency stays. */
  resume(): void {
    this.#pausedUntil = 0;
    this.#openUntil = 0;
  }

  canStart(now: number): boolean {
    return this.inFlight < this.limit && now >= this.resumeAt;
  }

  /** What an attempt that has ended tells. */
  learn(feedback: Feedback): void {
    if (feedback.isSuccess) this.#succeeded(feedback);
    else this.#failed(feedback);
  }

  /** The clock was moved by so much, which says nothing about the endpoint. */
  shift(ms: number): void {
    this.#pausedUntil += ms;
    this.#openUntil += ms;
    this.#shrunkAt += ms;
  }

  #succeeded({ startedAt, at }: Feedback): void {
    const durationMs = at - startedAt;
    this.#failures = 0;
    this.#openMs = 0;
    this.#openUntil = 0;
    // The fastest is forgotten slowly, because a receiver may have moved further away.
    this.#fastestMs = Math.min(durationMs, this.#fastestMs * 1.001 + 0.001);
    if (durationMs > Math.max(this.#fastestMs * 2, this.#fastestMs + slowBeyondMs)) this.#shrink(at, 0.8);
    else this.#limit = Math.min(maxConcurrency, this.#limit + (this.#isStarting ? 1 : 1 / this.#limit));
  }

  #failed({ startedAt, at, isThrottled, retryAfterMs, random }: Feedback): void {
    this.#failures++;
    this.#shrink(at, 0.5);
    if (isThrottled) {
      this.#pausedUntil = Math.max(this.#pausedUntil, at + Math.max(retryAfterMs ?? 0, shortestPauseMs));
    }
    // Attempts that began before the circuit opened say nothing new.
    if (this.#failures < openAfterFailures || startedAt < this.#openUntil) return;
    this.#openMs = Math.min(longestOpenMs, this.#openMs === 0 ? shortestOpenMs : this.#openMs * 2);
    this.#openUntil = at + this.#openMs * (0.8 + 0.4 * random);
    this.#limit = 1;
    this.#isStarting = true;
  }

  /** Once for what ran at the same time: all of it tells of the same trouble. */
  #shrink(at: number, factor: number): void {
    if (at - this.#shrunkAt < this.#fastestMs) return;
    this.#shrunkAt = at;
    this.#limit = Math.max(1, this.#limit * factor);
    this.#isStarting = false;
  }
}
