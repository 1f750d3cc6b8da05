import { beforeEach, describe, expect, test } from "bun:test";
import type { NewEvent } from "../../src/domain/deliveries.ts";
import type { FilterChanges } from "../../src/domain/filters.ts";
import type { Store } from "../../src/domain/store.ts";
import { isoTime } from "../../src/domain/time.ts";
import { userFrom } from "../../src/domain/users.ts";
import { loggedDeliveries, newEvent, ownStore, storedAt, subscriber } from "../support/store.ts";

/* Filters as publishing applies them, on both databases. */

const name = "channel.followed";
const always = () => true;

let store: Store;
beforeEach(async () => {
  ({ store } = await ownStore());
  await store.users.upsert(
    [1, 2].map((id) => userFrom({ id, username: `user_${id}` })),
    isoTime(storedAt),
  );
});

const event = (id: string, data: object, more: Partial<NewEvent> = {}) =>
  newEvent(id, { body: JSON.stringify({ type: name, data }), ...more });
const publish = (id: string, data: object, more: Partial<NewEvent> = {}) =>
  store.events.publish(event(id, data, more), always);
const filter = (id: string, filters: FilterChanges) => store.applications.update(id, { filters }, storedAt);
const above = (x: number): FilterChanges => ({ [name]: { x: { $gt: x } } });

/** The ids of the events of an application's deliveries, with their sequences. */
const received = async (application_id: string) =>
  (await loggedDeliveries(store, { application_id })).map(
    ({ event_id, sequence }) => `${event_id} ${sequence}`,
  );

describe("an event that does not match the filter of an application", () => {
  test("is published, and the same again is answered as before", async () => {
    const only = await subscriber(store);
    await filter(only, above(5));
    expect(await publish("a", { x: 1 })).toMatchObject({ id: "a", deliveries: 0, taken: [], streamed: [] });
    const again = await publish("a", { x: 1 });
    expect(again).toMatchObject({ id: "a", deliveries: 0, taken: [], filtered: [] });
    const other = event("a", { x: 9 }, { fingerprint: Buffer.from("other") });
    await expect(store.events.publish(other, always)).rejects.toMatchObject({ code: "conflict" });
    expect(await received(only)).toEqual([]);
  });

  test("is not on its event stream", async () => {
    const streaming = await subscriber(store, { delivery: "stream" });
    await filter(streaming, above(5));
    expect(await publish("a", { x: 1 })).toMatchObject({ deliveries: 0, streamed: [] });
    expect(await publish("b", { x: 6 })).toMatchObject({ deliveries: 1, streamed: [streaming] });
    expect(await received(streaming)).toEqual(["b 1"]);
  });

  test("is not kept for it while its endpoint is disabled, or the operator has disabled it", async () => {
    const app = await subscriber(store, { filters: { [name]: { condition: { x: 1 }, set_at: 1 } } });
    await store.applications.update(app, { disabled: true }, storedAt);
    await publish("a", { x: 2 });
    await publish("b", { x: 1 });
    expect(await received(app)).toEqual(["b 1"]);
  });

  test("of many subscribers, makes deliveries for all others", async () => {
    const [all, some]: string[][] = [[], []];
    for (let i = 0; i < 40; i++) {
      const id = await subscriber(store);
      if (i % 2 === 0) all?.push(id);
      else {
        some?.push(id);
        await filter(id, above(i));
      }
    }
    const { deliveries, filtered } = await publish("a", { x: 20 });
    // The odd ones from 1 to 19 match.
    expect([deliveries, filtered.length]).toEqual([30, 10]);
    await publish("b", { x: 100 });
    for (const id of all ?? []) expect(await received(id)).toEqual(["a 1", "b 2"]);
    for (const [i, id] of (some ?? []).entries())
      expect(await received(id)).toEqual(2 * i + 1 < 20 ? ["a 1", "b 2"] : ["b 1"]);
  });
});

test("events that are published together are filtered one by one", async () => {
  const [all, some] = [await subscriber(store), await subscriber(store)];
  await filter(some, above(5));
  const given = [3, 7, 2, 8].map((x, i) => event(`e${i}`, { x }));
  const { published, filtered } = await store.events.publishAll(given, always);
  expect(published.map(({ deliveries }) => deliveries)).toEqual([1, 2, 1, 2]);
  expect(filtered).toHaveLength(2);
  await Promise.all(given.map((one) => store.events.publish({ ...one, id: `${one.id}x` }, always)));
  expect((await received(all)).map((one) => one.split(" ")[1])).toEqual([
    "1",
    "2",
    "3",
    "4",
    "5",
    "6",
    "7",
    "8",
  ]);
  expect((await received(some)).sort()).toEqual(["e1 1", "e1x 3", "e3 2", "e3x 4"]);
});

test("each type has its own filter, and a change by one application leaves those of others", async () => {
  const other = "kicks.gifted";
  const [one, two] = [
    await subscriber(store, { events: [name, other] }),
    await subscriber(store, { events: [name, other] }),
  ];
  await filter(one, { [name]: { x: 1 }, [other]: { x: 2 } });
  await filter(two, { [other]: { x: 1 } });
  await publish("a", { x: 1 });
  await publish("b", { x: 1 }, { name: other });
  expect(await received(one)).toEqual(["a 1"]);
  expect((await received(two)).sort()).toEqual(["a 1", "b 1"]);
});

test("an event of an unknown broadcaster is still refused", async () => {
  await filter(await subscriber(store), above(5));
  await expect(publish("a", { x: 9 }, { broadcaster_user_id: 404 })).rejects.toMatchObject({
    code: "invalid_parameter",
  });
});
