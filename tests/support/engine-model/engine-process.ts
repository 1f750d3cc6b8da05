import { createDispatcher } from "../../../src/delivery/attempt.ts";
import { publishToEngine } from "../../../src/delivery/publish.ts";
import { newSigningKey, readSigningKey } from "../../../src/delivery/signature.ts";
import { DomainError } from "../../../src/domain/errors.ts";
import type { Store } from "../../../src/domain/store.ts";
import { second } from "../../../src/domain/time.ts";
import type { Timers } from "../../../src/runtime/event-loop.ts";
import type { Log } from "../../../src/runtime/log.ts";
import { withEffects } from "../../../src/store/effects.ts";
import { aloneOn } from "../dispatching.ts";
import type { VirtualTime } from "../virtual-time.ts";
import type { Receivers } from "./receivers.ts";

/** The ways to the store that a run holds up, each before it reaches the store or before its answer arrives. */
export const ways = ["publish", "claim", "record", "look-up", "change", "other"] as const;
/** `other` is what the engine asks at its start, and where the clock was set back. */
export type Way = (typeof ways)[number];
export type Gate = `${"to" | "from"} ${Way}`;

/**
 * Of a change on disk, the engine is told within this time. Until then it sends to a former URL, and no attempt counts.
 */
const longestUnknownMs = 10 * second;

/** Held-up calls of one process to the store, in order. */
class Gates {
  readonly #closed = new Set<Gate>();
  readonly #waiting = new Set<{ readonly gate: Gate; readonly pass: () => void }>();
  readonly #failures = new Map<Way, number>();
  #isDead = false;
  constructor(readonly timers: Timers) {}

  /** Calls that are in the store. */
  inStore = 0;
  /** Changes with each call that comes and goes. */
  passed = 0;

  close(gate: Gate): void {
    this.#closed.add(gate);
  }

  /** Opens a gate, or lets only the first call through. */
  open(gate: Gate, isForAll = true): void {
    if (isForAll) this.#closed.delete(gate);
    const held = [...this.#waiting].filter((one) => one.gate === gate);
    for (const { pass } of held.slice(0, isForAll ? undefined : 1)) pass();
  }

  openAll(): void {
    this.#failures.clear();
    for (const way of ways) for (const side of ["to", "from"] as const) this.open(`${side} ${way}`);
  }

  get areOpen(): boolean {
    return this.#closed.size === 0 && [...this.#failures.values()].every((left) => left === 0);
  }

  /** The next calls of this way fail, as on a full disk. */
  fail(way: Way, times: number): void {
    this.#failures.set(way, times);
  }

  /** The process has ended: no call comes back to it, and none begins. */
  die(): void {
    this.#isDead = true;
  }

  async #letThrough(gate: Gate): Promise<void> {
    const { promise, resolve: pass } = Promise.withResolvers<void>();
    const one = { gate, pass };
    this.#waiting.add(one);
    if (gate === "from change") this.timers.after(longestUnknownMs, pass);
    await promise;
    this.#waiting.delete(one);
  }

  async #at(gate: Gate): Promise<void> {
    this.passed++;
    if (this.#isDead) return new Promise(() => {});
    if (this.#closed.has(gate)) {
      await this.#letThrough(gate);
      if (this.#isDead) return new Promise(() => {});
    }
  }

  /** A function of the store behind its two gates. */
  through<Given extends unknown[], Result>(way: Way, work: (...given: Given) => Promise<Result>) {
    return async (...given: Given): Promise<Result> => {
      await this.#at(`to ${way}`);
      const failures = this.#failures.get(way) ?? 0;
      if (failures > 0) {
        this.#failures.set(way, failures - 1);
        throw new DomainError("unavailable", "The disk is full", { isNothingKept: true });
      }
      this.inStore++;
      const result = await work(...given).finally(() => this.inStore--);
      await this.#at(`from ${way}`);
      return result;
    };
  }
}

/** The store as a process sees it. */
function gatedStore(store: Store, gates: Gates): Store {
  const { applications, deliveries, endpoints, events, replays, subscriptions, users } = store;
  return {
    ...store,
    applications: {
      ...applications,
      find: gates.through("look-up", applications.find),
      update: gates.through("change", applications.update),
      remove: gates.through("change", applications.remove),
      rotateWebhookSecret: gates.through("change", applications.rotateWebhookSecret),
    },
    deliveries: {
      ...deliveries,
      releaseAll: gates.through("other", deliveries.releaseAll),
      makeFarRetriesDue: gates.through("other", deliveries.makeFarRetriesDue),
      claim: gates.through("claim", deliveries.claim),
      record: gates.through("record", deliveries.record),
      pending: gates.through("look-up", deliveries.pending),
      retry: gates.through("change", deliveries.retry),
    },
    endpoints: {
      ...endpoints,
      failing: gates.through("other", endpoints.failing),
      find: gates.through("look-up", endpoints.find),
      enable: gates.through("change", endpoints.enable),
    },
    events: {
      ...events,
      publish: gates.through("publish", events.publish),
      publishAll: gates.through("publish", events.publishAll),
    },
    replays: {
      ...replays,
      running: gates.through("other", replays.running),
      create: gates.through("change", replays.create),
      advance: gates.through("change", replays.advance),
    },
    subscriptions: {
      ...subscriptions,
      remove: gates.through("change", subscriptions.remove),
    },
    users: {
      ...users,
      remove: gates.through("change", users.remove),
    },
  };
}

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
