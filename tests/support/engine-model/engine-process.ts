import { createDispatcher } from "../../../src/delivery/attempt.ts";
import { publishToEngine } from "../../../src/delivery/publish.ts";
import { newSigningKey, readSigningKey } from "../../../src/delivery/signature.ts";
import { DomainError } from "../../../src/domain/errors.ts";
import type { Store } from "../../../src/domain/store.ts";
import { second } from "../../../src/domain/time.ts";
import type { Log } from "../../../src/runtime/log.ts";
import { withEffects } from "../../../src/store/effects.ts";
import { aloneOn } from "../dispatching.ts";
import type { VirtualTime } from "../virtual-time.ts";
import { Gates, gatedStore } from "./gates.ts";
import type { Receivers } from "./receivers.ts";

const signingKey = readSigningKey(newSigningKey());

/** How its start goes. */
export const starts = ["well", "well", "held", "failing"] as const;
export type Start = (typeof starts)[number];

/** One life of the engine: its dispatcher, its way to publish, and its view of the store. */
export type EngineProcess = ReturnType<typeof engineProcess>;

interface EngineProcessOptions {
  readonly store: Store;
  readonly time: VirtualTime;
  readonly receivers: Receivers;
  readonly concurrency: number;
  readonly connections: number;
  readonly log: Log;
  /** Whether what it asks of the store at its start is held up, or fails. */
  readonly start: Start;
}

export function engineProcess({ store, time, receivers, log, start, ...limits }: EngineProcessOptions) {
  const gates = new Gates(time.timers);
  if (start === "held") gates.close("to other");
  if (start === "failing") gates.fail("other", 2);
  const gated = gatedStore(store, gates);
  const sender = receivers.sender();
  let looks = 0;
  const dispatcher = createDispatcher({
    ...aloneOn(gated),
    store: gated,
    sender,
    signingKey,
    log,
    now: () => {
      looks++;
      return time.now();
    },
    monotonic: time.monotonic,
    timers: time.timers,
    random: () => 0.5,
    ...limits,
  });
  const stopping = new AbortController();
  /** A failed start is tried again, as `supervise` does. */
  const run = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      try {
        return await dispatcher.run(stopping.signal);
      } catch (error) {
        if (!(error instanceof DomainError)) throw error;
        await time.timers.pause(second);
      }
    }
  };
  const running = run();
  return {
    gates,
    dispatcher,
    store: withEffects({ reads: gated, writes: gated, deliveries: dispatcher }),
    sink: publishToEngine(gated, dispatcher),
    /** Changes with whatever the engine does. */
    get activity() {
      return gates.passed + looks;
    },
    /** As by SIGTERM: what is under way is cut off, what is known is recorded. */
    async stop(): Promise<void> {
      gates.openAll();
      stopping.abort();
      sender.close();
      await running;
    },
    /** As by SIGKILL. */
    kill(): void {
      gates.die();
      sender.die();
      stopping.abort();
    },
  };
}
