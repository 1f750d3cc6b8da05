import type { AttemptResult, DueDelivery } from "../domain/deliveries.ts";
import type { Endpoint } from "../domain/endpoints.ts";
import { DomainError } from "../domain/errors.ts";
import { idTime } from "../domain/ids.ts";
import { type EndpointNotice, endpointNotices, type NewNotice } from "../domain/notices.ts";
import { BoundedCounts, type Exemplar, type Histogram, newHistogram, observe } from "../domain/statistics.ts";
import type { Store } from "../domain/store.ts";
import { second } from "../domain/time.ts";
import { InProgress, inTime, systemTimers, type Timers } from "../runtime/event-loop.ts";
import { errorFields, type Log } from "../runtime/log.ts";
import type { EndpointQueue, Learned } from "./endpoint.ts";
import type { Notices } from "./notices.ts";
import { outcomeClasses, type SendResult } from "./send/send.ts";

/**
 * How long results are gathered, because a sync for each result would cost more than all other work. Nothing waits for
 * the result of a delivery that arrived, unless a person requested it. Other results are recorded sooner: they lead
 * to retries and change the state of endpoints.
 */
const usualGatherMs = { arrived: 250, other: 20 };
/** The number of results at which a batch is written at once. */
const maxBatch = 1_024;
/** The wait after a failed write. */
const retryAfterMs = second;

/**
 * The wait before the first new try of rows that another transaction has locked. Each further wait is twice as long, up
 * to `retryAfterMs`. Most transactions are short, such as a change of the application.
 */
const firstTryMs = 20;

