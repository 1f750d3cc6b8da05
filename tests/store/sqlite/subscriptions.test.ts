import { expect, onTestFinished, test } from "bun:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { drizzle } from "drizzle-orm/bun-sqlite";
import type { Subscription } from "../../../src/domain/subscriptions.ts";
import { isoTime } from "../../../src/domain/time.ts";
import { userFrom } from "../../../src/domain/users.ts";
import { subscriptionStatements } from "../../../src/store/sqlite/nouns.ts";
import { openForReading } from "../../../src/store/sqlite/open.ts";
import { subscriptions } from "../../../src/store/sqlite/schema.ts";
import { Snapshots } from "../../../src/store/sqlite/snapshots.ts";
import { openReader } from "../../../src/store/sqlite/store.ts";
import { emptyStore, storedApplication } from "../../support/store.ts";

const now = Date.parse("2026-01-14T16:00:00Z");

test("a list is of one moment, lets others have their turns, and hides nothing from them", async () => {
  const { store, path } = emptyStore();
  const reader = openReader(path);
  onTestFinished(() => reader.close());
  const users = Array.from({ length: 10_001 }, (_, i) => userFrom({ id: i + 1, username: `user${i + 1}` }));
  await store.users.upsert(users, isoTime(now));
  const app = await storedApplication(store);
  const subscribe = async (broadcasters: readonly number[]) => {
    const event = { event: "channel.followed", version: 1 };
    const wanted = broadcasters.map((id) => ({ broadcaster_user_id: id, ...event }));
    const made = await store.subscriptions.subscribe({ applicationId: app, wanted, limit: 20_000 }, now);
    return made.results.map((one) => ("id" in one ? one.id : ""));
  };
  const listed = async () => {
    const { slices, used } = await reader.subscriptions.list(app, null);
    const text = slices.map((slice) => new TextDecoder().decode(slice)).join(",");
    return { records: JSON.parse(`[${text}]`) as Subscription[], used };
  };
  const idsOf = (records: readonly Subscription[]) => records.map(({ id }) => id);
  const ids = await subscribe(Array.from({ length: 10_000 }, (_, i) => i + 1));
  let turns = 0;
  let done = false;
  const listing = listed().finally(() => {
    done = true;
  });
  for (; turns < 3; turns++) await nextTurn();
  await store.subscriptions.remove(app, [ids[0] ?? "", ids[9_999] ?? ""], now);
  const [added = ""] = await subscribe([10_001]);
  expect(await reader.subscriptions.find(app, ids[0] ?? "")).toBeNull();
  expect(await reader.subscriptions.find(app, added)).not.toBeNull();
  expect(await reader.subscriptions.count(app)).toBe(9_999);
  expect(done).toBe(false);
  const later = listed();
  for (; !done; turns++) await nextTurn();
  const { records, used } = await listing;
  expect(idsOf(records)).toEqual(ids);
  expect(used).toBe(10_000);
  expect(turns).toBeGreaterThanOrEqual(8);
  // One that was asked for meanwhile does not show the moment of the first.
  expect(idsOf((await later).records)).toEqual([...ids.slice(1, -1), added]);
});

test("which of some keys an application has is read by their index, however many others it has", () => {
  const { path } = emptyStore();
  const db = openForReading(path);
  onTestFinished(() => db.close());
  const orm = drizzle(db);
  const { isOf } = subscriptionStatements(orm, new Snapshots(() => db));
  const { sql, params } = orm
    .select()
    .from(subscriptions)
    .where(isOf("an-application", [1, 2]))
    .toSQL();
  const plan = db.query<{ detail: string }, string[]>(`EXPLAIN QUERY PLAN ${sql}`).all(...params.map(String));
  const steps = plan.map(({ detail }) => detail).filter((detail) => detail.includes("subscriptions"));
  expect(steps).toEqual([
    "SEARCH subscriptions USING INTEGER PRIMARY KEY (rowid=?)",
    "SEARCH subscriptions USING COVERING INDEX subscriptions_key (app_id=? AND <expr>=?)",
  ]);
});
