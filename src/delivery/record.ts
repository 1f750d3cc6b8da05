import type { AttemptResult } from "../domain/deliveries.ts";
import type { Endpoint } from "../domain/endpoints.ts";
import { DomainError } from "../domain/errors.ts";
import type { NewNotice } from "../domain/notices.ts";
import type { Store } from "../domain/store.ts";
import { second } from "../domain/time.ts";
import { inTime } from "../runtime/event-loop.ts";
import { InProgress } from "../runtime/in-progress.ts";
import { errorFields, type Log } from "../runtime/log.ts";
import { systemTimers, type Timers } from "../runtime/timers.ts";
import type { EndpointQueue, Learned } from "./endpoint.ts";
import type { Notices } from "./notices.ts";
import type { SendResult } from "./send/send.ts";

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
  /** For how long the batch that is being written has been tried; 0 for none. */
  readonly writingMs: number;
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
  readonly timers?: Timers | undefined;
  /** A clock that is never set; by default the system's. */
  readonly monotonic?: (() => number) | undefined;
}

/** Results, and the states of endpoints with the notices about them, that are stored in one transaction. */
interface RecordPart {
  readonly results: readonly AttemptResult[];
  readonly states: readonly Endpoint[];
  readonly notices: readonly NewNotice[];
}

/** Divides a part in two; null when it has a single result, or a single state. */
function divided({ results, states, notices }: RecordPart): [RecordPart, RecordPart] | null {
  const middle = Math.ceil(results.length / 2);
  if (results.length > 1) {
    const first = { results: results.slice(0, middle), states: [], notices: [] };
    return [first, { results: results.slice(middle), states, notices }];
  }
  if (results.length === 1 && states.length === 0) return null;
  if (results.length === 1) {
    return [
      { results, states: [], notices: [] },
      { results: [], states, notices },
    ];
  }
  if (states.length < 2) return null;
  const half = Math.ceil(states.length / 2);
  const withNotices = (some: readonly Endpoint[]): RecordPart => {
    const ids = new Set<string | null>(some.map(({ application_id }) => application_id));
    const theirs = notices.filter(({ application_id }) => ids.has(application_id));
    return { results: [], states: some, notices: theirs };
  };
  return [withNotices(states.slice(0, half)), withNotices(states.slice(half))];
}

/** A write that takes longer is tried again. Recording a result twice changes nothing. */
const longestWriteMs = 20 * second;

/** Stores a part. Rejects with `unavailable` when the storage does not answer in time. */
async function recordInTime(
  store: RecorderOptions["store"],
  { results, states, notices }: RecordPart,
  timers: Timers,
): Promise<void> {
  const recorded = store.deliveries.record(results, states, notices).then(() => true);
  if (await inTime(recorded, longestWriteMs, timers)) return;
  throw new DomainError("unavailable", "Results were not recorded in time");
}

/** The end of a delivery whose result cannot be stored as it is. */
function endedUnrecorded(result: AttemptResult): AttemptResult {
  return { ...result, attempt: null, status: "failed", next_attempt_at: null, resume_at: null };
}

/**
 * Creates a recorder, which writes results in batches. While the storage is unavailable, a batch is retried. A result
 * that the storage refuses does not hold up the others: its delivery ends as `failed`, and the log has the reason.
 */
export function createRecorder(options: RecorderOptions): Recorder {
  const { store, log, progressed, noticed, gatherMs, monotonic, timers = systemTimers } = options;
  let results: AttemptResult[] = [];
  /** The promise that all results of the batch share. */
  let recorded = Promise.withResolvers<void>();
  const endpoints = new Map<string, Endpoint>();
  let notices: NewNotice[] = [];
  /** Cancels the timer of the next batch. */
  let cancelTimer: (() => void) | null = null;
  let isUrgent = false;
  let writing: Promise<void> | null = null;
  let inWriting = 0;
  const inProgress = new InProgress(monotonic);
  let isGivenUp = false;

  /**
   * Stores a part of a batch, again and again while the storage is unavailable. A part that is refused is divided, so
   * that a result that cannot be stored is found, and ends as `failed`. Returns the results for which even that is
   * refused.
   */
  const storePart = async (part: RecordPart, isWhole = true): Promise<AttemptResult[]> => {
    for (;;) {
      try {
        await recordInTime(store, part, timers);
        if (part.notices.length > 0)
          noticed(part.notices.flatMap(({ application_id }) => application_id ?? []));
        return [];
      } catch (error) {
        const isPassing = error instanceof DomainError && error.code === "unavailable";
        // The parts of a refused batch are not logged, but each result that is the reason.
        if (isWhole || isPassing) log.failure("record_failed", error, { deliveries: part.results.length });
        if (isGivenUp) return [];
        if (!isPassing) return storeDivided(part, error);
        await timers.pause(retryAfterMs);
      }
    }
  };

  const storeDivided = async (part: RecordPart, error: unknown): Promise<AttemptResult[]> => {
    const parts = divided(part);
    if (parts !== null) return [...(await storePart(parts[0], false)), ...(await storePart(parts[1], false))];
    const [result] = part.results;
    if (result === undefined) {
      const application_id = part.states[0]?.application_id;
      const fields = { application_id, ...errorFields(error) };
      log.repeated("error", "endpoint_state_refused", String(application_id), fields);
      return [];
    }
    const ended = endedUnrecorded(result);
    try {
      await recordInTime(store, { results: [ended], states: [], notices: [] }, timers);
      const fields = { seq: result.seq, status: ended.status, ...errorFields(error) };
      log.repeated("error", "result_refused", String(result.seq), fields);
      return [];
    } catch {
      return isGivenUp ? [] : [result];
    }
  };

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
    const refused = await storePart({ results: batch, states, notices: announced });
    if (refused.length > 0) {
      // They are tried again beside later results, which do not wait for them.
      await timers.pause(retryAfterMs);
      results.unshift(...refused);
    }
    inWriting = 0;
    batchRecorded.resolve();
    progressed();
  };

  const flush = (): void => {
    cancelTimer?.();
    cancelTimer = null;
    isUrgent = false;
    if (writing || (results.length === 0 && endpoints.size === 0)) return;
    writing = inProgress.add(write()).finally(() => {
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
    if (cancelTimer && (isUrgent || !urgently)) return;
    cancelTimer?.();
    isUrgent = urgently;
    const ms = gatherMs ?? (urgently ? usualGatherMs.other : usualGatherMs.arrived);
    cancelTimer = timers.after(ms, flush);
  };

  return {
    get unrecorded() {
      return results.length + inWriting;
    },
    get writingMs() {
      return inProgress.oldestMs;
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

interface EndpointReport {
  readonly queue: EndpointQueue;
  readonly learned: Learned;
  readonly sent: Pick<SendResult, "status" | "error">;
  readonly at: number;
}

interface Reporting {
  readonly recorder: Pick<Recorder, "addEndpoint">;
  readonly notices: Notices;
  readonly log: Log;
}

/** Records what an attempt that ended at `at` has changed about its endpoint, and logs the notice of that. */
export function recordEndpoint(
  { queue, learned: { endpoint, notice }, sent: { status, error }, at }: EndpointReport,
  { recorder, notices, log }: Reporting,
): void {
  if (endpoint === null) return;
  const { recipient } = queue;
  recorder.addEndpoint(
    endpoint,
    notice && recipient ? notices.ofEndpoint(notice, endpoint, recipient, at) : null,
  );
  if (!notice) return;
  const { application_id, failing_since, failures, disabled_reason } = endpoint;
  log.warn(notice, { application_id, failing_since, failures, disabled_reason, status, error });
}
