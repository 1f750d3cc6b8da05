import { getPriority, setPriority } from "node:os";
import type { OnFault, Store } from "../../domain/store.ts";
import { batchedPerTick } from "../../runtime/event-loop.ts";
import { runThread, type ThreadContract } from "../../runtime/threads.ts";
import type { DataStorage } from "../../store/data-storage.ts";
import type { DataLocation } from "../../store/location.ts";
import type { Engine, EngineObserver, EngineSettings } from "../engine.ts";
import type { Sample, SampleExchange, SampleStep } from "../sample.ts";

/** The methods that the engine's thread offers to the main thread, and those that it calls there. */
export interface EngineThread extends ThreadContract {
  readonly start: EngineSettings;
  readonly offers: Omit<Engine, "started" | "test" | "store"> & {
    /**
     * Sends a sample. Reports its steps by `sampleStep` with the number `watched`; reports no steps if that is null.
     */
    test(applicationId: string, sample: Sample, watched: number | null): Promise<SampleExchange>;
    /** Without `events`, whose methods take callbacks: `publish` publishes events. */
    readonly store: Omit<Store, "events" | "close">;
  };
  readonly calls: EngineObserver & {
    readonly storageFault: OnFault;
    readonly sampleStep: (watched: number, step: SampleStep) => void;
  };
}

/**
 * Runs this thread as the engine's. `link.ts` is the other end of the link, in the main thread.
 *
 * @param storageAt returns the data at a location
 */
export function runEngineThread(storageAt: (location: DataLocation) => Promise<DataStorage>): void {
  // Linux applies `setPriority` to the calling thread only. With too little processor time for both threads, requests
  // go first. The priority is never raised above that of the process, which would need a privilege.
  if (process.platform === "linux") setPriority(0, Math.max(getPriority(0), 5));

  runThread<EngineThread>(async ({ start, link: { notify }, log }) => {
    // Loaded after the priority is set: on a single processor, loading these modules must not delay the first answers.
    const { startEngine } = await import("../engine.ts");
    const engine = await startEngine({
      settings: start,
      data: await storageAt(start.location),
      log,
      now: Date.now,
      monotonic: performance.now.bind(performance),
      random: Math.random,
      // The main thread has locked the directory.
      lock: { close() {} },
      onFault: notify.storageFault,
    });
    // One report per application, because many events are published in one tick.
    const streamed = batchedPerTick<string>((ids) => notify.streamed([...new Set(ids)]));
    engine.observe({
      streamed: (applicationIds) => applicationIds.forEach(streamed),
      outcomes: notify.outcomes,
      replicaNotification: notify.replicaNotification,
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
}
