import type { Retention } from "../domain/deliveries.ts";
import { noticeLimits, type ServerNoticeData } from "../domain/notices.ts";
import type { Ownership } from "../domain/replicas.ts";
import type { RequestCounter } from "../domain/requests.ts";
import type { StatisticCounter, StatisticRow } from "../domain/statistics.ts";
import type { Store } from "../domain/store.ts";
import { hour, minute, second } from "../domain/time.ts";
import { systemTimers, type Timers } from "../runtime/event-loop.ts";
import type { Log } from "../runtime/log.ts";
import { repeating, type Service } from "../runtime/services.ts";
import type { Dispatcher } from "./attempt.ts";

/** How long data is kept, and its maximum size. */
export interface MaintenanceSettings {
  readonly retention: Retention;
  /** The maximum size of the data; null for no limit. */
  readonly maxDataBytes: number | null;
  /** How long the audit log is kept. */
  readonly auditMs: number;
}

/** The pauses of a clean-up: after each step, which leaves time for other work, and after a whole pass. */
const cleaning = { stepMs: 5, everyMs: minute };

/** The pauses of trimming to the maximum data size, which must follow growth soon. */
const sizing = { stepMs: 5, everyMs: second };

/** The pauses of releasing free pages, where each step moves other pages. */
const shrinking = { stepMs: 100, everyMs: minute };

/** The pauses of merging the search index, whose steps are longer. */
const tidying = { stepMs: 20, everyMs: 10 * second };

/** The pauses of removing idempotency keys, which are kept for days. */
const hourly = { stepMs: 5, everyMs: hour };

/** How long an order is kept: more than the 5 minutes of a pagination, because its use is noted only once a minute. */
const orderKeepMs = 7 * minute;

interface MaintenanceOptions {
  readonly store: Store;
  readonly ownership: Pick<Ownership, "leads">;
  readonly settings: MaintenanceSettings;
  readonly now: () => number;
  readonly timers: Timers;
}

/** Returns the services that remove old data and tidy the search index. */
export function maintenance({ store, ownership, settings, now, timers }: MaintenanceOptions): Service[] {
  const { retention, maxDataBytes, auditMs } = settings;
  /** Returns a service that runs small steps while this process leads. The last step of a pass resolves to true. */
  const inSteps = (name: string, step: () => Promise<boolean>, { stepMs, everyMs } = cleaning): Service => ({
    name,
    async run(signal) {
      while (!signal.aborted) {
        const isDone = !ownership.leads() || (await step());
        await timers.pause(isDone ? everyMs : stepMs, signal);
      }
    },
  });
  return [
    inSteps("expired tokens", () => store.tokens.removeExpired(now())),
    inSteps("idempotency keys", async () => (await store.idempotency.removeExpired(now())) === 0, hourly),
    inSteps("notices", () => store.notices.prune(now() - noticeLimits.keepMs)),
    inSteps("audit", () => store.audit.prune(now() - auditMs)),
    inSteps("old statistics", () => store.statistics.prune(now())),
    inSteps("orders of categories", () => store.orders.prune(now() - orderKeepMs)),
    inSteps("retention", () => store.retention.prune(retention, now())),
    ...(maxDataBytes === null
      ? []
      : [inSteps("data size", () => store.retention.trim(maxDataBytes), sizing)]),
    inSteps("free pages", () => store.retention.shrink(), shrinking),
    // A step does nothing while users are being changed.
    inSteps("search index", async () => !(await store.users.tidySearch()), tidying),
  ];
}

/** The interval at which counts are stored. A crash loses the counts since the last time. */
const storeEveryMs = 10 * second;
/** The most rows of one commit. */
const rowsAtOnce = 200;

/** A row of requests has a whole day, so it is written less often. */
const storeRequestsEveryMs = minute;
/** The most applications of one commit: each row is read, parsed and written again, and other commits wait for it. */
const applicationsAtOnce = 5;

/**
 * Returns the service that stores the counts of a counter at intervals and when it is stopped.
 *
 * @param stored called after each interval with the stored rows, perhaps none
 */
