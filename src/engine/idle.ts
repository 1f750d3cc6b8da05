import { DomainError } from "../domain/errors.ts";
import { openStore } from "../store/sqlite/store.ts";
import { newCounts } from "../webhooks/counts.ts";
import { publishing } from "../webhooks/publisher.ts";
import { type Engine, watched } from "./engine.ts";

/**
 * The engine of a data directory that nobody serves: it writes, and leaves what is to be delivered to the next server.
 * Throws when the directory cannot be used.
 */
export function idleEngine(directory: string): Engine {
  const store = openStore(directory);
  const dispatcher = {
    reserve: () => ({ takes: () => false, end() {} }),
    applicationChanged() {},
    subscriptionsRemoved() {},
    hurry() {},
  };
  return {
    async start() {},
    store: watched(store, dispatcher),
    ...publishing(store, dispatcher),
    onStreamed() {},
    async enable(id) {
      await store.endpoints.enable(id, Date.now());
    },
    async wake() {},
    async test() {
      throw new DomainError("unavailable", "Nothing is sent from a data directory that nobody serves");
    },
    standing: async () => ({ inFlight: 0, queued: 0, unrecorded: 0, heldUp: 0, counts: newCounts() }),
    checkStorage: async () => null,
    stop: () => store.close(),
  };
}
