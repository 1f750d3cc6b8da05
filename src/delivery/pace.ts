import { minute, second } from "../domain/time.ts";

/** A difference within this factor counts as none, because latency varies that much by itself. */
const tolerance = Math.log(1.5);
/** A difference within this many standard errors counts as none, because it may be chance. */
const chance = 3;
/** Added to every latency, so that a few milliseconds make no difference for a near receiver. */
const offsetMs = 10;
/** The usual latency is an average over about this many rounds. */
const longRounds = 16;
/** The number of rounds of that average when it is to adapt soon. */
const shortRounds = 4;

/**
 * Compares the latency of an endpoint's recent responses (a round) with the usual latency, an average over the rounds
 * before. Both are geometric means (averages of logarithms). A heavy tail or a second mode hardly changes such a mean,
 * while a queue that builds up at the receiver does.
 */
class LatencyTrend {
  #mean = 0;
  /** The usual variance of single responses within a round. */
  #variance = 0;
  #rounds = 0;
  #count = 0;
  #sum = 0;
  #squares = 0;

  /** The usual latency; 0 before the first round has ended. */
  get usualMs(): number {
    return this.#rounds === 0 ? 0 : Math.max(0, Math.exp(this.#mean) - offsetMs);
  }

  /** Adds a response to the current round. */
  add(latencyMs: number): void {
    const value = Math.log(Math.max(0, latencyMs) + offsetMs);
    this.#count++;
    this.#sum += value;
    this.#squares += value * value;
  }

