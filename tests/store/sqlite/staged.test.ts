import { Database } from "bun:sqlite";
import { beforeEach, describe, expect, test } from "bun:test";
import { cpSync, statSync } from "node:fs";
import { everything } from "../../../src/domain/deliveries.ts";
import type { Store } from "../../../src/domain/store.ts";
import { day, hour } from "../../../src/domain/time.ts";
import { openReader, openStore } from "../../../src/store/sqlite/store.ts";
import { randomText } from "../../support/bodies.ts";
import { ownDirectory } from "../../support/server.ts";
import {
  attemptResult,
  emptyStore,
  loggedDeliveries,
  newEvent,
  storedAt,
  subscriber,
} from "../../support/store.ts";

const publishedAt = storedAt;
/** The number of slots for staged events. */
const places = 256;

let store: Store;
let path: string;
let application: string;
let subscription: string;

beforeEach(async () => {
  ({ store, path } = emptyStore());
  application = await subscriber(store);
  subscription = (await store.subscriptions.ofApplication(application))[0]?.id ?? "";
  await store.deliveries.releaseAll();
});

const publish = (id: string, reserveSlot = () => true, body = "{}") =>
  store.events.publish(newEvent(id, { body }), reserveSlot);

/** How many events wait to be moved, as another process sees the file. */
function waiting(): number {
  const db = new Database(`${path}/onair.db`, { readonly: true });
  const sql = "SELECT count(*) AS n FROM staged_events WHERE seq > (SELECT ifnull(max(seq), 0) FROM events)";
  const found = db.query<{ n: number }, []>(sql).get()?.n ?? 0;
  db.close();
  return found;
}

/** The sequences of what was delivered, by event. */
const logged = async (from: Store = store) =>
  (await loggedDeliveries(from)).map(({ event_id, sequence, status }) => [event_id, sequence, status]);

test("an event that is published alone writes no more than two pages", async () => {
  const log = () => statSync(`${path}/onair.db-wal`).size;
  for (let n = 0; n < 10; n++) await publish(`before ${n}`);
  const before = log();
  for (let n = 0; n < 100; n++) await publish(`event ${n}`, undefined, randomText(700));
  expect((log() - before) / 100).toBeLessThan(2 * 4_120);
  expect(waiting()).toBe(110);
});

describe("a staged event is found by every reader", () => {
  beforeEach(async () => {
    await publish("first");
    await publish("second");
    expect(waiting()).toBe(2);
  });

  const both = [
    ["first", 1, "pending"],
    ["second", 2, "pending"],
  ];

  test("the log of deliveries", async () => {
    expect(await logged()).toEqual(both);
  });

  test("a delivery by its id", async () => {
    const { taken } = await publish("third");
    const found = await store.deliveries.find(everything, taken[0]?.id ?? "");
    expect(found).toMatchObject({ event_id: "third", body: "{}", sequence: 3 });
  });

  test("what is pending of a subscription, and its sequence", async () => {
    expect((await store.deliveries.backlog(application, subscription)).pending).toBe(2);
    await publish("third");
    expect((await store.subscriptions.find(application, subscription))?.sequence).toBe(3);
  });

  test("a reader in another thread", async () => {
    const reader = openReader(path, undefined, store);
    expect(await logged(reader)).toEqual(both);
    expect(waiting()).toBe(0);
    await publish("third");
    expect((await reader.subscriptions.find(application, subscription))?.sequence).toBe(3);
    await publish("fourth");
    expect((await reader.deliveries.backlogOfAll()).pending).toBe(4);
    await reader.close();
  });

  test("a result, a retry, and the end of its subscription", async () => {
    const { taken } = await publish("third");
    await store.deliveries.record([attemptResult(taken[0], { attempt: null })], []);
    expect(waiting()).toBe(0);
    expect((await logged()).at(-1)).toEqual(["third", 3, "delivered"]);
    await publish("fourth");
    expect((await store.deliveries.retry(everything, taken[0]?.id ?? "", publishedAt)).status).toBe(
      "pending",
    );
    await publish("fifth");
    await store.subscriptions.remove(application, [subscription], publishedAt);
    expect((await publish("sixth")).deliveries).toBe(0);
    expect((await logged()).map(([name, sequence]) => [name, sequence])).toEqual([
      ["first", 1],
      ["second", 2],
      ["third", 3],
      ["fourth", 4],
      ["fifth", 5],
    ]);
  });

  test("the same event again, and another one with its id", async () => {
    expect(await publish("first")).toEqual({
      id: "first",
      deliveries: 1,
      taken: [],
      streamed: [],
      filtered: [],
    });
    const other = { ...newEvent("first"), fingerprint: Buffer.from("other") };
    await expect(store.events.publish(other, () => true)).rejects.toMatchObject({ code: "conflict" });
    expect(await logged()).toEqual(both);
  });

  test("a claim finds it behind a delivery that was not taken into memory", async () => {
    await publish("left", () => false);
    const { due } = await store.deliveries.claim(application, publishedAt, 8);
    expect(due.map(({ event, sequence }) => [event.id, sequence])).toEqual([["left", 3]]);
    expect((await logged()).map(([name]) => name)).toEqual(["first", "second", "left"]);
  });

  test("the next process, after this one was killed", async () => {
    const copy = ownDirectory();
    for (const file of ["onair.db", "onair.db-wal"]) cpSync(`${path}/${file}`, `${copy}/${file}`);
    const next = openStore(copy);
    expect(await logged(next)).toEqual(both);
    await next.deliveries.releaseAll();
    const { due } = await next.deliveries.claim(application, publishedAt, 8);
    expect(due.map(({ event, sequence }) => [event.id, sequence])).toEqual([
      ["first", 1],
      ["second", 2],
    ]);
    expect((await next.events.publish(newEvent("second"), () => true)).taken).toEqual([]);
    expect((await next.events.publish(newEvent("third"), () => true)).taken[0]?.sequence).toBe(3);
    await next.close();
  });
});

