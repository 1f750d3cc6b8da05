import { beforeEach, expect, test } from "bun:test";
import { type DeliveryMode, deliveryModes } from "../../src/domain/applications.ts";
import { everything } from "../../src/domain/deliveries.ts";
import { BatchRefused } from "../../src/domain/errors.ts";
import type { Store } from "../../src/domain/store.ts";
import { isoTime } from "../../src/domain/time.ts";
import { userFrom } from "../../src/domain/users.ts";
import {
  attemptResult,
  loggedDeliveries,
  newEvent,
  ownStore,
  storedAt,
  subscriber,
} from "../support/store.ts";

const publishedAt = storedAt;
const [always, never] = [() => true, () => false];

let store: Store;
beforeEach(async () => {
  ({ store } = await ownStore());
  await store.users.upsert([userFrom({ id: 1, username: "user_1" })], isoTime(publishedAt));
});

const subscribed = (delivery: DeliveryMode) => subscriber(store, { delivery });
const event = (id: string, broadcaster_user_id = 1) =>
  newEvent(id, { broadcaster_user_id, expires_at: publishedAt + 1 });
const publish = (id: string, reserveSlot: (applicationId: string) => boolean) =>
  store.events.publish(event(id), reserveSlot);

// Few, and around the sizes of one and of three statements.
test.each([1, 50, 51, 150])("an event has one delivery for each of %i subscribers", async (count) => {
  const modes = new Map<string, DeliveryMode>();
  for (let i = 0; i < count; i++) {
    const mode = deliveryModes[i % 7 === 3 ? 1 : i % 7 === 5 ? 2 : 0] ?? "webhook";
    modes.set(await subscribed(mode), mode);
  }
  const hasRoom = new Set([...modes.keys()].filter((_, i) => i % 3 > 0));
  const stored = [];
  for (const id of ["a", "b"]) stored.push(await publish(id, (application) => hasRoom.has(application)));

  const rows = await loggedDeliveries(store);
  expect(rows).toHaveLength(2 * count);
  expect(new Set(rows.map(({ id }) => id)).size).toBe(2 * count);
  for (const [i, published] of stored.entries()) {
    const own = rows.slice(i * count, (i + 1) * count);
    expect(published.deliveries).toBe(count);
    expect(own.map(({ application_id }) => application_id).sort()).toEqual([...modes.keys()].sort());
    expect(own.every(({ sequence, event_id }) => sequence === i + 1 && event_id === published.id)).toBe(true);
    const sent = own.filter(({ application_id }) => modes.get(application_id) !== "stream");
    for (const { application_id, status, finished_at, expires_at } of own) {
      expect([status, finished_at, expires_at]).toEqual(
        modes.get(application_id) === "stream"
          ? ["delivered", publishedAt, publishedAt + 1]
          : ["pending", null, publishedAt + 1],
      );
    }
    expect(published.taken.map(({ seq, id }) => [seq, id])).toEqual(
      sent.filter(({ application_id }) => hasRoom.has(application_id)).map(({ seq, id }) => [seq, id]),
    );
    expect([...published.streamed].sort()).toEqual(
      [...modes].flatMap(([application, mode]) => (mode === "webhook" ? [] : application)).sort(),
    );
  }
  // Only deliveries that were not taken into memory can be claimed.
  for (const [application, mode] of modes) {
    const { due } = await store.deliveries.claim(application, publishedAt, 8);
    expect(due).toHaveLength(mode === "stream" || hasRoom.has(application) ? 0 : 2);
  }
});

test("the same id again answers as before and sends nothing; with other contents it is a conflict", async () => {
  await subscribed("webhook");
  const [first, together] = await Promise.all([publish("a", never), publish("a", always)]);
  expect([first.deliveries, together.deliveries]).toEqual([1, 1]);
  expect([first.id, together.id, together.taken.length]).toEqual(["a", "a", 0]);
  await subscribed("webhook");
  expect(await publish("a", always)).toEqual({
    id: "a",
    deliveries: 1,
    taken: [],
    streamed: [],
    filtered: [],
  });
  const other = { ...event("a"), fingerprint: Buffer.from("other") };
  await expect(store.events.publish(other, always)).rejects.toMatchObject({ code: "conflict" });
  expect(await loggedDeliveries(store)).toHaveLength(1);
});

test("concurrent claims take deliveries of their own application, within their limit, and none twice", async () => {
  const applications = [await subscribed("webhook"), await subscribed("webhook"), await subscribed("stream")];
  for (const id of ["a", "b", "c"]) await publish(id, never);
  const asked = [...applications, applications[0] ?? ""];
  const claims = await Promise.all(asked.map((one) => store.deliveries.claim(one, publishedAt, 2)));
  const seen = claims.map(({ due }) =>
    due.map(({ application_id, event: { id } }) => `${id} of ${applications.indexOf(application_id)}`),
  );
  expect(seen.slice(1, 3)).toEqual([["a of 1", "b of 1"], []]);
  expect(claims.slice(1, 3).map(({ hasBacklog }) => hasBacklog)).toEqual([true, false]);
  const ofFirst = [...(seen[0] ?? []), ...(seen[3] ?? [])];
  expect(ofFirst).toEqual([...new Set(ofFirst)]);
  expect(ofFirst.slice(0, 2)).toEqual(["a of 0", "b of 0"]);
});

