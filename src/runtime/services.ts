import type { Log } from "./log.ts";
import { systemTimers, type Timers } from "./timers.ts";

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