export function storingStatistics(
  counter: StatisticCounter,
  store: Pick<Store, "statistics">,
  log: Log,
  stored: (rows: readonly StatisticRow[]) => void,
  timers: Timers = systemTimers,
): Service {
  const flush = async (): Promise<void> => {
    const rows = counter.take();
    for (let at = 0; at < rows.length; at += rowsAtOnce) {
      try {
        await store.statistics.add(rows.slice(at, at + rowsAtOnce));
      } catch (error) {
        // The remaining counts are lost: they are not worth retries.
        return log.failure("statistics_failed", error, { rows: rows.length - at });
      }
    }
    stored(rows);
  };
  return flushing("statistics", storeEveryMs, flush, timers);
}

/** Returns the service that stores the requests of applications at intervals and when it is stopped. */
export function storingRequests(
  counter: RequestCounter,
  store: Pick<Store, "requests">,
  log: Log,
  timers: Timers = systemTimers,
): Service {
  const flush = async (): Promise<void> => {
    // Requests that are counted meanwhile are stored the next time.
    for (let left = counter.size; left > 0; left -= applicationsAtOnce) {
      // Taken only now, so that until their own commit they are read from the counter.
      const taken = counter.take(Math.min(left, applicationsAtOnce));
      try {
        await store.requests.add(taken, counter.now());
      } catch (error) {
        // These are lost: they are not worth retries.
        return log.failure("statistics_failed", error, { rows: taken.length });
      }
    }
  };
  return flushing("requests", storeRequestsEveryMs, flush, timers);
}

/** Returns a service that calls `flush` at intervals and when it is stopped. */
function flushing(name: string, everyMs: number, flush: () => Promise<void>, timers: Timers): Service {
  return {
    name,
    async run(signal) {
      await repeating(name, everyMs, flush, timers).run(signal);
      await flush();
      // What was counted while the last counts were being stored.
      await flush();
    },
  };
}

/** Deliveries are stuck when some are due and none was attempted for this long. */
const stuckAfterMs = 10 * minute;

interface StuckWatchOptions {
  readonly store: Pick<Store, "deliveries">;
  readonly dispatcher: Pick<Dispatcher, "stats" | "isSuspended">;
  readonly ownership: Pick<Ownership, "holds">;
  readonly now: () => number;
  /** Whether sending is suspended. */
  readonly isHeld: () => boolean;
  readonly announce: (type: "deliveries.stuck" | "deliveries.resumed", data: ServerNoticeData) => void;
}

/**
 * Makes a function that looks whether deliveries are due and none is attempted. The function announces when that begins
 * and when it ends. To be called every minute.
 */
export function stuckWatch(options: StuckWatchOptions): () => Promise<void> {
  const { store, dispatcher, ownership, now, announce, isHeld } = options;
  let attempts = -1;
  let since = now();
  let isStuck = false;

  /** Returns the number of applications with deliveries that are due and could be sent. */
  const waiting = async (): Promise<number> => {
    const pending = await store.deliveries.pending();
    return pending.filter(
      ({ application_id, due_at }) =>
        due_at <= since && ownership.holds(application_id) && !dispatcher.isSuspended(application_id),
    ).length;
  };

  return async () => {
    const { counts } = dispatcher.stats;
    const made = Object.values(counts.attempts).reduce((sum, many) => sum + many, 0);
    const at = now();
    if (made !== attempts || isHeld()) {
      attempts = made;
      since = at;
      if (isStuck) {
        announce("deliveries.resumed", { summary: "Deliveries are attempted again.", advice: null });
      }
      isStuck = false;
      return;
    }
    if (isStuck || at - since < stuckAfterMs) return;
    const applications = await waiting();
    if (applications === 0) {
      since = at;
      return;
    }
    isStuck = true;
    const minutes = Math.floor((at - since) / minute);
    const counted = applications === 1 ? "1 application" : `${applications} applications`;
    announce("deliveries.stuck", {
      summary: `No delivery was attempted for ${minutes} minutes, although deliveries of ${counted} are due.`,
      advice: "Look at /readyz, the log and onair doctor; if the storage works, restart the server.",
      applications,
    });
  };
}