test("a refused event does not affect events published with it", async () => {
  const application = await subscribed("webhook");
  const results = await Promise.allSettled([
    publish("a", never),
    store.events.publish(event("b", 2), never),
    publish("c", never),
  ]);
  expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  expect(results[1]).toMatchObject({
    reason: { code: "invalid_parameter", message: "broadcaster_user_id is not a known user" },
  });
  const { due } = await store.deliveries.claim(application, publishedAt, 8);
  expect(due.map(({ sequence, event: { id } }) => [sequence, id])).toEqual([
    [1, "a"],
    [2, "c"],
  ]);
});

test("an event that is refused for its broadcaster does not take its id from events published with it", async () => {
  const application = await subscribed("webhook");
  const unknown = { ...event("a", 2), fingerprint: Buffer.from("of the unknown one") };
  const [refused, ...published] = await Promise.allSettled([
    store.events.publish(unknown, always),
    publish("a", always),
    publish("a", always),
  ]);
  expect(refused).toMatchObject({ reason: { message: "broadcaster_user_id is not a known user" } });
  expect(published).toMatchObject([
    { value: { deliveries: 1, taken: [{ application_id: application, event: { id: "a" } }] } },
    { value: { deliveries: 1, taken: [] } },
  ]);
  const [delivery] = await loggedDeliveries(store);
  expect(delivery).toMatchObject({ event_id: "a", broadcaster_user_id: 1 });
  await expect(store.events.publish(unknown, always)).rejects.toMatchObject({ code: "conflict" });
});

test("a batch is kept as a whole, in its order, or not at all", async () => {
  const application = await subscribed("both");
  const refused = store.events.publishAll([event("a"), event("b", 2), event("c")], always);
  const reason = await refused.then(
    () => null,
    (error) => error,
  );
  expect(reason).toBeInstanceOf(BatchRefused);
  expect(reason.results).toEqual([null, "broadcaster_user_id is not a known user", null]);
  expect(await loggedDeliveries(store)).toEqual([]);
  const ids = Array.from({ length: 120 }, (_, i) => `e${i % 100}`);
  const kept = await store.events.publishAll(
    ids.map((id) => event(id)),
    always,
  );
  expect(kept.published).toEqual(ids.map((id) => ({ id, deliveries: 1 })));
  expect(kept.taken.map(({ sequence, event: { id } }) => [sequence, id])).toEqual(
    ids.slice(0, 100).map((id, i) => [i + 1, id]),
  );
  expect(kept.streamed).toEqual([application]);
});

test("events that many publish concurrently, each one after the other, are delivered in the order of publishing", async () => {
  const application = await subscribed("webhook");
  const taken: number[] = [];
  await Promise.all(
    Array.from({ length: 16 }, async (_, publisher) => {
      for (let i = 0; i < 20; i++) {
        const stored = await publish(`${publisher}-${i}`, always);
        taken.push(...stored.taken.map(({ sequence }) => sequence));
      }
    }),
  );
  expect(taken).toEqual(Array.from({ length: 320 }, (_, i) => i + 1));
  expect((await store.deliveries.claim(application, publishedAt, 8)).due).toEqual([]);
});

test.each([
  ["first attempts alone take all places", 12, 0, [8, 0]],
  ["so do retries alone", 0, 12, [0, 8]],
  ["a quarter of the places is for retries where there is more of both", 12, 12, [6, 2]],
  ["places that first attempts leave are for retries", 3, 12, [3, 5]],
  ["places that retries leave are for first attempts", 12, 1, [7, 1]],
])("a claim of eight: %s", async (_, first, due, shares) => {
  const application = await subscribed("webhook");
  const retries = [];
  for (let i = 0; i < due; i++) retries.push(...(await publish(`r${i}`, always)).taken);
  const failed = { status: "pending", next_attempt_at: publishedAt + 1 } as const;
  await store.deliveries.record(
    retries.map((one) => attemptResult(one, failed)),
    [],
  );
  for (let i = 0; i < first; i++) await publish(`f${i}`, never);
  const claim = await store.deliveries.claim(application, publishedAt + 1, 8);
  const count = (attempts: number) => claim.due.filter((one) => one.attempts === attempts).length;
  expect([count(0), count(1)]).toEqual(shares);
  expect(claim.hasBacklog).toBe(first > (shares[0] ?? 0));
  expect(claim.retryAt).toBe(due > (shares[1] ?? 0) ? publishedAt + 1 : null);
  expect((await store.deliveries.claim(application, publishedAt, 100)).due).toHaveLength(
    first - (shares[0] ?? 0),
  );
});

test.each(["waits in the store", "is in memory"])(
  "a manual retry of a delivery that %s before its first attempt ends its expiry and leaves its whole schedule",
  async (where) => {
    const application = await subscribed("webhook");
    await publish("asked", where === "is in memory" ? always : never);
    const [{ id = "" } = {}] = await loggedDeliveries(store);
    const retried = await store.deliveries.retry(everything, id, publishedAt);
    expect(retried).toMatchObject({ status: "pending", expires_at: null });
    await store.deliveries.releaseAll();
    const { due } = await store.deliveries.claim(application, publishedAt, 10);
    expect(due).toEqual([
      expect.objectContaining({ id, expires_at: null, attempts: 0, extra_attempts: 0, resume_at: null }),
    ]);
  },
);
