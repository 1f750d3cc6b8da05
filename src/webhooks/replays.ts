import { second } from "../domain/time.ts";
import { pause, type Service } from "../runtime/services.ts";
import type { Ownership } from "../store/replicas/ownership.ts";
import type { Store } from "../store/store.ts";
import type { Dispatcher } from "./dispatcher.ts";

/** The pause between two steps of all replays together, so that any number of them leaves time for new deliveries. */
const stepMs = 25;
/** The pause when the endpoints of all replays have enough to do. */
const busyMs = 200;
/** The pause when there is nothing to replay; another process may have asked for something. */
const idleMs = second;

/** A service that waits for work, and can be told of some. */
export interface ReplayService extends Service {
  /** A replay was asked for. */
  wake(): void;
}

/**
 * The service that advances replays, those of an earlier process too, in small steps: each makes some deliveries due,
 * which the dispatcher then sends like all others.
 */
export function replaying(
  store: Pick<Store, "replays">,
  dispatcher: Pick<Dispatcher, "wake">,
  ownership: Pick<Ownership, "holds">,
  now: () => number,
): ReplayService {
  let waiting = new AbortController();
  const wake = (): void => waiting.abort();

  /** Advances each replay by one step; gives the pause until the next round. */
  const round = async (signal: AbortSignal): Promise<number> => {
    let pauseMs = idleMs;
    for (const { id, application_id, dry_run } of await store.replays.running()) {
      if (signal.aborted) break;
      // The endpoint's owner advances a replay. A dry run sends nothing: every replica may, so it begins at once.
      if (!dry_run && !ownership.holds(application_id)) continue;
      pauseMs = Math.min(pauseMs, busyMs);
      if (!(await store.replays.advance(id, now()))) continue;
      if (!dry_run) dispatcher.wake(application_id);
      pauseMs = 0;
      await pause(stepMs, signal);
    }
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
  };
}
