import type { Replay } from "../domain/replays.ts";
import type { Ownership } from "../domain/replicas.ts";
import type { Store } from "../domain/store.ts";
import { second } from "../domain/time.ts";
import type { Timers } from "../runtime/event-loop.ts";
import type { Service } from "../runtime/services.ts";
import type { Dispatcher } from "./attempt.ts";

/** The pause after each step of any replay, so that any number of replays leaves time for new deliveries. */
const stepMs = 25;
/** A replay that cannot advance is tried again after this time, or when a result of its application is recorded. */
const busyMs = 200;
/** A replay whose step has failed is tried again after this time at the earliest. */
const failedMs = 10 * second;
/** How many times as long as a failed step took its replay is not tried again, and no other of its application. */
const failedTimes = 10;
/** The longest time that a step may have taken for the storage. A process that was suspended has waited longer. */
const longestStepMs = 15 * second;
/** The pause when no replay can advance. After it, replays that another process created are looked for. */
const idleMs = second;

/** The service that advances replays. */
interface ReplayService extends Service {
  /** Looks for a new replay now. */
  wake(): void;
  /** Tries the replays of an application again, because the result of a requested attempt is on disk. */
  resume(applicationId: string): void;
}

interface ReplayOptions {
  readonly store: Pick<Store, "replays">;
  readonly dispatcher: Pick<Dispatcher, "wake">;
  readonly ownership: Pick<Ownership, "holds">;
  readonly now: () => number;
  /** A clock that is never set, in milliseconds. */
  readonly monotonic: () => number;
  readonly timers: Timers;
}

/**
 * Creates the service that advances replays in small steps, also those of an earlier process. Each step makes some
 * deliveries due, which the dispatcher then sends like all others.
 */
export function replaying({
  store,
  dispatcher,
  ownership,
  now,
  monotonic,
  timers,
}: ReplayOptions): ReplayService {
  const { after, pause } = timers;
  let waiting = new AbortController();
  const wake = (): void => waiting.abort();
  /** The applications whose replays cannot advance now, with what cancels their next tries. */
  const busy = new Map<string, () => void>();
  /** The replays whose last step has failed, and their applications, until they are tried again. */
  const failed = new Set<string>();
  /** The replays that have failed and not advanced since. When one of them advances, all are tried again. */
  const troubled = new Set<string>();
  let recovery = new AbortController();
  const resume = (applicationId: string): void => {
    busy.get(applicationId)?.();
    if (busy.delete(applicationId)) wake();
  };

  /**
   * A step that fails may have waited long for the storage, while all other replays waited for it. So all failing
   * replays together get about a tenth of the time. What holds one replay often holds all of its application: these are
   * tried one at a time, each later than the next one, so that one that can advance does.
   */
  const noteFailed = ({ id, application_id, dry_run }: Replay, tookMs: number, signal: AbortSignal): void => {
    const untilRecovery = AbortSignal.any([signal, recovery.signal]);
    const leaveFor = (key: string, ms: number): void => {
      failed.add(key);
      void pause(ms, untilRecovery).then(() => failed.delete(key));
    };
    troubled.add(id);
    const waitMs = failedTimes * Math.min(tookMs, longestStepMs);
    if (!dry_run) leaveFor(application_id, waitMs);
    leaveFor(id, Math.max(failedMs, waitMs * (failed.size + 1)));
  };

  /**
   * Advances each replay by one step, if it can. Returns the pause until the next round. Rejects with the first failure
   * of a step, after the steps of all other replays: the service is then restarted.
   */
  const round = async (signal: AbortSignal): Promise<number> => {
    let pauseMs = idleMs;
    const errors: unknown[] = [];
    const running = await store.replays.running();
    for (const id of troubled) if (!running.some((replay) => replay.id === id)) troubled.delete(id);
    for (const replay of running) {
      const { id, application_id, dry_run } = replay;
      if (signal.aborted) break;
      if (failed.has(id)) continue;
      // The endpoint's owner advances a replay. A dry run sends nothing, so any replica may advance it at once.
      if (!dry_run && (failed.has(application_id) || busy.has(application_id))) continue;
      if (!dry_run && !ownership.holds(application_id)) continue;
      const beganAt = monotonic();
      const isAdvanced = await store.replays.advance(id, now()).catch((error: unknown) => {
        errors.push(error);
        noteFailed(replay, monotonic() - beganAt, signal);
        return false;
      });
      if (!isAdvanced) {
        if (!dry_run && !failed.has(id))
          busy.set(
            application_id,
            after(busyMs, () => resume(application_id)),
          );
        continue;
      }
      if (troubled.delete(id)) {
        recovery.abort();
        recovery = new AbortController();
      }
      if (!dry_run) dispatcher.wake(application_id);
      pauseMs = 0;
      await pause(stepMs, signal);
    }
    if (errors.length > 0) throw errors[0];
    return pauseMs;
  };
  return {
    name: "replays",
    async run(signal) {
      signal.addEventListener("abort", wake, { once: true });
      while (!signal.aborted) {
        waiting = new AbortController();
        const pauseMs = await round(signal);
        if (pauseMs > 0) await pause(pauseMs, waiting.signal);
      }
    },
    wake,
    resume,
  };
}
