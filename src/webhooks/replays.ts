import type { Ownership } from "../store/replicas/ownership.ts";
import type { Store } from "../store/store.ts";
import { pause, type Service } from "../supervisor.ts";
import type { Dispatcher } from "./dispatcher.ts";

/** The pause between two steps of all replays together, so that any number of them leaves time for new deliveries. */
const stepMs = 25;
/** The pause when there is nothing to replay, or the endpoints of all replays have enough to do. */
const idleMs = 200;

/**
 * The service that advances replays, those of an earlier process too, in small steps: each makes some deliveries due,
 * which the dispatcher then sends like all others.
 */
export function replaying(
  store: Pick<Store, "replays">,
  dispatcher: Pick<Dispatcher, "wake">,
  ownership: Pick<Ownership, "holds">,
  now: () => number,
): Service {
  /** Advances each replay by one step; false: none of them could take one. */
  const round = async (signal: AbortSignal): Promise<boolean> => {
    let hasMoved = false;
    for (const { id, application_id, dry_run } of await store.replays.running()) {
      if (signal.aborted) return false;
      // Its owner advances it.
      if (!ownership.holds(application_id)) continue;
      if (!(await store.replays.advance(id, now()))) continue;
      if (!dry_run) dispatcher.wake(application_id);
      hasMoved = true;
      await pause(stepMs, signal);
    }
    return hasMoved;
  };
  return {
    name: "replays",
    async run(signal) {
      while (!signal.aborted) if (!(await round(signal))) await pause(idleMs, signal);
    },
  };
}
