import type { Store } from "../store/store.ts";
import { pause, type Service } from "../supervisor.ts";
import type { Dispatcher } from "./dispatcher.ts";

/** Between two steps, of all replays together, so that however many there are, what is new gets its turn. */
const stepMs = 25;
/** Nothing is to be replayed, or the endpoints of all replays have enough to do. */
const idleMs = 200;

/**
 * The service that goes on with replays, those of an earlier process too: in small steps, each of which makes some
 * deliveries due and has the dispatcher send them like all others.
 */
export function replaying(
  store: Pick<Store, "replays">,
  dispatcher: Pick<Dispatcher, "wake">,
  now: () => number,
): Service {
  /** Gives each replay its turn; false: none of them could take a step. */
  const round = async (signal: AbortSignal): Promise<boolean> => {
    let hasMoved = false;
    for (const { id, application_id, dry_run } of await store.replays.running()) {
      if (signal.aborted) return false;
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
