import { Database } from "bun:sqlite";
import { beforeEach, describe, expect, test } from "bun:test";
import { everything } from "../../../src/domain/deliveries.ts";
import type { Store } from "../../../src/domain/store.ts";
import { day, hour } from "../../../src/domain/time.ts";
import { randomText } from "../../support/bodies.ts";
import {
  attemptResult,
  emptyStore,
  loggedDeliveries,
  newEvent,
  storedAt,
  subscriber,
} from "../../support/store.ts";

const now = storedAt;
const noRetention = { deliveredMs: 0, failedMs: 0, bodiesMs: 0 };
const body = JSON.stringify({ text: randomText(1_900) });

let store: Store;
let path: string;
let application: string;
beforeEach(async () => {
  ({ store, path } = emptyStore());
  application = await subscriber(store, { events: ["kicks.gifted", "channel.followed"] });
  await store.deliveries.releaseAll();
});

const event = (id: string, name = "kicks.gifted", published_at = now) =>
  newEvent(id, { name, body, published_at });

/** Publishes so many events, whose deliveries end like this. */
async function published(
  prefix: string,
  count: number,
  status: "delivered" | "failed" | "pending",
  { name = "kicks.gifted", publishedAt = now } = {},
): Promise<void> {
  const events = Array.from({ length: count }, (_, n) => event(`${prefix} ${n}`, name, publishedAt));
  const { taken } = await store.events.publishAll(events, () => true);
  if (status === "pending") return;
  await store.deliveries.record(
    taken.map((one) => attemptResult(one, { at: publishedAt, status, attempt: null })),
    [],
  );
}

async function trim(maxBytes: number): Promise<void> {
  for (let steps = 0; !(await store.retention.trim(maxBytes)); steps++) {
    if (steps > 1_000) throw new Error("it has no end");
  }
}

/** How many deliveries of each group of events are kept, and how many of their bodies. */
async function kept() {
  const groups: Record<string, { deliveries: number; bodies: number }> = {};
  for (const { id, event_id } of await loggedDeliveries(store)) {
    const group = groups[event_id.replace(/ \d+$/, "")] ?? { deliveries: 0, bodies: 0 };
    const found = await store.deliveries.find(everything, id);
    groups[event_id.replace(/ \d+$/, "")] = {
      deliveries: group.deliveries + 1,
      bodies: group.bodies + (found?.body ? 1 : 0),
    };
  }
  return groups;
}

function pages() {
  const db = new Database(`${path}/onair.db`, { readonly: true });
  const read = (name: string) => Object.values(db.query(`PRAGMA ${name}`).get() as object)[0] as number;
  const found = { all: read("page_count"), free: read("freelist_count"), size: read("page_size") };
  const ok = db.query<{ integrity_check: string }, []>("PRAGMA integrity_check").get()?.integrity_check;
  db.close();
  return { ...found, bytes: (found.all - found.free) * found.size, ok };
}

