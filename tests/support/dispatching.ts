import { watchedStore } from "../../src/engine/watched-store.ts";
import { createLog } from "../../src/log/log.ts";
import type { Ownership } from "../../src/store/replicas/ownership.ts";
import type { Store } from "../../src/store/store.ts";
import type { SendRequest, SendResult } from "../../src/webhooks/client/sender.ts";
import { createDispatcher } from "../../src/webhooks/dispatcher.ts";
import { eventSink } from "../../src/webhooks/event-sink.ts";
import { newSigningKey, readSigningKey } from "../../src/webhooks/signature.ts";
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
  /** Instead of the store's, to keep results from the disk. */
  readonly record?: Store["deliveries"]["record"];
  /** Answers in place of the test. */
  readonly send?: (request: SendRequest) => Promise<SendResult>;
  readonly connections?: number;
  /** By default all endpoints are this process's own. */
  readonly ownership?: Ownership;
  readonly requested?: () => void;
  readonly requestRecorded?: (applicationId: string) => void;
  /** Where its clock stands. */
  readonly at?: number;
  /** The same, where the test sets the clock. */
  readonly clock?: { readonly ms: number };
}

/** A dispatcher on a real store, whose clock stands still and whose receiver answers when the test says so. */
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
  const dispatcher = createDispatcher({
    store: { ...store, deliveries: { ...store.deliveries, record } },
    sender,
    signingKey: readSigningKey(newSigningKey()),
    log: createLog("off"),
    now,
    monotonic: () => at,
    random: () => 0.5,
    gatherMs: 5,
    ...(connections !== undefined && { connections }),
    ...(ownership !== undefined && { ownership }),
    ...(requested !== undefined && { requested }),
    ...(requestRecorded !== undefined && { requestRecorded }),
  });
  const stopping = new AbortController();
  const running = dispatcher.run(stopping.signal);
  const { publish } = eventSink(store, dispatcher);
  return {
    dispatcher,
    sent,
    receiver,
    /** The store that tells the dispatcher of changes. */
    store: watchedStore(store, dispatcher),
    now,
    publish: (id: string, broadcaster = 1) => publish(newEvent(id, { broadcaster_user_id: broadcaster })),
    /** Resolves when everything that was started is on disk, and nothing more is about to start. */
    settled: () => untilSettled(() => dispatcher.stats),
    async stop() {
      stopping.abort();
      await running;
    },
  };
}
