import { type Timers, timersBy } from "../../src/runtime/event-loop.ts";
import { storedAt } from "./store.ts";

interface VirtualTimer {
  readonly at: number;
  readonly work: () => void;
}

/** Time that passes only when a test says so, for the clocks and timers that an engine is given. */
export class VirtualTime {
  #elapsed = 0;
  #clockOffset = storedAt;
  /** In the order in which they were set. */
  #timers: VirtualTimer[] = [];

  /** The system's clock, which may be set. */
  readonly now = () => this.#elapsed + this.#clockOffset;
  /** The clock that is never set. */
  readonly monotonic = () => this.#elapsed;

  readonly timers: Timers = timersBy((ms, work) => {
    const timer = { at: this.#elapsed + Math.max(1, ms), work };
    this.#timers.push(timer);
    return () => this.#remove(timer);
  });

  setClock(byMs: number): void {
    this.#clockOffset += byMs;
  }

  /** Fires what is due meanwhile, each timer followed by `settle`. */
  async pass(ms: number, settle: () => Promise<void>): Promise<void> {
    await settle();
    const end = this.#elapsed + ms;
    for (;;) {
      const next = this.#timers.reduce<VirtualTimer | null>((a, b) => (a && a.at <= b.at ? a : b), null);
      if (!next || next.at > end) break;
      this.#elapsed = Math.max(this.#elapsed, next.at);
      this.#remove(next);
      next.work();
      await settle();
    }
    this.#elapsed = end;
    await settle();
  }

  /** The timers of a process that has ended. */
  forget(): void {
    this.#timers = [];
  }

  #remove(timer: VirtualTimer): void {
    this.#timers = this.#timers.filter((one) => one !== timer);
  }
}

/** Lets what waits for neither time nor a store come to its end. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await Promise.resolve();
}
