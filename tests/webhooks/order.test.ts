import { afterEach, beforeEach, expect, test } from "bun:test";
import { newId } from "../../src/domain/ids.ts";
import { isoTime } from "../../src/domain/time.ts";
import { userFrom } from "../../src/domain/users.ts";
import { createLog } from "../../src/log.ts";
import { openStore } from "../../src/store/sqlite/store.ts";
import type { Store } from "../../src/store/store.ts";
import { createDispatcher } from "../../src/webhooks/dispatcher.ts";
import { publishing } from "../../src/webhooks/publisher.ts";
import type { SendRequest, SendResult } from "../../src/webhooks/sender.ts";
import { newSigningKey, newWebhookSecret, readSigningKey } from "../../src/webhooks/signature.ts";
import { temporaryDirectory } from "../support/server.ts";

const now = () => Date.parse("2026-01-14T16:00:00.000Z");
const timings = { dnsMs: null, connectMs: null, tlsMs: null, firstByteMs: null };
const answered = {
  retryAfterMs: null,
  durationMs: 1,
  responseBody: "",
  error: null,
  timings,
  repeated: false,
};
const ok: SendResult = { ...answered, class: "ok", status: 204 };
const gone: SendResult = { ...answered, class: "status", status: 410 };

let directory: ReturnType<typeof temporaryDirectory>;
let store: Store;
beforeEach(() => {
  directory = temporaryDirectory();
  store = openStore(directory.path);
});
afterEach(async () => {
  await store.close();
  directory.remove();
});

async function subscriber(): Promise<string> {
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

test("what is published does not overtake first attempts that are on their way back into the store", async () => {
  const application = await subscriber();
  const recording = Promise.withResolvers<void>();
  const held: Store["deliveries"] = {
    ...store.deliveries,
    async record(...batch) {
      await recording.promise;
      await store.deliveries.record(...batch);
    },
  };
  const sent: { sequence: number; answer: (result: SendResult) => void }[] = [];
  let answerAll = false;
  const sender = {
    begin({ headers }: SendRequest, answer: (result: SendResult) => void) {
      sent.push({ sequence: Number(headers["onair-sequence"]), answer });
      if (answerAll) queueMicrotask(() => answer(ok));
    },
  };
  const dispatcher = createDispatcher({
    store: { ...store, deliveries: held },
    sender,
    signingKey: readSigningKey(newSigningKey()),
    log: createLog("off"),
    now,
    steady: now,
    random: () => 0.5,
  });
  const stopping = new AbortController();
  const running = dispatcher.run(stopping.signal);
  const { publish } = publishing(store, dispatcher);
  const event = (id: string) => ({
    id,
    name: "channel.followed",
    version: 1,
    broadcaster_user_id: 1,
    body: "{}",
    fingerprint: Buffer.from(id),
    published_at: now(),
    expires_at: null,
  });
  const until = async (isTrue: () => boolean) => {
    for (let i = 0; i < 2_000 && !isTrue(); i++) await Bun.sleep(1);
    expect(isTrue()).toBe(true);
  };

  for (let i = 1; i <= 20; i++) await publish(event(`e${i}`));
  await until(() => sent.length === 8);
  // The endpoint is disabled: what has not started goes back. It is enabled before that is on disk.
  sent[0]?.answer(gone);
  for (const { answer } of sent.slice(1)) answer(ok);
  await dispatcher.enable(application);
  answerAll = true;
  await publish(event("e21"));
  // Time enough for a turn of its own.
  for (let i = 0; i < 20; i++) await new Promise(setImmediate);
  recording.resolve();
  await until(() => sent.length >= 21);

  expect(sent.map(({ sequence }) => sequence)).toEqual(Array.from({ length: 21 }, (_, i) => i + 1));
  stopping.abort();
  await running;
});
