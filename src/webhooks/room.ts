import { Fifo } from "./fifo.ts";

/** Deliveries in memory that have not started: what is published is taken up to this, */
const mostQueued = 16_384;
/** and what waits in the store up to this, so that there is always room for what is published. */
const mostClaimed = 2_048;

/** The room in memory for deliveries that have not started, and those who wait for some of it. */
export class Room<T> {
  #queued = 0;
  #reserved = 0;
  /** In the order in which they asked. */
  readonly #line = new Fifo<T>();
  readonly #waiting = new Set<T>();

  /** @param freed told who may ask again */
  constructor(readonly freed: (one: T) => void) {}

  get queued(): number {
    return this.#queued;
  }

  /** Holds a place for what is being published, if there is one. */
  reserve(): boolean {
    if (this.#queued + this.#reserved >= mostQueued) return false;
    this.#reserved++;
    return true;
  }

  /** Ends reservations, of which so many are used. */
  use(reserved: number, used: number): void {
    this.#reserved -= reserved;
    this.#queued += used;
  }

  /** Whether there is room for what waits in the store; if not, `one` is told when there is. */
  canClaim(one: T): boolean {
    if (this.#queued < mostClaimed) return true;
    if (!this.#waiting.has(one)) this.#line.push(one);
    this.#waiting.add(one);
    return false;
  }

  claimed(count: number): void {
    this.#queued += count;
  }

  /** So many have started or were given back. */
  left(count: number): void {
    this.#queued -= count;
    if (this.#queued >= mostClaimed) return;
    const one = this.#line.shift();
    if (one === undefined) return;
    this.#waiting.delete(one);
    this.freed(one);
  }
}
