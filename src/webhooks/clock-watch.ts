import { minute } from "../domain/time.ts";

/** A difference of less is a clock that is being adjusted, or a machine that was busy. */
const leastJumpMs = minute;

/** Notices when the clock is set to another time: it then moves against a steady one, which nobody sets. */
export class ClockWatch {
  #offset: number;

  constructor(
    readonly now: () => number,
    readonly steady: () => number,
  ) {
    this.#offset = now() - steady();
  }

  /** By how many milliseconds the clock has jumped since the last call; 0: it has not. */
  jump(): number {
    const moved = this.now() - this.steady() - this.#offset;
    this.#offset += moved;
    return Math.abs(moved) >= leastJumpMs ? moved : 0;
  }
}
