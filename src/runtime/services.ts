import { second } from "../domain/time.ts";
import { inTime, systemTimers, type Timers } from "./event-loop.ts";
import type { Log } from "./log.ts";

/** A task that runs as long as the server does. */
export interface Service {
  readonly name: string;
  /** Runs until the signal is aborted, and resolves when it has stopped. A rejection is a failure. */
  run(signal: AbortSignal): Promise<void>;
}

interface Supervised {
  /** Stops all services and waits for them. */
  stop(): Promise<void>;
}

const startAgainAfterMs = 1_000;

/** Runs services concurrently. A failed service is logged and restarted. */
export function supervise(
  services: readonly Service[],
  log: Log,
  { pause }: Timers = systemTimers,
): Supervised {
  const stopping = new AbortController();
  const { signal } = stopping;
  const keepRunning = async ({ name, run }: Service): Promise<void> => {
    while (!signal.aborted) {
      try {
        return await run(signal);
      } catch (error) {
        log.failure("service_failed", error, { service: name });
        await pause(startAgainAfterMs, signal);
      }
    }
  };
  const running = services.map(keepRunning);
  return {
    async stop() {
      stopping.abort();
      await Promise.all(running);
    },
  };
}

/** Returns a service that repeats `work`, with a pause of `everyMs` after each run. */
export function repeating(
  name: string,
  everyMs: number,
  work: (signal: AbortSignal) => Promise<void>,
  { pause }: Timers = systemTimers,
): Service {
  return {
    name,
    async run(signal) {
      while (!signal.aborted) {
        await work(signal);
        await pause(everyMs, signal);
      }
    },
  };
}

/** A function that stops something. It waits up to `graceMs` for work in progress. */
type Stop = (graceMs: number) => unknown;

interface Started {
  /** For the log. */
  readonly name: string;
  readonly stop: Stop;
}

/** How much longer than its grace a stop may take. The process does not wait for it any longer. */
const lateMs = 20 * second;
/** The time for what is not stopped yet when all stops together have taken too long. */
const lastMs = second;

/** The parts of a program that were started, to be stopped on every way out. */
export class Stops {
  readonly #started: Started[] = [];

  constructor(
    readonly log: Log,
    readonly timers: Timers = systemTimers,
    /** A clock that is never set, in milliseconds. */
    readonly monotonic: () => number = performance.now.bind(performance),
  ) {}

  /** Adds a part that was started. `name` is for the log. */
  add(name: string, stop: Stop): void {
    this.#started.push({ name, stop });
  }

  /**
   * Stops everything, the last started first, in at most twice the grace and 21 seconds. Never rejects: a stop that
   * fails or takes too long is logged.
   */
  async stop(graceMs: number): Promise<void> {
    const endsAt = this.monotonic() + 2 * graceMs + lateMs;
    while (this.#started.length > 0) {
      const leftMs = endsAt - this.monotonic();
      if (leftMs <= 0) return this.#stopAll(this.#started.splice(0).reverse(), 0, lastMs);
      const last = this.#started.pop();
      if (last) await this.#stopPart(last, Math.min(graceMs, leftMs), Math.min(graceMs + lateMs, leftMs));
    }
  }

  /** Stops everything at the same time. Never rejects. */
  async stopTogether(graceMs: number): Promise<void> {
    await this.#stopAll(this.#started.splice(0), graceMs, graceMs + lateMs);
  }

  async #stopAll(started: readonly Started[], graceMs: number, mostMs: number): Promise<void> {
    await Promise.all(started.map((part) => this.#stopPart(part, graceMs, mostMs)));
  }

  async #stopPart({ name, stop }: Started, graceMs: number, mostMs: number): Promise<void> {
    try {
      const ended = Promise.resolve(stop(graceMs)).then(() => true);
      if (!(await inTime(ended, mostMs, this.timers))) this.log.error("stop_late", { what: name });
    } catch (error) {
      this.log.failure("stop_failed", error, { what: name });
    }
  }
}
