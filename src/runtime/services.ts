import { setTimeout } from "node:timers/promises";
import { errorFields, type Log } from "../log/log.ts";

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
/** A service that fails in the same way is logged at most this often: on a full disk, the log must not fill another. */
const sayAgainAfterMs = 60_000;

/** Runs services concurrently. A failed service is logged and restarted. */
export function supervise(services: readonly Service[], log: Log): Supervised {
  const stopping = new AbortController();
  const { signal } = stopping;
  const keepRunning = async ({ name, run }: Service): Promise<void> => {
    let said = { error: "", at: 0 };
    while (!signal.aborted) {
      try {
        return await run(signal);
      } catch (error) {
        const at = performance.now();
        if (said.error !== String(error) || at - said.at >= sayAgainAfterMs) {
          log.error("service_failed", { service: name, ...errorFields(error) });
          said = { error: String(error), at };
        }
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
