import { storedAt } from "../store.ts";

interface VirtualTimer {
  readonly at: number;
  readonly fire: () => void;
  unref(): VirtualTimer;
}

/**
 * Time that passes only when a test says so. While it is installed, it stands in for timers, `Bun.sleep` and
 * `performance.now`, so that a run depends on nothing but its commands. Turns of the event loop stay real.
 */
export class VirtualTime {
  #elapsed = 0;
  #clockOffset = storedAt;
  /** In the order in which they were set. */
  #timers: VirtualTimer[] = [];

  /** The system's clock, which may be set. */
  readonly now = () => this.#elapsed + this.#clockOffset;
  /** The clock that is never set. */
  readonly monotonic = () => this.#elapsed;

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
      this.#clear(next);
      next.fire();
      await settle();
    }
    this.#elapsed = end;
    await settle();
  }

  /** The timers of a process that has ended. */
  forget(): void {
    this.#timers = [];
  }

  /** Returns what puts real time back. */
  install(): () => void {
    const real = { setTimeout, clearTimeout, sleep: Bun.sleep, now: performance.now };
    const stand = {
      setTimeout: (fire: () => void, ms = 0) => this.#set(fire, ms),
      clearTimeout: (timer: VirtualTimer) => this.#clear(timer),
    };
    Object.assign(globalThis, stand);
    Bun.sleep = (ms) => new Promise((resolve) => this.#set(() => resolve(), Number(ms)));
    performance.now = this.monotonic;
    return () => {
      Object.assign(globalThis, { setTimeout: real.setTimeout, clearTimeout: real.clearTimeout });
      Bun.sleep = real.sleep;
      performance.now = real.now;
    };
  }

  #set(fire: () => void, ms: number): VirtualTimer {
    const timer: VirtualTimer = { at: this.#elapsed + Math.max(1, ms), fire, unref: () => timer };
    this.#timers.push(timer);
    return timer;
  }

  #clear(timer: VirtualTimer): void {
    this.#timers = this.#timers.filter((one) => one !== timer);
  }
}
