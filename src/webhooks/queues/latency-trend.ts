/** Between two runs, a difference within this factor counts as none: that much varies by itself. */
const tolerance = Math.log(1.5);
/** Nor does a difference within so many standard errors: that much is chance. */
const chance = 3;
/** Added to every latency, so that a few milliseconds more or less mean nothing for a receiver close by. */
const offsetMs = 10;
/** The longer run is an average over about so many rounds, */
const longRounds = 16;
/** and over so many where its past is soon to be forgotten. */
const shortRounds = 4;

/**
 * What the latency of an endpoint does: a recent run of answers (a round) beside the longer run before it. Both are
 * averages of logarithms, which neither a heavy tail nor a second mode among the answers moves much, while a queue that
 * builds up at the receiver moves all of them.
 */
export class LatencyTrend {
  #mean = 0;
  /** Of single answers, within rounds. */
  #variance = 0;
  #rounds = 0;
  #count = 0;
  #sum = 0;
  #squares = 0;

  /** The geometric mean of the longer run; 0 where nothing is known. */
  get usualMs(): number {
    return this.#rounds === 0 ? 0 : Math.max(0, Math.exp(this.#mean) - offsetMs);
  }

  /** Adds an answer to the present round. */
  add(latencyMs: number): void {
    const value = Math.log(Math.max(0, latencyMs) + offsetMs);
    this.#count++;
    this.#sum += value;
    this.#squares += value * value;
  }

  /**
   * Ends the round and makes it part of the longer run: soon where it was faster, because a receiver that has recovered
   * is not to be compared with its trouble.
   *
   * @param isAccepted whether slower answers, too, are soon to count as usual
   * @returns how many times slower the round was than what the longer run, tolerance and chance explain; 1: not at all
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
