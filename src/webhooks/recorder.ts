import type { AttemptResult } from "../domain/deliveries.ts";
import type { Endpoint } from "../domain/endpoints.ts";
import type { NewNotice } from "../domain/operations/notices.ts";
import { second } from "../domain/time.ts";
import { errorFields, type Log } from "../log/log.ts";
import type { Store } from "../store/store.ts";

/**
 * Results are gathered for this time: a sync for each would cost more than everything else together. Nothing waits for
 * what has arrived, unless a replay does; what has not is to be tried again, and its endpoint has a new state.
 */
const usualGatherMs = { arrived: 250, other: 20 };
const maxBatch = 1_024;
const retryAfterMs = second;

export interface Recorder {
  /** How many results are not on disk yet. */
  readonly unrecorded: number;
  /**
   * Keeps a result with the next batch, which is written sooner where the result is awaited. Resolves when it is on disk, or
   * after `giveUp` could not be written; never rejects.
   */
  add(result: AttemptResult, isAwaited?: boolean): Promise<void>;
  /** Keeps the state of an endpoint, and the notice about it, together with the next results. */
  addEndpoint(endpoint: Endpoint, notice?: NewNotice | null): void;
  /** Resolves when everything that was added is on disk, or has been tried once after `giveUp`. */
  settled(): Promise<void>;
  /** Ends the retries: what is not recorded by now is sent again after the next start. */
  giveUp(): void;
}

interface RecorderOptions {
  readonly store: Pick<Store, "deliveries">;
  readonly log: Log;
  /** Called whenever fewer results are unrecorded. */
  readonly progressed: () => void;
  /** Called with the applications about which there are new notices. */
  readonly noticed?: ((applicationIds: readonly string[]) => void) | undefined;
  /** How long results are gathered, whatever they are: `usualGatherMs` unless given. */
  readonly gatherMs?: number | undefined;
}

/** Records results in batches. When the storage refuses a batch, it is written again until it is kept. */
export function createRecorder(options: RecorderOptions): Recorder {
  const { store, log, progressed, noticed = () => {}, gatherMs } = options;
  let results: AttemptResult[] = [];
  /** Of the batch that is being gathered: all of its results share one promise. */
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
      flush();
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