test("each write but publishing moves staged events, and a key of idempotency belongs to publishing", async () => {
  const fingerprint = Buffer.alloc(32, 1);
  await store.idempotency.begin("key", fingerprint, publishedAt);
  await publish("first");
  await store.idempotency.begin("another key", fingerprint, publishedAt);
  expect(waiting()).toBe(1);
  await store.settings.put("a", "b");
  expect(waiting()).toBe(0);
  expect(await logged()).toEqual([["first", 1, "pending"]]);
});

test("with more events than slots none is lost, and all are in order", async () => {
  const names = Array.from({ length: 2 * places + 10 }, (_, n) => `event ${n}`);
  for (const name of names) await publish(name);
  expect(await logged()).toEqual(names.map((name, n) => [name, n + 1, "pending"]));
});

test("large events and small ones, alone and many at once, keep their order", async () => {
  await publish("small");
  await publish("large", undefined, randomText(60_000));
  await publish("behind it");
  const together = Array.from({ length: 20 }, (_, n) => `together ${n}`);
  await Promise.all(together.map((name) => publish(name)));
  await publish("alone again");
  await store.events.publishAll([newEvent("batch 1"), newEvent("batch 2")], () => true);
  await publish("last");
  const names = ["small", "large", "behind it", ...together, "alone again", "batch 1", "batch 2", "last"];
  expect(await logged()).toEqual(names.map((name, n) => [name, n + 1, "pending"]));
});

test("an event that was rolled back is unknown", async () => {
  await publish("kept");
  const [refused, fine] = await Promise.allSettled([
    store.events.publish(newEvent("refused"), () => {
      throw new Error("it fails here");
    }),
    publish("fine"),
  ]);
  expect([refused.status, fine.status]).toEqual(["rejected", "fulfilled"]);
  await Promise.allSettled([
    publish("undone"),
    store.events.publishAll(
      [newEvent("batch"), newEvent("stranger", { broadcaster_user_id: 2 })],
      () => true,
    ),
  ]);
  await publish("refused");
  await publish("batch");
  expect(await logged()).toEqual([
    ["kept", 1, "pending"],
    ["fine", 2, "pending"],
    ["undone", 3, "pending"],
    ["refused", 4, "pending"],
    ["batch", 5, "pending"],
  ]);
});

test("a body that is too old, also by its type, is erased from its slot", async () => {
  await publish("old", undefined, '{"text":"too old"}');
  const [old] = await loggedDeliveries(store);
  await store.deliveries.record([attemptResult(old, { attempt: null })], []);
  const retention = { deliveredMs: 30 * day, failedMs: 30 * day, bodiesMs: 30 * day };
  const byType = { "channel.followed": hour };
  const pruned = async (now: number) => {
    while (!(await store.retention.prune({ ...retention, byType }, now)));
    const db = new Database(`${path}/onair.db`, { readonly: true });
    const found = db.query<{ body: string | null }, []>("SELECT body FROM staged_events").all();
    db.close();
    return found.map(({ body }) => body);
  };
  expect(await pruned(publishedAt + hour)).toEqual(['{"text":"too old"}']);
  expect(await pruned(publishedAt + 2 * hour)).toEqual([]);
});
