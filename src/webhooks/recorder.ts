import type { AttemptResult } from "../domain/deliveries.ts";
import type { Endpoint } from "../domain/endpoints.ts";
import { second } from "../domain/time.ts";
import { errorFields, type Log } from "../log.ts";
import type { Store } from "../store/store.ts";

/** Results are gathered for so long: a sync for each would cost more than all the rest. */
const gatherMs = 20;
const mostTogether = 1_024;
const againAfterMs = second;

export interface Recorder {
  /** How many results are not on disk yet. */
  readonly unrecorded: number;
  /** Keeps a result soon; `recorded` is called once it is on disk. */
  add(result: AttemptResult, recorded?: () => void): void;
  /** Keeps the state of an endpoint together with the next results. */
  addEndpoint(endpoint: Endpoint): void;
  /** Resolves when everything that was added is on disk, or has been tried once after `giveUp`. */
  settled(): Promise<void>;
  /** Nothing is tried again any more: what is not recorded now will be sent again after the next start. */
  giveUp(): void;
}

/**
 * Records results in batches. When the storage refuses, it tries again until they are kept.
 *
 * @param progressed called whenever fewer are unrecorded
 */
export function createRecorder(store: Pick<Store, "deliveries">, log: Log, progressed: () => void): Recorder {
  let results: { result: AttemptResult; recorded: (() => void) | undefined }[] = [];
  const endpoints = new Map<string, Endpoint>();
  let timer: Timer | null = null;
  let writing: Promise<void> | null = null;
  let inWriting = 0;
  let isGivenUp = false;

  const write = async (): Promise<void> => {
    const batch = results;
    const states = [...endpoints.values()];
    results = [];
    endpoints.clear();
    inWriting = batch.length;
    for (;;) {
      try {
        await store.deliveries.record(
          batch.map(({ result }) => result),
          states,
        );
        break;
      } catch (error) {
        log.error("record_failed", { deliveries: batch.length, ...errorFields(error) });
        if (isGivenUp) break;
        await Bun.sleep(againAfterMs);
      }
    }
    inWriting = 0;
    for (const { recorded } of batch) recorded?.();
    progressed();
  };

  const flush = (): void => {
    if (timer) clearTimeout(timer);
    timer = null;
    if (writing || (results.length === 0 && endpoints.size === 0)) return;
    writing = write().finally(() => {
      writing = null;
      if (results.length > 0 || endpoints.size > 0) schedule();
    });
  };

  const schedule = (): void => {
    if (results.length >= mostTogether) flush();
    else timer ??= setTimeout(flush, gatherMs);
  };

  return {
    get unrecorded() {
      return results.length + inWriting;
    },
    add(result, recorded) {
      results.push({ result, recorded });
      schedule();
    },
    addEndpoint(endpoint) {
      endpoints.set(endpoint.application_id, endpoint);
      schedule();
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
