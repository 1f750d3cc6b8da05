import type { OnFault, Store } from "../domain/store.ts";
import { batchedPerTick } from "../runtime/event-loop.ts";
import type { Log, LogLevel } from "../runtime/log.ts";
import { runThread, startThread, type Thread, type ThreadContract } from "../runtime/threads.ts";
import type { DataStorage } from "../store/data-storage.ts";
import { withEffects } from "../store/effects.ts";
import type { DataLocation } from "../store/location.ts";
import type { Engine, EngineObserver, EngineSettings } from "./engine.ts";
import type { Sample, SampleExchange, SampleStep, WatchSample } from "./sample.ts";

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
 * Runs this thread as the engine's. `startEngineThread` is the other end of the link, in the main thread.
 *
 * @param storageAt returns the data at a location
 */
export function runEngineThread(storageAt: (location: DataLocation) => Promise<DataStorage>): void {
  runThread<EngineThread>(async ({ start, link: { notify }, log }) => {
    // Loaded by a running thread, whose priority is low: on a single processor, this must not delay the first answers.
    const { startEngine } = await import("./engine.ts");
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

interface EngineThreadOptions {
  /** The URL of a program that calls `runEngineThread`. */
  readonly program: string;
  readonly settings: EngineSettings;
  /** The data at the location that the settings name. */
  readonly data: DataStorage;
  readonly logLevel: LogLevel;
  readonly log: Log;
  /** Called when the thread has failed: nothing can be written or delivered any more. */
  readonly failed: (error: Error) => void;
  /** Called for each read or write, in either thread, that finds that the storage cannot be used. */
  readonly onFault: OnFault;
  /** Called after each change of what callers may have in a cache. */
  readonly callersChanged?: () => void;
}

/**
 * Runs the engine in a separate thread, so that neither syncs nor signatures delay requests. If the data can be read at
 * once, resolves before the thread has started. Rejects if the directory cannot be locked, or with the error of
 * starting the engine.
 */
export async function startEngineThread(options: EngineThreadOptions): Promise<Engine> {
  const { settings, data, onFault, callersChanged, ...rest } = options;
  let observer: EngineObserver | null = null;
  /** Whether notifications of other replicas arrived before there was an observer. */
  let hasMissed = false;
  const watches = new Map<number, WatchSample>();
  let lastWatch = 0;
  const offered: EngineThread["calls"] = {
    storageFault: onFault,
    streamed: (ids) => observer?.streamed(ids),
    outcomes: (batches, changed) => observer?.outcomes(batches, changed),
    replicaNotification(notification) {
      if (observer) observer.replicaNotification(notification);
      else hasMissed = true;
    },
    sampleStep: (watched, step) => watches.get(watched)?.(step),
  };
  const lock = data.lock();
  let thread: Thread<EngineThread>;
  try {
    thread = startThread({ name: "engine", start: settings, offered, ...rest });
  } catch (error) {
    lock?.close();
    throw error;
  }
  const isStarted = thread.started.then(
    () => true,
    () => {
      lock?.close();
      return false;
    },
  );
  const { remote } = thread;
  const end = async (graceMs: number) => {
    // A failed start is no failure of the end: `started` has rejected with the reason.
    if (!(await isStarted)) return;
    await remote.stop(graceMs);
    thread.end();
    lock?.close();
  };
  const openReader = async () => {
    const early = await data.openReadingIfReady(onFault, remote.store);
    if (early) return early;
    await thread.started;
    return data.openReading(onFault, remote.store);
  };
  const reader = await openReader().catch(async (error: unknown) => {
    await end(0);
    throw error;
  });
  // `notify`, `broadcast` and `watchOutcomes` ignore an error of the link: without the thread the process ends.
  return {
    started: thread.started,
    store: withEffects({ reads: reader, writes: remote.store, callersChanged }),
    publish: remote.publish,
    publishAll: remote.publishAll,
    enable: remote.enable,
    async test(id, sample, watch) {
      if (!watch) return remote.test(id, sample, null);
      const watched = ++lastWatch;
      watches.set(watched, watch);
      return remote.test(id, sample, watched).finally(() => watches.delete(watched));
    },
    notify: (type, data) => remote.notify(type, data).catch(() => {}),
    stats: remote.stats,
    checkStorage: remote.checkStorage,
    observe(next) {
      observer = next;
      if (hasMissed) observer.replicaNotification({ kind: "missed" });
      hasMissed = false;
    },
    broadcast: (notification) => void remote.broadcast(notification).catch(() => {}),
    watchOutcomes: (watched) => remote.watchOutcomes(watched).catch(() => {}),
    async stop(graceMs) {
      await reader.close();
      await end(graceMs);
    },
  };
}
