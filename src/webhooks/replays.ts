import { second } from "../domain/time.ts";
import { pause, type Service } from "../runtime/services.ts";
import type { Ownership } from "../store/replicas/ownership.ts";
import type { Store } from "../store/store.ts";
import type { Dispatcher } from "./dispatcher.ts";

/** The pause between two steps of all replays together, so that any number of them leaves time for new deliveries. */
const stepMs = 25;
/** A replay that cannot go on is asked again after this time, unless something of its application is sent before. */
const busyMs = 200;
/** The pause when no replay can go on; another process may have asked for something. */
const idleMs = second;

/** A service that waits for work, and can be told of some. */
export interface ReplayService extends Service {
  /** A replay was asked for. */
  wake(): void;
  /** What became of a delivery that was asked for is on disk: a replay of its application may go on. */
  goOn(applicationId: string): void;
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
  /** The applications whose replays cannot go on now, as where the endpoint has enough to do, and the ends of their pauses. */
  const busy = new Map<string, Timer>();
  const goOn = (applicationId: string): void => {
    clearTimeout(busy.get(applicationId));
    if (busy.delete(applicationId)) wake();
  };

  /** Advances each replay that can go on by one step; gives the pause until the next round. */
  const round = async (signal: AbortSignal): Promise<number> => {
    let pauseMs = idleMs;
    for (const { id, application_id, dry_run } of await store.replays.running()) {
      if (signal.aborted) break;
      // The endpoint's owner advances a replay. A dry run sends nothing: every replica may, so it begins at once.
      if (!dry_run && (busy.has(application_id) || !ownership.holds(application_id))) continue;
      if (!(await store.replays.advance(id, now()))) {
        if (!dry_run) busy.set(application_id, setTimeout(() => goOn(application_id), busyMs).unref());
        continue;
      }
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
    goOn,
  };
}
