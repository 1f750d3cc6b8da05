import { setTimeout } from "node:timers/promises";
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
export function supervise(services: readonly Service[], log: Log): Supervised {
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

/** Waits for a time, or until the signal is aborted. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await setTimeout(ms, undefined, { signal }).catch(() => {});
}
