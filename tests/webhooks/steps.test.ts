import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { cpSync } from "node:fs";
import { createPublisher } from "../../src/batch/publisher.ts";
import { newId } from "../../src/domain/ids.ts";
import { isoTime } from "../../src/domain/time.ts";
import type { NewUser } from "../../src/domain/users.ts";
import { createLog } from "../../src/log.ts";
import { openStore } from "../../src/store/sqlite/store.ts";
import type { Store } from "../../src/store/store.ts";
import type { SendRequest, SendResult } from "../../src/webhooks/client/sender.ts";
import { createDispatcher } from "../../src/webhooks/dispatcher.ts";
import { eventSink } from "../../src/webhooks/event-sink.ts";
import { newSigningKey, newWebhookSecret, readSigningKey } from "../../src/webhooks/signature.ts";
import { event } from "../support/publishing.ts";
import { users } from "../support/real-data.ts";
import { temporaryDirectory } from "../support/server.ts";

/*
 * What SIGKILL leaves behind at each step: the files as they are at that moment. They are copied there, and another
 * dispatcher begins with the copy.
 */

const now = () => Date.parse("2026-01-14T16:00:00.000Z");
const signingKey = readSigningKey(newSigningKey());
const timings = { dnsMs: null, connectMs: null, tlsMs: null, firstByteMs: null };
const ok: SendResult = {
  class: "ok",
  status: 204,
  retryAfterMs: null,
  durationMs: 1,
  responseBody: "",
  error: null,
  timings,
  repeated: false,
};

type Send = (request: SendRequest) => Promise<SendResult>;

/** A dispatcher on a store, running until `stop`. */
function dispatch(store: Store, send: Send) {
  const log = createLog("off");
  const options = { store, sender: { send }, signingKey, log, now, steady: now, random: () => 0.5 };
  const dispatcher = createDispatcher(options);
  const stopping = new AbortController();
  const running = dispatcher.run(stopping.signal);
  return {
    dispatcher,
    async stop() {
      stopping.abort();
      await running;
    },
    async settled() {
      for (let quiet = 0; quiet < 5; ) {
        const { inFlight, queued, unrecorded } = dispatcher.stats;
        quiet = inFlight + queued + unrecorded === 0 ? quiet + 1 : 0;
        await Bun.sleep(1);
      }
    },
  };
}

const directory = temporaryDirectory();
const copies = new Map<string, ReturnType<typeof temporaryDirectory>>();

function copyAt(step: string): void {
  if (copies.has(step)) return;
  const copy = temporaryDirectory();
  copies.set(step, copy);
  // Without the lock, which the kernel lets go of.
  for (const file of ["onair.db", "onair.db-wal"])
    cpSync(`${directory.path}/${file}`, `${copy.path}/${file}`);
}

const sentFirst: string[] = [];

beforeAll(async () => {
  const store = openStore(directory.path);
  const at = isoTime(now());
  await store.users.upsert([{ profile_picture: null, ...users[0] } as NewUser], at);
  const id = newId();
  await store.applications.create({
    id,
    name: "Test",
    webhook_url: "https://example.com/hook",
    webhook_secret: newWebhookSecret(),
    client_secret_hash: new Uint8Array(32),
    scopes: [],
    redirect_uris: [],
    created_at: at,
    updated_at: at,
  } as unknown as Parameters<Store["applications"]["create"]>[0]);
  const broadcaster_user_id = users[0]?.id ?? 0;
  await store.subscriptions.subscribe(
    [{ app_id: id, broadcaster_user_id, event: "kicks.gifted", version: 1 }],
    10,
    now(),
  );
  const one = dispatch(store, async (request) => {
    sentFirst.push(String(request.headers["webhook-id"]));
    copyAt("claimed, about to be sent");
    await Bun.sleep(1);
    copyAt("sent and answered");
    return ok;
  });
  const publisher = createPublisher(eventSink(store, one.dispatcher), { now });
  const publishing1 = publisher.publish(event("kicks.gifted", { broadcaster_user_id }));
  copyAt("before the commit");
  await publishing1;
  copyAt("after the commit");
  await one.settled();
  copyAt("recorded");
  await one.stop();
  await store.close();
});
afterAll(() => {
  directory.remove();
  for (const copy of copies.values()) copy.remove();
});

describe("SIGKILL", () => {
  test.each([
    ["before the commit", 0],
    ["after the commit", 1],
    ["claimed, about to be sent", 1],
    ["sent and answered", 1],
    ["recorded", 0],
  ])("%s: the next process sends it %d times, under the same id", async (step, times) => {
    const copy = copies.get(step);
    if (!copy) throw new Error(`there is no copy of "${step}"`);
    const store = openStore(copy.path);
    const sent: SendRequest[] = [];
    const next = dispatch(store, async (request) => {
      sent.push(request);
      return ok;
    });
    await next.settled();
    await next.stop();
    expect(await store.deliveries.pending()).toEqual([]);
    await store.close();
    expect(sent.map(({ headers }) => headers["webhook-id"])).toEqual(sentFirst.slice(0, times));
    for (const { headers } of sent) expect(headers["onair-sequence"]).toBe("1");
  });
});