  /**
   * Ends the round and adds it to the usual latency. A faster round has more weight, because a receiver that has
   * recovered must not be compared with its earlier trouble.
   *
   * @param isAccepted whether a slower round, too, has more weight
   * @returns the factor by which the round was slower than usual, beyond tolerance and chance; 1 for not slower
   */
  endRound(isAccepted: boolean): number {
    const count = this.#count;
    if (count === 0) return 1;
    const mean = this.#sum / count;
    const variance = Math.max(0, this.#squares / count - mean * mean);
    const difference = this.#rounds === 0 ? 0 : mean - this.#mean;
    const error = Math.sqrt((this.#variance + variance) / count);
    const allowed = Math.max(tolerance, chance * error);
    this.#rounds++;
    const over = isAccepted || difference < -tolerance ? shortRounds : longRounds;
    const weight = 1 / Math.min(over, this.#rounds);
    this.#mean = this.#rounds === 1 ? mean : this.#mean + difference * weight;
    this.#variance += (variance - this.#variance) * weight;
    this.#count = 0;
    this.#sum = 0;
    this.#squares = 0;
    return difference > allowed ? Math.exp(difference - tolerance) : 1;
  }
}

/** The initial concurrency. Only throttling and an open circuit reduce it below that. */
const firstConcurrency = 8;
/** The smallest number of responses in a round. A round has as many responses as the concurrency, if that is more. */
const leastInRound = 8;
/** A round in which a larger share failed halves concurrency. */
const toleratedFailures = 0.1;
/** One slow round reduces concurrency to no less than this share. */
const leastOfLatency = 0.5;
/** When an endpoint throttles, growth gets a ceiling: this share of the attempts that were in progress. */
const ceilingOfThrottled = 0.9;
/** How much the ceiling rises: slowly at first, because the limit may be near, then fast, because it may be gone. */
const ceilingRise = (ms: number): number => ms / (2 * second) + (ms / (8 * second)) ** 3;
/** The number of consecutive failures that opens the circuit. */
const openAfterFailures = 5;
/** How long an open circuit waits before the first probe. The time doubles with each failed probe. */
const shortestOpenMs = 5 * second;
/** The longest wait of an open circuit before a probe. */
const longestOpenMs = 5 * minute;
/** The shortest pause of an endpoint that throttles. */
const shortestPauseMs = second;

/** The outcome of an attempt, as far as it shows how much load the endpoint can take. */
export interface Feedback {
  readonly startedAt: number;
  readonly at: number;
  readonly isSuccess: boolean;
  /** The endpoint is overloaded: 429, 502, 503, 504. */
  readonly isThrottled: boolean;
  readonly retryAfterMs: number | null;
  /** From 0 to 1, for the jitter. */
  readonly random: number;
}

interface PaceOptions {
  /** The highest concurrency. */
  readonly max: number;
  /** The initial concurrency. */
  readonly first?: number;
  /** The end of a pause. */
  readonly pausedUntil?: number;
}

/**
 * The concurrency of one endpoint, adapted to its responses, which are judged in rounds of as many as may run at once.
 *
 * - Growth: while it is used, concurrency doubles with each round (slow start) until the first sign of overload. Then
 *   it grows by its square root per round.
 * - Latency: concurrency shrinks when a round is slower than usual.
 * - Failures: concurrency halves when more than a tenth of a round fails.
 * - Throttling (429, 502, 503, 504): sending pauses and concurrency halves. Then concurrency approaches the number of
 *   attempts at which the endpoint throttled only slowly.
 * - Circuit breaker: five consecutive failures open the circuit. Sending stops for a while, then one delivery is the
 *   probe. A success closes the circuit, and concurrency grows again from one. Waiting uses up no attempts.
 */
export class Pace {
  inFlight = 0;
  /** The highest concurrency, whatever the responses. */
  max: number;
  #limit: number;
  #isSlowStart = true;
  readonly #latency = new LatencyTrend();
  #round = newRound(leastInRound);
  /** Attempts that began before this time belong to trouble that has already been counted. */
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

  /** The end of the pause after throttling; in the past if there is none. */
  get pausedUntil(): number {
    return this.#pausedUntil;
  }

  /** The current concurrency. */
  get limit(): number {
    return Math.floor(Math.min(this.#limit, this.max));
  }

  /** The estimated number of attempts per second at this concurrency; Infinity if the latency is unknown. */
  get perSecond(): number {
    return (this.limit * second) / this.#latency.usualMs;
  }

  /**
   * The end of the pause or of the open circuit's wait; in the past if sending is not suspended. In whole milliseconds,
   * as the store takes it.
   */
  get resumeAt(): number {
    return Math.max(this.#pausedUntil, this.#openUntil);
  }

  /** Whether failures have opened the circuit and no success has closed it. */
  get isOpen(): boolean {
    return this.#openMs > 0;
  }

  /** Ends a suspension. The next delivery is a probe, and concurrency grows from one. */
  resume(now: number): void {
    if (this.resumeAt <= now) return;
    this.#pausedUntil = 0;
    this.#openUntil = 0;
    this.#limit = 1;
    this.#isSlowStart = true;
    this.#round = newRound(leastInRound);
  }

  /** Adapts to an attempt that has ended. The caller has subtracted it from `inFlight`. */
  learn(feedback: Feedback): void {
    const round = this.#round;
    round.most = Math.max(round.most, this.inFlight + 1);
    if (feedback.isSuccess) this.#succeeded(feedback);
    else if (feedback.isThrottled) this.#throttled(feedback);
    else this.#failed(feedback);
    if (round === this.#round && round.ended >= round.size) this.#endRound(feedback.at);
  }

  /** Shifts all times, because the clock was moved by `ms`. */
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
    if (this.#isSlowStart) this.#grow(1, at);
  }

  #throttled(feedback: Feedback): void {
    const { startedAt, at, retryAfterMs } = feedback;
    this.#pausedUntil = Math.max(this.#pausedUntil, at + Math.max(retryAfterMs ?? 0, shortestPauseMs));
    // Simultaneous attempts report the same overload, which counts once.
    if (startedAt < this.#troubleAt) return;
    this.#failures++;
    this.#ceiling = Math.max(1, ceilingOfThrottled * (this.inFlight + 1));
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
    // Attempts that began before the end of the last wait are not probes.
    if (this.#failures < openAfterFailures || startedAt < this.#openUntil) return;
    this.#openMs = Math.min(longestOpenMs, this.#openMs === 0 ? shortestOpenMs : this.#openMs * 2);
    this.#openUntil = at + Math.round(this.#openMs * (0.8 + 0.4 * random));
    this.#limit = 1;
    this.#isSlowStart = true;
    this.#ceiling = Number.POSITIVE_INFINITY;
    this.#round = newRound(leastInRound);
  }

  #endRound(at: number): void {
    const { ended, failed } = this.#round;
    // At or below the initial concurrency, slower latency is accepted as usual: fewer attempts have not helped.
    const slower = this.#latency.endRound(this.#limit <= firstConcurrency);
    if (failed > toleratedFailures * ended) this.#slowDown(0.5, at);
    else if (slower > 1) this.#slowDown(Math.max(leastOfLatency, 1 / slower), at);
    else if (!this.#isSlowStart) this.#grow(Math.sqrt(this.#limit), at);
    this.#round = newRound(Math.max(leastInRound, this.limit));
  }

  #grow(by: number, at: number): void {
    // While concurrency is not used, responses do not show whether the endpoint can take more.
    if (this.#round.most * 2 < this.#limit) return;
    const ceiling = this.#ceiling + ceilingRise(Math.max(0, at - this.#ceilingSince));
    this.#limit = Math.max(this.#limit, Math.min(this.max, ceiling, this.#limit + by));
  }

  #slowDown(factor: number, at: number): void {
    this.#shrink(Math.max(factor, Math.min(1, firstConcurrency / this.#limit)), at);
  }

  #shrink(factor: number, at: number): void {
    this.#limit = Math.max(1, this.#limit * factor);
    this.#isSlowStart = false;
    this.#troubleAt = at;
    this.#round = newRound(Math.max(leastInRound, this.limit));
  }
}

/** Responses that are judged together. */
interface Round {
  /** The number of responses that ends the round. */
  readonly size: number;
  ended: number;
  failed: number;
  /** The largest number of attempts that ran at once. */
  most: number;
}

const newRound = (size: number): Round => ({ size, ended: 0, failed: 0, most: 0 });
