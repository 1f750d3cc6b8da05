import { minute, second } from "../../domain/time.ts";
import { LatencyTrend } from "./latency-trend.ts";

/** An endpoint that nothing is known of gets so many at once, and only refusals and an open circuit make it fewer. */
const firstConcurrency = 8;
/** Answers of a round at least; with more at once, as many as those. */
const leastInRound = 8;
/** A round in which a larger share failed halves concurrency. */
const toleratedFailures = 0.1;
/** One round makes concurrency no less than this part, however much slower it was. */
const leastOfLatency = 0.5;
/** After an endpoint refused, this part of what was under way is where growth ends, */
const ceilingOfRefused = 0.9;
/** and from there it rises: slowly at first, because the limit may be near, then fast, because it may be gone. */
const ceilingRise = (ms: number): number => ms / (2 * second) + (ms / (8 * second)) ** 3;
/** So many failures in a row open the circuit. */
const openAfterFailures = 5;
/** How long an open circuit waits before it probes: from the first time on twice as long each time. */
const shortestOpenMs = 5 * second;
const longestOpenMs = 5 * minute;
/** The least time that an endpoint is left alone after it answered that it has too much to do. */
const shortestPauseMs = second;

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

interface PaceOptions {
  /** How many may run at once at most. */
  readonly max: number;
  /** How many to begin with. */
  readonly first?: number;
  /** Nothing is sent before that. */
  readonly pausedUntil?: number;
}

/**
 * How many attempts may run at once for one endpoint. Answers are judged in rounds of as many as may run at once.
 * Concurrency grows only while it is used: it doubles with each round until the first trouble, then grows by its square
 * root a round. It shrinks when a round as a whole is slower than the longer run before it, and halves when a tenth of
 * a round fails or the endpoint refuses; after that it approaches the number that was refused only slowly.
 *
 * After five failures in a row the circuit opens: nothing is sent for a while, then one delivery as a probe; a success
 * lets concurrency grow again from one. What waits for that uses up no attempts.
 */
export class Pace {
  inFlight = 0;
  /** How many may run at once at most, whatever is learned. */
  max: number;
  #limit: number;
  #isStarting = true;
  readonly #latency = new LatencyTrend();
  #round = newRound(leastInRound);
  /** What began before then has already counted as trouble. */
  #troubleAt = Number.NEGATIVE_INFINITY;
  #ceiling = Number.POSITIVE_INFINITY;
  #ceilingSince = 0;
  #failures = 0;
  #openMs = 0;
  #pausedUntil: number;
  #openUntil = 0;

  constructor({ max, first = firstConcurrency, pausedUntil = 0 }: PaceOptions) {
    this.max = max;
    this.#limit = first;
    this.#pausedUntil = pausedUntil;
  }

  /** Until then the endpoint has asked to be sent nothing; in the past where it has not. */
  get pausedUntil(): number {
    return this.#pausedUntil;
  }

