import type { Catalogue } from "../../domain/events/catalogue.ts";
import type { Engine } from "../../engine/engine.ts";
import type { Log } from "../../log.ts";
import { Ranking, type RankingWriter } from "../../ranking/ranking.ts";
import { LeadingRanking } from "../../ranking/shared.ts";
import type { Store } from "../../store/store.ts";
import { Tally } from "../../wire/tally.ts";
import { Changes } from "../changes.ts";
import type { Listening } from "../server.ts";
import { Traffic } from "../traffic.ts";
import { publicMemory } from "./memory.ts";
import { type PublicServer, type PublicSettings, publicServer } from "./server.ts";
import { OwnStreamPlaces } from "./stream-places.ts";
import { type HeldPort, holdPort, type PublicThreads, startPublicThreads } from "./threads.ts";

export interface PublicOptions {
  readonly settings: PublicSettings;
  /** How many threads serve, this one among them. */
  readonly threads: number;
  /** The URL of `public-worker.ts`. */
  readonly program: string;
  readonly engine: Pick<Engine, "store" | "test" | "onStreamed">;
  /** Makes a port to the engine for another thread. */
  readonly enginePort: () => MessagePort;
  readonly catalogue: Catalogue;
  readonly log: Log;
  /** With several threads the system's clock. */
  readonly now: () => number;
  /** Called when a thread broke down: its connections would never be answered. */
  readonly failed: (error: Error) => void;
}

/** The public listener of the process, with those who are to be told of changes before these are acknowledged. */
export interface Public {
  readonly ranking: RankingWriter;
  readonly users: Changes;
  /** The engine's, with every change noted of what remembered callers are made of. */
  readonly store: Store;
  readonly threads: PublicThreads;
  /** Of each thread, this one first. */
  readonly traffic: readonly Traffic[];
  /** The connections of each. */
  readonly tallies: readonly Tally[];
  /** Where it is reached from outside, without a trailing slash. */
  readonly url: () => string;
  /** Begins to accept connections, on all threads. Throws when the port is taken. */
  listen(): Promise<Listening>;
  /** Ends event streams, lets requests in flight finish for up to `graceMs`, then cuts them off. */
  stop(graceMs: number): Promise<void>;
  /** Ends the other threads: from here on nobody can be told anything. */
  end(): void;
}

/** Prepares the public listener in this thread and, where there shall be several, in others. */
export async function startPublic(options: PublicOptions): Promise<Public> {
  const { settings, threads: count, engine, now } = options;
  const isShared = count > 1;
  const memory = publicMemory(isShared);
  const counted = Array.from({ length: count }, () => ({
    traffic: Traffic.memory(isShared),
    tally: Tally.memory(isShared),
  }));
  const traffic = counted.map((one) => new Traffic(one.traffic));
  const tallies = counted.map((one) => new Tally(one.tally));
  const places = new OwnStreamPlaces(settings.streamLimit);
  const held = isShared ? holdPort(settings.host, settings.port) : null;
  let threads: PublicThreads | null = null;
  try {
    threads = await startPublicThreads({ ...options, memory, places, counted: counted.slice(1) });
    const ranking = isShared ? new LeadingRanking(memory.holding, now, threads) : new Ranking(now);
    await ranking.putCategories(await engine.store.categories.all());
    ranking.putLive(await engine.store.livestreams.all());
    if (ranking instanceof LeadingRanking) await ranking.start();
    const server = await publicServer({
      ...options,
      ranking,
      memory,
      places,
      traffic: traffic[0],
      tally: tallies[0],
    });
    return {
      ranking,
      users: new Changes(memory.users),
      store: server.store,
      threads,
      traffic,
      tallies,
      url: () => server.publicUrl,
      ...serving(server, threads, held),
    };
  } catch (error) {
    held?.release();
    threads?.end();
    throw error;
  }
}

function serving(
  server: PublicServer,
  threads: PublicThreads,
  held: HeldPort | null,
): Pick<Public, "listen" | "stop" | "end"> {
  return {
    async listen() {
      if (!held) return server.listen();
      held.release();
      const listening = server.listen({ port: held.port, reusePort: true });
      await threads.listen(held.port);
      return listening;
    },
    async stop(graceMs) {
      held?.release();
      await Promise.all([server.stop(graceMs), threads.stop(graceMs)]);
    },
    end: () => threads.end(),
  };
}
