import type { Category } from "../../domain/categories.ts";
import type { NewEventType } from "../../domain/events/registered.ts";
import type { Log } from "../../log.ts";
import type { GivenStandings, RankingFollowers } from "../../ranking/shared.ts";
import { startThread, type Thread } from "../../threads/start.ts";
import type { PublicMemory } from "./memory.ts";
import type { PublicSettings } from "./server.ts";
import type { StreamPlaces } from "./stream-places.ts";

/** What a thread of the public listener starts with. */
export interface PublicThreadStart {
  readonly settings: PublicSettings;
  /** To the engine's thread. */
  readonly engine: MessagePort;
  readonly memory: PublicMemory;
  /** Where it counts its requests, and its connections. */
  readonly counted: { readonly traffic: ArrayBufferLike; readonly tally: ArrayBufferLike };
  /** How many threads serve, this one among them. */
  readonly threads: number;
}

export interface PublicThreadsOptions extends Omit<PublicThreadStart, "engine" | "counted"> {
  /** The URL of `public-worker.ts`. */
  readonly program: string;
  /** For each of them: as many as there shall be. */
  readonly counted: readonly PublicThreadStart["counted"][];
  readonly enginePort: () => MessagePort;
  readonly places: StreamPlaces;
  readonly log: Log;
  /** Called when a thread broke down: its connections would never be answered. */
  readonly failed: (error: Error) => void;
}

/** Starts the threads that serve the public listener beside this one; none accepts connections yet. */
export async function startPublicThreads(options: PublicThreadsOptions): Promise<PublicThreads> {
  const { program, enginePort, settings, memory, places, log, failed } = options;
  const threads = options.counted.map((counted, i) => {
    const engine = enginePort();
    const start: PublicThreadStart = { settings, engine, memory, counted, threads: options.threads };
    const { logLevel } = settings;
    const named = { name: `public ${i + 1}`, program, logLevel, log, failed };
    return startThread({ ...named, start, transfer: [engine], offered: places });
  });
  try {
    await Promise.all(threads.map(({ started }) => started));
    return new PublicThreads(threads);
  } catch (error) {
    for (const thread of threads) thread.end();
    throw error;
  }
}

/**
 * The threads that serve the public listener beside this one. What they are told holds on all of them when the promise
 * resolves, and in the order in which they were told.
 */
export class PublicThreads implements RankingFollowers {
  constructor(readonly threads: readonly Thread[]) {}

  prepare(given: GivenStandings): Promise<void> {
    return this.#all("prepare", given);
  }

  putCategories(categories: readonly Category[]): Promise<void> {
    return this.#all("putCategories", categories);
  }

  removeCategories(ids: readonly number[]): Promise<void> {
    return this.#all("removeCategories", ids);
  }

  putEventType(type: NewEventType): Promise<void> {
    return this.#all("putEventType", type);
  }

  removeEventType(name: string, version: number): Promise<void> {
    return this.#all("removeEventType", name, version);
  }

  /** Has all of them accept connections on a port. */
  listen(port: number): Promise<void> {
    return this.#all("listen", port);
  }

  /** Lets their requests in flight finish for up to `graceMs`; they still take what they are told. */
  stop(graceMs: number): Promise<void> {
    return this.#all("stop", graceMs);
  }

  /** Whoever still waits for one of them is told that it is gone. */
  end(): void {
    for (const thread of this.threads) thread.end();
  }

  async #all(method: string, ...args: readonly unknown[]): Promise<void> {
    await Promise.all(this.threads.map(({ link }) => link.call(method, ...args)));
  }
}

/** A port that is kept until threads share it. */
export interface HeldPort {
  readonly port: number;
  release(): void;
}

/**
 * Keeps a port from everybody else, which throws when it is taken; 0 finds a free one. Threads can share a port only by
 * an option with which a second server would silently share it, too. Held until the moment before, it is refused to one
 * that starts at the same time.
 */
export function holdPort(hostname: string, port: number): HeldPort {
  const holding = Bun.serve({
    hostname,
    port,
    reusePort: false,
    development: false,
    fetch: () => new Response(null, { status: 503 }),
  });
  return { port: holding.port ?? port, release: () => void holding.stop(true) };
}
