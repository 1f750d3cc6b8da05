import type { ServerNoticeData } from "../domain/notices.ts";
import type { Ownership } from "../domain/replicas.ts";
import type { Store } from "../domain/store.ts";
import { minute } from "../domain/time.ts";
import type { Dispatcher } from "./dispatcher.ts";

/** Deliveries are stuck when none was attempted for this long although some are due. */
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
 * Makes a function that looks whether no delivery is attempted although some are due. It announces that, and later that
 * it has ended. To be called every minute.
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
