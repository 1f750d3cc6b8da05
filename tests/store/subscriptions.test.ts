import { beforeEach, describe, expect, test } from "bun:test";
import { builtInEventTypes } from "../../src/domain/events/built-in.ts";
import { newId } from "../../src/domain/ids.ts";
import type { Store } from "../../src/domain/store.ts";
import type { Subscription, WantedEvent } from "../../src/domain/subscriptions.ts";
import { userFrom } from "../../src/domain/users.ts";
import { ownStore, storedApplication } from "../support/store.ts";

const now = Date.parse("2026-01-14T16:00:00Z");
const broadcasters = 250;
const [followed = ""] = builtInEventTypes.map(({ name }) => name);
const limit = 20_000;

/** A type of the platform's own. */
const type = {
  name: "raffle.won",
  version: 1,
  description: "",
  schema: {},
  example: {},
  time_to_live_seconds: null,
};

let store: Store;
/** A connection like that of the main thread of a server. */
let reader: Store;
let app: string;
beforeEach(async () => {
  const opened = await ownStore();
  store = opened.store;
  reader = await opened.reader();
  const users = Array.from({ length: broadcasters }, (_, i) =>
    userFrom({ id: i + 1, username: `user${i + 1}` }),
  );
  await store.users.upsert(users, new Date(now).toISOString());
  app = await storedApplication(store);
});

const subscribeTo = (wanted: readonly WantedEvent[], to = app) =>
  store.subscriptions.subscribe({ applicationId: to, wanted, limit }, now);

/** Subscribes to so many events, spread over all broadcasters; gives the ids in order. */
async function subscribe(count: number, to = app): Promise<string[]> {
  const wanted = Array.from({ length: count }, (_, i) => ({
    broadcaster_user_id: 1 + (i % broadcasters),
    event: builtInEventTypes[Math.floor(i / broadcasters)]?.name ?? "",
    version: 1,
  }));
  return (await subscribeTo(wanted, to)).results.map((one) => ("id" in one ? one.id : ""));
}

async function listed(of = app, broadcaster: number | null = null) {
  const { slices, used } = await reader.subscriptions.list(of, broadcaster);
  const text = slices.map((slice) => new TextDecoder().decode(slice)).join(",");
  return { records: JSON.parse(`[${text}]`) as Subscription[], used };
}
const idsOf = (records: readonly Subscription[]) => records.map(({ id }) => id);

describe("a list", () => {
  test.each([0, 1_000, 2_001])("of %d has each once, in the order in which they were made", async (count) => {
    const ids = await subscribe(count);
    await subscribe(3, await storedApplication(store));
    const { records, used } = await listed();
    expect(idsOf(records)).toEqual(ids);
    expect(records).toEqual(await reader.subscriptions.ofApplication(app));
    expect(used).toBe(count);
  });

  test("shows stored text unchanged", async () => {
    const event = 'odd "name" \\ ü\n';
    await store.eventTypes.put({ ...type, name: event, version: 7 }, now);
    await subscribeTo([{ broadcaster_user_id: 2, event, version: 7 }]);
    const [record] = (await listed()).records;
    expect(record).toEqual({
      id: expect.any(String),
      app_id: app,
      broadcaster_user_id: 2,
      event,
      version: 7,
      method: "webhook",
      created_at: "2026-01-14T16:00:00.000Z",
      updated_at: "2026-01-14T16:00:00.000Z",
    });
  });

  test("of a broadcaster has those alone, and says how many the application has", async () => {
    const ids = await subscribe(650);
    const { records, used } = await listed(app, 2);
    expect(idsOf(records)).toEqual([ids[1], ids[251], ids[501]] as string[]);
    expect(used).toBe(650);
  });
});

test("none is to an event type that is not there, as one that was removed meanwhile", async () => {
  await store.eventTypes.put({ ...type, version: 2 }, now);
  const key = { broadcaster_user_id: 1 };
  const wanted = [
    { ...key, event: type.name, version: 1 },
    { ...key, event: type.name, version: 2 },
    { ...key, event: followed, version: 1 },
  ];
  const { results, used } = await subscribeTo(wanted);
  const error = expect.stringContaining("There is no event with this name");
  expect(results).toEqual([{ error }, { id: expect.any(String) }, { id: expect.any(String) }]);
  expect([used, (await listed()).used]).toEqual([2, 2]);
});

describe("the stored count equals the number of subscriptions", () => {
  const counted = async (of = app) => {
    const count = await reader.subscriptions.count(of);
    expect(count).toBe((await reader.subscriptions.ofApplication(of)).length);
    return count;
  };

  test("after whatever creates and deletes subscriptions", async () => {
    const other = await storedApplication(store);
    expect(await counted()).toBe(0);
    const ids = await subscribe(300);
    await subscribe(300);
    await subscribe(50, other);
    expect([await counted(), await counted(other)]).toEqual([300, 50]);
    await store.subscriptions.remove(app, [...ids.slice(0, 10), ids[0] ?? "", newId()], now);
    await store.subscriptions.remove(other, ids.slice(10, 20), now);
    expect([await counted(), await counted(other)]).toEqual([290, 50]);
    await store.subscriptions.remove(app, ids.slice(20, 30), now, 21);
    expect(await counted()).toBe(289);
    await store.users.remove(50, now);
    expect([await counted(), await counted(other)]).toEqual([287, 49]);
    await store.consents.revoke(51, app, now);
    expect([await counted(), await counted(other)]).toEqual([286, 49]);
    await store.applications.remove(other, now);
    expect([await counted(), await counted(other)]).toEqual([286, 0]);
  });

  test("after a registered event type is deleted", async () => {
    await store.eventTypes.put(type, now);
    await subscribeTo([{ broadcaster_user_id: 1, event: type.name, version: 1 }]);
    await subscribe(9);
    expect(await counted()).toBe(10);
    await store.eventTypes.remove(type.name, 1);
    expect(await counted()).toBe(9);
  });
});