export interface Recorder {
  /** The number of results that are not on disk yet, and of states of endpoints that another transaction locks. */
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
  /** Drops the state of an endpoint that another process owns now, unless it is being written. */
  dropEndpoint(applicationId: string): void;
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

const nothing: RecordPart = { results: [], states: [], notices: [] };

/** The number of results and states of a part. Notices are not counted, because each belongs to a state. */
const rowsOf = ({ results, states }: RecordPart): number => results.length + states.length;

/** What is left of a part after a try. */
interface Rest {
  /** What other transactions lock. */
  readonly locked: RecordPart;
  /** Results that the storage refuses, even as the end of their delivery. */
  readonly refused: readonly AttemptResult[];
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

const joined = (a: Rest, b: Rest): Rest => ({
  locked: {
    results: [...a.locked.results, ...b.locked.results],
    states: [...a.locked.states, ...b.locked.states],
    notices: [...a.locked.notices, ...b.locked.notices],
  },
  refused: [...a.refused, ...b.refused],
});

/** The time limit of a write. A write that takes longer is tried again. Recording a result twice changes nothing. */
const longestWriteMs = 20 * second;

/**
 * Stores a part. Returns the rest of it, which other transactions lock and which is not stored yet. Rejects with
 * `unavailable` when the storage does not answer in time.
 */
async function recordInTime(
  store: RecorderOptions["store"],
  part: RecordPart,
  timers: Timers,
): Promise<RecordPart> {
  const { results, states, notices } = part;
  let locked = nothing;
  const recorded = store.deliveries
    .record(results, states, notices, ({ seqs, applicationIds }) => {
      locked = {
        results: results.filter(({ seq }) => seqs.has(seq)),
        states: states.filter(({ application_id }) => applicationIds.has(application_id)),
        notices: notices.filter(({ application_id }) => applicationIds.has(application_id ?? "")),
      };
    })
    .then(() => true);
  if (await inTime(recorded, longestWriteMs, timers)) return locked;
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
  /** The ends of the waits for results that other transactions lock, by `seq`. */
  const lockedEnds = new Map<number, PromiseWithResolvers<void>>();
  /**
   * The states of endpoints that other transactions lock, by application, one map for each part. A later state of the
   * same generation takes the place of an earlier one: a notice is stored only with the state that the store then has.
   */
  const lockedStates = new Set<Map<string, Endpoint>>();
  /** The number of results and states of endpoints that other transactions lock. */
  let lockedRows = 0;

  /**
   * Stores a part of a batch, again and again while the storage is unavailable. A part that is refused is divided, so
   * that a result that cannot be stored is found, and ends as `failed`.
   */
  const storePart = async (part: RecordPart, isWhole = true): Promise<Rest> => {
    for (;;) {
      try {
        const locked = await recordInTime(store, part, timers);
        const made = part.notices.filter((notice) => !locked.notices.includes(notice));
        if (made.length > 0) noticed(made.flatMap(({ application_id }) => application_id ?? []));
        return { locked, refused: [] };
      } catch (error) {
        const isPassing = error instanceof DomainError && error.code === "unavailable";
        // Of a refused batch, each result that is the reason is logged, and not each part.
        if (isWhole || isPassing) log.failure("record_failed", error, { deliveries: part.results.length });
        if (isGivenUp) return { locked: nothing, refused: [] };
        if (!isPassing) return storeDivided(part, error);
        await timers.pause(retryAfterMs);
      }
    }
  };

  const storeDivided = async (part: RecordPart, error: unknown): Promise<Rest> => {
    const parts = divided(part);
    if (parts !== null) return joined(await storePart(parts[0], false), await storePart(parts[1], false));
    const [result] = part.results;
    if (result === undefined) {
      const application_id = part.states[0]?.application_id;
      const fields = { application_id, ...errorFields(error) };
      log.repeated("error", "endpoint_state_refused", String(application_id), fields);
      return { locked: nothing, refused: [] };
    }
    const ended = endedUnrecorded(result);
    try {
      const locked = await recordInTime(store, { results: [ended], states: [], notices: [] }, timers);
      const fields = { seq: result.seq, status: ended.status, ...errorFields(error) };
      log.repeated("error", "result_refused", String(result.seq), fields);
      return { locked, refused: [] };
    } catch {
      return { locked: nothing, refused: isGivenUp ? [] : [result] };
    }
  };

  /** Notes a later state of an endpoint for the next tries of an earlier one. */
  const replaceLocked = (state: Endpoint): void => {
    const { application_id: id, generation } = state;
    for (const states of lockedStates) if (states.get(id)?.generation === generation) states.set(id, state);
  };

  /** Tries to store what other transactions lock, again and again beside later batches, which do not wait for it. */
  const storeLocked = async (part: RecordPart): Promise<void> => {
    for (const { seq } of part.results) lockedEnds.set(seq, Promise.withResolvers());
    lockedRows += rowsOf(part);
    const states = new Map(part.states.map((state) => [state.application_id, state]));
    lockedStates.add(states);
    for (const state of endpoints.values()) replaceLocked(state);
    let left = part;
    for (let waitMs = firstTryMs; rowsOf(left) > 0; waitMs = Math.min(2 * waitMs, retryAfterMs)) {
      await timers.pause(waitMs);
      const rest = await storePart({ ...left, states: [...states.values()] });
      results.unshift(...rest.refused);
      if (rest.refused.length > 0) schedule(true);
      const locked = isGivenUp ? nothing : rest.locked;
      const seqs = new Set(locked.results.map(({ seq }) => seq));
      for (const { seq } of left.results) {
        if (seqs.has(seq)) continue;
        lockedEnds.get(seq)?.resolve();
        lockedEnds.delete(seq);
      }
      const ids = new Set(locked.states.map(({ application_id }) => application_id));
      for (const id of states.keys()) if (!ids.has(id)) states.delete(id);
      lockedRows += rowsOf(locked) - rowsOf(left);
      left = locked;
      progressed();
    }
    lockedStates.delete(states);
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
    const begunAt = inProgress.now();
    const { locked, refused } = await storePart({ results: batch, states, notices: announced });
    if (!isGivenUp && rowsOf(locked) > 0) void inProgress.add(storeLocked(locked), begunAt);
    if (refused.length > 0) {
      // Refused results are tried again beside later results, which do not wait for them.
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
      // Not at once: the state of the endpoint is added after the result, and must be on disk together with the result.
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
      return results.length + inWriting + lockedRows;
    },
    get writingMs() {
      return inProgress.oldestMs;
    },
    add(result, isAwaited = false) {
      const { promise } = recorded;
      results.push(result);
      schedule(isAwaited || result.status !== "delivered");
      return promise.then(() => lockedEnds.get(result.seq)?.promise);
    },
    addEndpoint(endpoint, notice = null) {
      endpoints.set(endpoint.application_id, endpoint);
      replaceLocked(endpoint);
      if (notice) notices.push(notice);
      schedule(notice !== null || endpoint.failing_since !== null);
    },
    dropEndpoint(applicationId) {
      endpoints.delete(applicationId);
      for (const states of lockedStates) states.delete(applicationId);
    },
    async written() {
      await (results.length > 0 ? recorded.promise : writing);
    },
    async settled() {
      while (results.length > 0 || endpoints.size > 0 || writing || lockedRows > 0) {
        flush();
        await (writing ?? timers.pause(retryAfterMs));
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

/** Records what an attempt that ended at `at` has changed about its endpoint. Logs the notice about the change. */
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

/** Counters since the start, for `/metrics`. */
export interface Counts {
  /** Attempts by their class of outcome. */
  readonly attempts: Readonly<Record<string, number>>;
  /** Deliveries that have ended, by final state. */
  readonly finished: Readonly<Record<string, number>>;
  /** Notices about endpoints. */
  readonly notices: Readonly<Record<string, number>>;
  /** Attempts that failed, by application. */
  readonly failures: Readonly<Record<string, number>>;
  /** The duration of attempts, in seconds. */
  readonly attemptSeconds: Histogram;
  /** The time from publishing to arrival, in seconds, by whether the first attempt or a later attempt arrived. */
  readonly arrivalSeconds: Readonly<Record<"first" | "later", Histogram>>;
}

/** The outcome of an attempt, or of a delivery that ended without an attempt. */
export interface EndedDelivery {
  readonly delivery: DueDelivery;
  readonly result: AttemptResult;
  /** null if the delivery ended without an attempt. */
  readonly sent: SendResult | null;
  /** null if the attempt is not traced. */
  readonly traceId: string | null;
}

const attemptBounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15] as const;
const arrivalBounds = [...attemptBounds.slice(0, -1), 30, 60, 300, 3_600, 43_200] as const;

const zeros = (names: readonly string[]): Record<string, number> =>
  Object.fromEntries(names.map((name) => [name, 0]));

/** Counts attempts, finished deliveries and notices. */
export class DeliveryCounter {
  readonly #attempts = zeros(outcomeClasses);
  readonly #finished = zeros(["delivered", "failed", "expired", "canceled"]);
  readonly #notices = zeros(endpointNotices);
  readonly #failures = new BoundedCounts();
  readonly #attemptSeconds = newHistogram(attemptBounds);
  readonly #arrivalSeconds = { first: newHistogram(arrivalBounds), later: newHistogram(arrivalBounds) };

  /** Counts an attempt, or the end of a delivery. */
  ended({ delivery, result, sent, traceId }: EndedDelivery, now: number): void {
    const { status, attempts } = result;
    if (status !== "pending") add(this.#finished, status);
    if (!sent) return;
    add(this.#attempts, sent.class);
    const labels = { delivery_id: delivery.id, ...(traceId !== null && { trace_id: traceId }) };
    const exemplar: Omit<Exemplar, "value"> = { labels, at: now };
    observe(this.#attemptSeconds, sent.durationMs / 1000, exemplar);
    if (sent.class !== "ok") {
      this.#failures.count(delivery.application_id, now);
      return;
    }
    // The id contains the time of publishing.
    const arrivalMs = Math.max(0, now - idTime(delivery.id));
    observe(this.#arrivalSeconds[attempts === 1 ? "first" : "later"], arrivalMs / 1000, exemplar);
  }

  /** Counts a notice. */
  notice(notice: EndpointNotice): void {
    add(this.#notices, notice);
  }

  get counts(): Counts {
    return {
      attempts: this.#attempts,
      finished: this.#finished,
      notices: this.#notices,
      failures: this.#failures.counts(),
      attemptSeconds: this.#attemptSeconds,
      arrivalSeconds: this.#arrivalSeconds,
    };
  }
}

function add(counts: Record<string, number>, name: string): void {
  counts[name] = (counts[name] ?? 0) + 1;
}
