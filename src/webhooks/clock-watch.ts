import { minute } from "../domain/time.ts";

/** A smaller difference is a clock that is being adjusted, or a busy machine. */
const minJumpMs = minute;

/** Notices when the clock is set to another time: it then moves against the monotonic one. */
export class ClockWatch {
  #offset: number;

  constructor(
    readonly now: () => number,
    readonly monotonic: () => number,
  ) {
    this.#offset = now() - monotonic();
  }

  /** By how many milliseconds the clock has jumped since the last call; 0: it has not. */
  jump(): number {
    const moved = this.now() - this.monotonic() - this.#offset;
    this.#offset += moved;
    return Math.abs(moved) >= minJumpMs ? moved : 0;
  }
}
