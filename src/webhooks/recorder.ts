import type { AttemptResult } from "../domain/deliveries.ts";
import type { Endpoint } from "../domain/endpoints.ts";
import type { NewNotice } from "../domain/operations/notices.ts";
import { second } from "../domain/time.ts";
import { errorFields, type Log } from "../log/log.ts";
import type { Store } from "../store/store.ts";

/**
 * How long results are gathered, because a sync for each would cost more than all other work. Nothing waits for the
 * result of a delivery that arrived, unless a user requested it. The others are recorded sooner: they lead to retries
 * and change the state of their endpoints.
 */
const usualGatherMs = { arrived: 250, other: 20 };
const maxBatch = 1_024;
const retryAfterMs = second;

export interface Recorder {
  /** The number of results that are not on disk yet. */
  readonly unrecorded: number;
  /**
   * Adds a result to the next batch, which is written sooner if the result is awaited. Resolves when it is on disk, or
   * when writing it has failed after `giveUp`. Never rejects.
   */
  add(result: AttemptResult, isAwaited?: boolean): Promise<void>;
  /** Adds the state of an endpoint, and a notice about it, to the next batch. */
  addEndpoint(endpoint: Endpoint, notice?: NewNotice | null): void;
  /** Resolves when all results that were added before are on disk, as `add` does. */
  written(): Promise<void>;
  /** Resolves when everything that was added is on disk, or when writing it has failed after `giveUp`. */
  settled(): Promise<void>;
  /**
   * Ends the retries of failed writes. Deliveries whose results are not recorded are sent again after the next start.
   */
  giveUp(): void;
}

interface RecorderOptions {
  readonly store: Pick<Store, "deliveries">;
  readonly log: Log;
  /** Called whenever `unrecorded` has decreased. */
  readonly progressed: () => void;
  /** Called with the applications whose endpoints have new notices. */
  readonly noticed: (applicationIds: readonly string[]) => void;
  /** How long all results are gathered; by default `usualGatherMs`. */
  readonly gatherMs?: number | undefined;
}

/**
 * Creates a recorder, which writes results in batches. A batch that the storage refuses is retried until it succeeds.
 */
export function createRecorder(options: RecorderOptions): Recorder {
  const { store, log, progressed, noticed, gatherMs } = options;
  let results: AttemptResult[] = [];
  /** The promise that all results of the batch share. */
  let recorded = Promise.withResolvers<void>();
  const endpoints = new Map<string, Endpoint>();
  let notices: NewNotice[] = [];
  let timer: Timer | null = null;
  let isUrgent = false;
  let writing: Promise<void> | null = null;
  let inWriting = 0;
  let isGivenUp = false;

  const write = async (): Promise<void> => {
    const batch = results;
    const batchRecorded = recorded;
    const states = [...endpoints.values()];
    results = [];
    recorded = Promise.withResolvers();
    endpoints.clear();
    const announced = notices;
    notices = [];
    inWriting = batch.length;
    for (;;) {
      try {
        await store.deliveries.record(batch, states, announced);
        if (announced.length > 0) noticed(announced.flatMap(({ application_id }) => application_id ?? []));
        break;
      } catch (error) {
        log.error("record_failed", { deliveries: batch.length, ...errorFields(error) });
        if (isGivenUp) break;
        await Bun.sleep(retryAfterMs);
      }
    }
    inWriting = 0;
    batchRecorded.resolve();
    progressed();
  };

  const flush = (): void => {
    if (timer) clearTimeout(timer);
    timer = null;
    isUrgent = false;
    if (writing || (results.length === 0 && endpoints.size === 0)) return;
    writing = write().finally(() => {
      writing = null;
      if (results.length > 0 || endpoints.size > 0) schedule(true);
    });
  };

  const schedule = (urgently: boolean): void => {
    if (results.length >= maxBatch) {
      // Not at once: the state of the endpoint is added after the result, and must be on disk with it.
      queueMicrotask(flush);
      return;
    }
    if (timer && (isUrgent || !urgently)) return;
    if (timer) clearTimeout(timer);
    isUrgent = urgently;
    timer = setTimeout(flush, gatherMs ?? (urgently ? usualGatherMs.other : usualGatherMs.arrived));
  };

  return {
    get unrecorded() {
      return results.length + inWriting;
    },
    add(result, isAwaited = false) {
      const { promise } = recorded;
      results.push(result);
      schedule(isAwaited || result.status !== "delivered");
      return promise;
    },
    addEndpoint(endpoint, notice = null) {
      endpoints.set(endpoint.application_id, endpoint);
      if (notice) notices.push(notice);
      schedule(notice !== null || endpoint.failing_since !== null);
    },
    async written() {
      await (results.length > 0 ? recorded.promise : writing);
    },
    async settled() {
      while (results.length > 0 || endpoints.size > 0 || writing) {
        flush();
        await writing;
      }
    },
    giveUp() {
      isGivenUp = true;
    },
  };
}
