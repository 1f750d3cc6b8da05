import { newId } from "../../src/domain/ids.ts";
import { isoTime } from "../../src/domain/time.ts";
import { userFrom } from "../../src/domain/users.ts";
import { watchedStore } from "../../src/engine/watched-store.ts";
import { createLog } from "../../src/log.ts";
import type { Store } from "../../src/store/store.ts";
import type { SendRequest, SendResult } from "../../src/webhooks/client/sender.ts";
import { createDispatcher } from "../../src/webhooks/dispatcher.ts";
import { eventSink } from "../../src/webhooks/event-sink.ts";
import { newSigningKey, newWebhookSecret, readSigningKey } from "../../src/webhooks/signature.ts";

const now = () => Date.parse("2026-01-14T16:00:00.000Z");
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

/** An application that is subscribed to `channel.followed` of user 1; gives its id. */
export async function subscriber(store: Store): Promise<string> {
  const at = isoTime(now());
  await store.users.upsert([userFrom({ id: 1, username: "ada" })], at);
  const id = newId();
  await store.applications.create({
    id,
    name: "Test",
    client_type: "confidential",
    webhook_url: "https://receiver.test/",
    webhook_secret: newWebhookSecret(),
    scopes: [],
    redirect_uris: [],
    rate_limit: null,
    subscription_limit: null,
    created_at: at,
    updated_at: at,
    client_secret_hash: new Uint8Array(32),
  });
  const key = { app_id: id, broadcaster_user_id: 1, event: "channel.followed", version: 1 };
  await store.subscriptions.subscribe([key], 1, now());
  return id;
}

/**
 * A dispatcher on a real store, whose clock stands still and whose receiver answers when the test says so.
 *
 * @param record instead of the store's, to keep results from the disk
 */
export function dispatching(store: Store, record: Store["deliveries"]["record"] = store.deliveries.record) {
  const sent: { sequence: number; url: string; answer: (result: SendResult) => void }[] = [];
  const receiver = { answersAll: false };
  const sender = {
    async send({ headers, url }: SendRequest): Promise<SendResult> {
      const { promise, resolve: answer } = Promise.withResolvers<SendResult>();
      sent.push({ sequence: Number(headers["onair-sequence"]), url, answer });
      if (receiver.answersAll) answer(ok);
      return promise;
    },
  };
  const dispatcher = createDispatcher({
    store: { ...store, deliveries: { ...store.deliveries, record } },
    sender,
    signingKey: readSigningKey(newSigningKey()),
    log: createLog("off"),
    now,
    steady: now,
    random: () => 0.5,
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
    publish: (id: string) =>
      publish({
        id,
        name: "channel.followed",
        version: 1,
        broadcaster_user_id: 1,
        body: "{}",
        fingerprint: Buffer.from(id),
        published_at: now(),
        expires_at: null,
      }),
    async stop() {
      stopping.abort();
      await running;
    },
  };
}
