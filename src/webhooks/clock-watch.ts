import { minute } from "../domain/time.ts";

/** A smaller difference is a clock that is being adjusted, or a busy machine. */
const minJumpMs = minute;

/** Notices when the clock is set to another time: it then moves against a steady one, which is never set. */
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
    return Math.abs(moved) >= minJumpMs ? moved : 0;
  }
}