  /** How many may run at once now. */
  get limit(): number {
    return Math.floor(Math.min(this.#limit, this.max));
  }

  /** About how many end in a second when as many run as may; Infinity where nothing is known. */
  get perSecond(): number {
    return (this.limit * second) / this.#latency.usualMs;
  }

  /** Nothing is sent before that; in the past when nothing holds it up. */
  get resumeAt(): number {
    return Math.max(this.#pausedUntil, this.#openUntil);
  }

  /** Whether failures have opened the circuit and no success has closed it. */
  get isOpen(): boolean {
    return this.#openMs > 0;
  }

  /** Lifts what holds it up: the next delivery is a probe, and what waits behind it does not follow all at once. */
  resume(now: number): void {
    if (this.resumeAt <= now) return;
    this.#pausedUntil = 0;
    this.#openUntil = 0;
    this.#limit = 1;
    this.#isStarting = true;
    this.#round = newRound(leastInRound);
  }

  canStart(now: number): boolean {
    return this.inFlight < this.limit && now >= this.resumeAt;
  }

  /** Takes in an attempt that has ended and is not `inFlight` any more. */
  learn(feedback: Feedback): void {
    const round = this.#round;
    round.most = Math.max(round.most, this.inFlight + 1);
    if (feedback.isSuccess) this.#succeeded(feedback);
    else if (feedback.isThrottled) this.#refused(feedback);
    else this.#failed(feedback);
    if (round === this.#round && round.ended >= round.size) this.#endRound(feedback.at);
  }

  /** The clock was moved by so much, which says nothing about the endpoint. */
  shift(ms: number): void {
    this.#pausedUntil += ms;
    this.#openUntil += ms;
    this.#troubleAt += ms;
    this.#ceilingSince += ms;
  }

  #succeeded({ startedAt, at }: Feedback): void {
    this.#failures = 0;
    this.#openMs = 0;
    this.#openUntil = 0;
    if (startedAt < this.#troubleAt) return;
    this.#round.ended++;
    this.#latency.add(at - startedAt);
    if (this.#isStarting) this.#grow(1, at);
  }

  #refused(feedback: Feedback): void {
    const { startedAt, at, retryAfterMs } = feedback;
    this.#pausedUntil = Math.max(this.#pausedUntil, at + Math.max(retryAfterMs ?? 0, shortestPauseMs));
    // All that ran at the same time tells of the same trouble.
    if (startedAt < this.#troubleAt) return;
    this.#failures++;
    this.#ceiling = Math.max(1, ceilingOfRefused * (this.inFlight + 1));
    this.#ceilingSince = at;
    this.#shrink(0.5 ** this.#failures, at + 1);
    this.#openAfterFailures(feedback);
  }

  #failed(feedback: Feedback): void {
    this.#failures++;
    if (feedback.startedAt >= this.#troubleAt) {
      this.#round.ended++;
      this.#round.failed++;
    }
    this.#openAfterFailures(feedback);
  }

  #openAfterFailures({ startedAt, at, random }: Feedback): void {
    // Attempts that began before the circuit opened say nothing new.
    if (this.#failures < openAfterFailures || startedAt < this.#openUntil) return;
    this.#openMs = Math.min(longestOpenMs, this.#openMs === 0 ? shortestOpenMs : this.#openMs * 2);
    this.#openUntil = at + this.#openMs * (0.8 + 0.4 * random);
    this.#limit = 1;
    this.#isStarting = true;
    this.#ceiling = Number.POSITIVE_INFINITY;
    this.#round = newRound(leastInRound);
  }

  #endRound(at: number): void {
    const { ended, failed } = this.#round;
    // Where fewer at once did not help, it is not their number that made it slow.
    const slower = this.#latency.endRound(this.#limit <= firstConcurrency);
    if (failed > toleratedFailures * ended) this.#slowDown(0.5, at);
    else if (slower > 1) this.#slowDown(Math.max(leastOfLatency, 1 / slower), at);
    else if (!this.#isStarting) this.#grow(Math.sqrt(this.#limit), at);
    this.#round = newRound(Math.max(leastInRound, this.limit));
  }

  #grow(by: number, at: number): void {
    // What is not used says nothing about what the endpoint would do with more.
    if (this.#round.most * 2 < this.#limit) return;
    const ceiling = this.#ceiling + ceilingRise(Math.max(0, at - this.#ceilingSince));
    this.#limit = Math.max(this.#limit, Math.min(this.max, ceiling, this.#limit + by));
  }

  #slowDown(factor: number, at: number): void {
    this.#shrink(Math.max(factor, Math.min(1, firstConcurrency / this.#limit)), at);
  }

  #shrink(factor: number, at: number): void {
    this.#limit = Math.max(1, this.#limit * factor);
    this.#isStarting = false;
    this.#troubleAt = at;
    this.#round = newRound(Math.max(leastInRound, this.limit));
  }
}

/** Answers that are judged together. */
interface Round {
  /** So many are enough. */
  readonly size: number;
  ended: number;
  failed: number;
  /** Attempts that ran at once at most. */
  most: number;
}

const newRound = (size: number): Round => ({ size, ended: 0, failed: 0, most: 0 });
