import { DomainError } from "../domain/errors.ts";
import { newHistogram } from "../domain/statistics.ts";
import type { Store } from "../domain/store.ts";
import { noSpans } from "../runtime/tracing.ts";
import { withEffects } from "../store/effects.ts";
import type { Engine } from "./engine.ts";
import { publishToEngine } from "./publish.ts";
import { DeliveryCounter } from "./record.ts";

/** Returns an engine for data that no server runs on. It writes, and leaves deliveries to the next server. */
export function idleEngine(store: Store): Engine {
  const dispatcher = {
    reserve: () => ({ reserveSlot: () => false, end() {} }),
    outcomeUnknown() {},
  };
  return {
    started: Promise.resolve(),
    store: withEffects({ reads: store, writes: store }),
    ...publishToEngine(store, dispatcher),
    observe() {},
    broadcast() {},
    async watchOutcomes() {},
    async enable(id) {
      await store.endpoints.enable(id, Date.now());
    },
    async test() {
      throw new DomainError("unavailable", "A webhook can be tested only while a server is running");
    },
    async notify() {},
    stats: async () => ({
      inFlight: 0,
      queued: 0,
      unrecorded: 0,
      suspended: 0,
      isHeld: false,
      shares: null,
      connections: null,
      waiting: 0,
      counts: new DeliveryCounter().counts,
      eventLoopDelay: newHistogram([]),
      spans: noSpans,
      filtered: {},
    }),
    checkStorage: async () => null,
    stop: () => store.close(),
  };
}
