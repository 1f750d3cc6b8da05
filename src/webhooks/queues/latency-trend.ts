/** A difference within this factor counts as none, because latency varies that much by itself. */
const tolerance = Math.log(1.5);
/** A difference within this many standard errors counts as none, because it may be chance. */
const chance = 3;
/** Added to every latency, so that a few milliseconds make no difference for a near receiver. */
const offsetMs = 10;
/** The usual latency is an average over about this many rounds, */
const longRounds = 16;
/** or over this many when it is to adapt soon. */
const shortRounds = 4;

/**
 * Compares the latency of an endpoint's recent responses (a round) with its usual latency, an average over the rounds
 * before. Both are geometric means (averages of logarithms). A heavy tail or a second mode hardly changes these, while
 * a queue that builds up at the receiver does.
 */
export class LatencyTrend {
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
