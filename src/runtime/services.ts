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

type Stop = (graceMs: number) => unknown;

/** How much longer than its grace one stop may take. After that the next stop begins. */
const lateMs = 20_000;

/** The parts of a program that were started, to be stopped on every way out. */
export class Stops {
  readonly #stops: { readonly name: string; readonly stop: Stop }[] = [];

  constructor(readonly log: Log) {}

  /** Adds a part that was started. `name` is for the log. */
  add(name: string, stop: Stop): void {
    this.#stops.push({ name, stop });
  }

  /** Stops everything, the last started first. Never rejects: a stop that fails or takes too long is logged. */
  async stop(graceMs: number): Promise<void> {
    for (let one = this.#stops.pop(); one; one = this.#stops.pop()) await this.#stopOne(one, graceMs);
  }

  /** Stops everything at the same time. */
  async stopTogether(graceMs: number): Promise<void> {
    await Promise.all(this.#stops.splice(0).map((one) => this.#stopOne(one, graceMs)));
  }

  async #stopOne({ name, stop }: { readonly name: string; readonly stop: Stop }, graceMs: number) {
    try {
      const ended = Promise.resolve(stop(graceMs)).then(() => true);
      if (!(await inTime(ended, graceMs + lateMs))) this.log.error("stop_late", { what: name });
    } catch (error) {
      this.log.failure("stop_failed", error, { what: name });
    }
  }
}