describe("a largest size", () => {
  test("below nine tenths of it nothing is removed", async () => {
    await published("delivered", 500, "delivered");
    await trim(pages().bytes * 1.2);
    expect(await kept()).toEqual({ delivered: { deliveries: 500, bodies: 500 } });
  });

  test("the oldest delivered ones are removed first, with their bodies; pending and failed ones stay", async () => {
    await published("pending", 300, "pending");
    await published("failed", 300, "failed");
    await published("old", 600, "delivered");
    await published("new", 600, "delivered");
    const max = pages().bytes;
    await trim(max);
    const { old, ...others } = await kept();
    expect(others).toEqual({
      pending: { deliveries: 300, bodies: 300 },
      failed: { deliveries: 300, bodies: 300 },
      new: { deliveries: 600, bodies: 600 },
    });
    expect(old?.deliveries ?? 0).toBeLessThan(600);
    expect(old?.bodies ?? 0).toBe(old?.deliveries ?? 0);
    expect(pages().bytes).toBeLessThan(max * 0.9);
    expect(await store.deliveries.lastRemoved(application)).toBeGreaterThan(600);
    // The ids are still known.
    expect((await store.events.publish(event("old 0"), () => true)).taken).toEqual([]);
  });

  test("then deliveries that ended otherwise are removed, and events are refused once none of these is left", async () => {
    await published("failed", 500, "failed");
    await published("delivered", 500, "delivered");
    await published("pending", 1_000, "pending");
    const max = Math.floor(pages().bytes * 0.5);
    await trim(max);
    expect(await kept()).toEqual({ pending: { deliveries: 1_000, bodies: 1_000 } });
    expect(pages().bytes).toBeGreaterThan(max);
    const message = expect.stringMatching(/largest size \(--max-data-size, \d+ MB\).*Set a larger size/);
    const refused = { code: "unavailable", message };
    await expect(store.events.publish(event("one more"), () => true)).rejects.toMatchObject(refused);
    await expect(store.events.publishAll([event("one more")], () => true)).rejects.toMatchObject(refused);
    // All else works, and frees space.
    const rows = await loggedDeliveries(store);
    await store.deliveries.record(
      rows.map((one) => attemptResult(one, { attempt: null })),
      [],
    );
    await trim(max);
    expect((await store.events.publish(event("one more"), () => true)).deliveries).toBe(1);
  });

  test("bodies of events without a subscriber, which earlier versions kept, are removed, before any delivery and after all of them", async () => {
    await published("delivered", 100, "delivered");
    for (const round of ["first", "second"]) {
      const name = "livestream.status.updated";
      await published(`unheard ${round}`, 600, "pending", { name });
      const db = new Database(`${path}/onair.db`);
      db.run("UPDATE events SET body = ? WHERE name = ?", [body, name]);
      db.close();
      const before = pages().bytes;
      await trim(before);
      expect(await kept()).toEqual({});
      expect(pages().bytes).toBeLessThan(before * 0.9);
    }
  });
});

test("an event type can have a shorter or a longer retention", async () => {
  const publishedAt = now - 10 * hour;
  await published("short", 3, "delivered", { name: "channel.followed", publishedAt });
  await published("other", 3, "delivered", { publishedAt });
  await published("short and failed", 3, "failed", { name: "channel.followed", publishedAt });
  await published("short and pending", 3, "pending", { name: "channel.followed", publishedAt });
  const byType = { "channel.followed": 6 * hour };
  const retention = { deliveredMs: day, failedMs: day, bodiesMs: day };
  while (!(await store.retention.prune({ ...retention, byType }, now)));
  expect(await kept()).toEqual({
    other: { deliveries: 3, bodies: 3 },
    "short and pending": { deliveries: 3, bodies: 3 },
  });
  const longer = { "kicks.gifted": 3 * day, "channel.followed": 3 * day };
  const later = now + 2 * day;
  while (!(await store.retention.prune({ ...retention, byType: longer }, later)));
  expect(Object.keys(await kept())).toEqual(["other", "short and pending"]);
  while (!(await store.retention.prune(retention, later + day)));
  expect(Object.keys(await kept())).toEqual(["short and pending"]);
});

describe("free pages", () => {
  /** Leaves many behind. */
  async function freed(): Promise<void> {
    await published("gone", 6_000, "delivered");
    await published("kept", 100, "delivered");
    await store.deliveries.record([], []); // a commit, which moves staged events
    while (!(await store.retention.prune(noRetention, now + 1)));
  }

  test("are given back in steps, except for a reserve", async () => {
    await freed();
    const before = pages();
    expect(before.free).toBeGreaterThan(2_000);
    for (let steps = 0; !(await store.retention.shrink()); steps++) expect(steps).toBeLessThan(1_000);
    const after = pages();
    expect(after.free).toBeLessThan(1_100);
    expect(after.all).toBeLessThan(before.all - 1_000);
    expect(after.ok).toBe("ok");
  });
});
