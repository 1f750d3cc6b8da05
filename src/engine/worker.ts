/*
 * The engine's thread. `link/` has its other end.
 */

import { getPriority, setPriority } from "node:os";
import { inOneTurn } from "../runtime/event-loop.ts";
import type { OnFault } from "../store/faults.ts";
import type { Store } from "../store/store.ts";
import type { ThreadContract } from "../threads/contract.ts";
import { runThread } from "../threads/run.ts";
import type { Sample, SampleExchange, SampleStep } from "../webhooks/sample.ts";
import type { Engine, EngineListener, EngineSettings } from "./engine.ts";

/** What the engine's thread offers to the thread that answers, and calls there. */
export interface EngineThread extends ThreadContract {
  readonly start: EngineSettings;
  readonly offers: Omit<Engine, "started" | "test" | "listen" | "store"> & {
    /** The steps are reported by `sampleStep` under this number; null: they are not. */
    test(applicationId: string, sample: Sample, watched: number | null): Promise<SampleExchange>;
    /** Without events, whose verbs take callbacks: they are published by `publish`. */
    readonly store: Omit<Store, "events" | "close">;
  };
  readonly calls: EngineListener & {
    readonly storageFault: OnFault;
    readonly sampleStep: (watched: number, step: SampleStep) => void;
  };
}

// Linux counts this for the calling thread alone: where there is not enough processor for both, requests go first.
// Never higher than it was started with, which takes a privilege.
if (process.platform === "linux") setPriority(0, Math.max(getPriority(0), 5));

runThread<EngineThread>(async ({ start, link: { notify }, log }) => {
  // Behind the priority: on a single processor the first answers do not wait for this thread to load its modules.
  const { startEngine } = await import("./start.ts");
  const engine = await startEngine({
    settings: start,
    log,
    now: Date.now,
    monotonic: performance.now.bind(performance),
    random: Math.random,
    // The main thread has locked the directory.
    lock: { close() {} },
    onFault: notify.storageFault,
  });
  // Once for each application: many events are published in one turn.
  const streamed = inOneTurn<string>((ids) => notify.streamed([...new Set(ids)]));
  engine.listen({
    streamed: (applicationIds) => applicationIds.forEach(streamed),
    outcomes: notify.outcomes,
    news: notify.news,
  });
  return {
    ...engine,
    test: (id, sample, watched) =>
      engine.test(id, sample, watched === null ? undefined : (step) => notify.sampleStep(watched, step)),
    async stop(graceMs) {
      await engine.stop(graceMs);
      await log.flush();
    },
  };
});
