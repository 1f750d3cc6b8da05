import { openReading, openReadingIfReady } from "../../data/open.ts";
import type { Log, LogLevel } from "../../log/log.ts";
import type { OnFault } from "../../store/faults.ts";
import type { ReplicaNews } from "../../store/replicas/news.ts";
import { lockDirectory } from "../../store/sqlite/database/lock.ts";
import { startThread } from "../../threads/start.ts";
import type { WatchSample } from "../../webhooks/sample.ts";
import type { Engine, EngineSettings, OutcomeListener, StreamedListener } from "../engine.ts";
import type { EngineThread } from "../worker.ts";
import { sharedStore } from "./shared-store.ts";

interface EngineThreadOptions {
  /** The URL of `../worker.ts`. */
  readonly program: string;
  readonly settings: EngineSettings;
  readonly logLevel: LogLevel;
  readonly log: Log;
  /** Called when the thread broke down: nothing can be written or delivered any more. */
  readonly failed: (error: Error) => void;
  /** Called for each read or write, in either thread, that finds that the storage cannot be used. */
  readonly onFault: OnFault;
}

/**
 * Runs the engine in a thread of its own, so that neither a sync nor the signing of thousands of deliveries delays a
 * request. Where reads can be answered at once, this resolves without waiting for the thread. Throws when the directory
 * cannot be locked, or what starting the engine threw.
 */
export async function startEngineThread(options: EngineThreadOptions): Promise<Engine> {
  const { settings, onFault, ...rest } = options;
  const { place } = settings;
  const lock = "directory" in place ? lockDirectory(place.directory) : null;
  let streamed: StreamedListener = () => {};
  let outcomes: OutcomeListener = () => {};
  let hear: (news: ReplicaNews) => void = () => {};
  const watches = new Map<number, WatchSample>();
  let lastWatch = 0;
  const thread = startThread<EngineThread>({
    name: "engine",
    start: settings,
    offered: {
      storageFault: onFault,
      streamed: (ids) => streamed(ids),
      outcomes: (batches, changed) => outcomes(batches, changed),
      sampleStep: (watched, step) => watches.get(watched)?.(step),
      news: (news) => hear(news),
    },
    ...rest,
  });
  const isStarted = thread.started.then(
    () => true,
    () => {
      lock?.close();
      return false;
    },
  );
  const { remote } = thread;
  const settle = () => remote.store.deliveries.settle();
  const early = await openReadingIfReady(place, onFault, settle);
  if (!early) await thread.started;
  const reader = early ?? (await openReading(place, onFault, settle));
  return {
    started: thread.started,
    store: sharedStore(reader, remote.store),
    publish: remote.publish,
    publishAll: remote.publishAll,
    enable: remote.enable,
    async test(id, sample, watch) {
      if (!watch) return remote.test(id, sample, null);
      const watched = ++lastWatch;
      watches.set(watched, watch);
      return remote.test(id, sample, watched).finally(() => watches.delete(watched));
    },
    // Its callers handle no error, nor do those of `broadcast` and `watchOutcomes`: without the thread the process ends.
    notify: (type, data) => remote.notify(type, data).catch(() => {}),
    stats: remote.stats,
    checkStorage: remote.checkStorage,
    onStreamed(listener) {
      streamed = listener;
    },
    onNews(listener) {
      hear = listener;
    },
    broadcast: (news) => void remote.broadcast(news).catch(() => {}),
    watchOutcomes: (watched) => remote.watchOutcomes(watched).catch(() => {}),
    onOutcomes(listener) {
      outcomes = listener;
    },
    async stop(graceMs) {
      await reader.close();
      // It never throws: a caller that stops during the start has no use for the reason.
      if (!(await isStarted)) return;
      await remote.stop(graceMs);
      thread.end();
      lock?.close();
    },
  };
}
