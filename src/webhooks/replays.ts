import type { Store } from "../store/store.ts";
import { pause, type Service } from "../supervisor.ts";
import type { Dispatcher } from "./dispatcher.ts";

/** Between two steps of a replay, so that what is new gets its turn. */
const stepMs = 50;
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
  const stepAll = async (signal: AbortSignal): Promise<boolean> => {
    let hasMoved = false;
    for (const before of await store.replays.running()) {
      if (signal.aborted) return false;
      const step = await store.replays.advance(before.id, now());
      if (!step?.hasMoved) continue;
      hasMoved = true;
      if (!before.dry_run) dispatcher.wake(before.application_id);
    }
    return hasMoved;
  };
  return {
    name: "replays",
    async run(signal) {
      while (!signal.aborted) await pause((await stepAll(signal)) ? stepMs : idleMs, signal);
    },
  };
}
