import { createDispatcher } from "../../src/delivery/attempt.ts";
import { noticesOf } from "../../src/delivery/notices.ts";
import { publishToEngine } from "../../src/delivery/publish.ts";
import type { SendRequest, SendResult } from "../../src/delivery/send/send.ts";
import { newSigningKey, readSigningKey } from "../../src/delivery/signature.ts";
import { type Ownership, soleOwnership } from "../../src/domain/replicas.ts";
import type { Store } from "../../src/domain/store.ts";
import type { Timers } from "../../src/runtime/event-loop.ts";
import { createLog } from "../../src/runtime/log.ts";
import { withEffects } from "../../src/store/effects.ts";
import { newEvent, storedAt } from "./store.ts";
import { untilSettled } from "./until.ts";

const answered = {
  retryAfterMs: null,
  durationMs: 1,
  responseBody: "",
  error: null,
  timings: { dnsMs: null, connectMs: null, tlsMs: null, firstByteMs: null },
  repeated: false,
};
export const ok: SendResult = { ...answered, class: "ok", status: 204 };
export const gone: SendResult = { ...answered, class: "status", status: 410 };

interface Dispatching {
  /** Replaces the store's method, so that a test can delay the recording of results. */
  readonly record?: Store["deliveries"]["record"];
  /** Answers requests automatically. By default the test answers each one. */
  readonly send?: (request: SendRequest) => Promise<SendResult>;
  readonly connections?: number;
  /** The endpoints that this process owns; all by default. */
  readonly ownership?: Ownership;
  readonly requested?: () => void;
  readonly requestRecorded?: (applicationId: string) => void;
  /** The time of its clock. */
  readonly at?: number;
  /** The same, where the test sets the clock. */
  readonly clock?: { readonly ms: number };
  readonly timers?: Timers;
}

/** The options of a dispatcher on its own, to which nothing else of the engine listens. */
export const aloneOn = (store: Store) => ({
  ownership: soleOwnership(() => store.deliveries.releaseAll()),
  concurrency: 128,
  connections: 1_024,
  isHeld: () => false,
  notices: noticesOf(false),
  traces: null,
  isProxied: false,
  requested() {},
  requestRecorded() {},
  ended() {},
  noticed() {},
});

/** A dispatcher on a real store, with an injected clock and a receiver that answers when the test tells it to. */
export function dispatching(
  store: Store,
  {
    record = store.deliveries.record,
    send,
    connections,
    ownership,
    requested,
    requestRecorded,
    at = storedAt,
    clock = { ms: at },
    timers,
  }: Dispatching = {},
) {
  const now = () => clock.ms;
  const sent: { id: string; sequence: number; url: string; answer: (result: SendResult) => void }[] = [];
  const receiver = { answersAll: false };
  const sender = {
    async send(request: SendRequest): Promise<SendResult> {
      const { headers, url } = request;
      const { promise, resolve: answer } = Promise.withResolvers<SendResult>();
      sent.push({
        id: String(headers["webhook-id"]),
        sequence: Number(headers["onair-sequence"]),
        url,
        answer,
      });
      if (receiver.answersAll) answer(ok);
      return send ? send(request) : promise;
    },
  };
  const { ownership: sole, ...rest } = aloneOn(store);
  const joined = Promise.withResolvers<void>();
  const dispatcher = createDispatcher({
    ...rest,
    ownership: ownership ?? {
      ...sole,
      async join(deliverer) {
        await sole.join(deliverer);
        joined.resolve();
      },
    },
    store: { ...store, deliveries: { ...store.deliveries, record } },
    sender,
    signingKey: readSigningKey(newSigningKey()),
    log: createLog("off"),
    now,
    monotonic: () => at,
    random: () => 0.5,
    gatherMs: 5,
    ...(connections !== undefined && { connections }),
    ...(timers !== undefined && { timers }),
    ...(requested !== undefined && { requested }),
    ...(requestRecorded !== undefined && { requestRecorded }),
  });
  const stopping = new AbortController();
  const running = dispatcher.run(stopping.signal);
  const { publish } = publishToEngine(store, dispatcher);
  return {
    dispatcher,
    sent,
    receiver,
    /** The store, which notifies the dispatcher of changes. */
    store: withEffects({ reads: store, writes: store, deliveries: dispatcher }),
    now,
    publish: (id: string, broadcaster = 1) => publish(newEvent(id, { broadcaster_user_id: broadcaster })),
    /**
     * Resolves when all started attempts are recorded and no other is about to start. A dispatcher that is alone has all
     * endpoints by then: what the test records before would be of an earlier epoch on PostgreSQL, and be ignored.
     */
    async settled() {
      if (ownership === undefined) await joined.promise;
      await untilSettled(() => dispatcher.stats);
    },
    async stop() {
      stopping.abort();
      await running;
    },
  };
}
