import { beforeEach, describe, expect, test } from "bun:test";
import type { StatisticRow } from "../../src/domain/statistics.ts";
import type { Store } from "../../src/domain/store.ts";
import { day, hour, minute } from "../../src/domain/time.ts";
import { userFrom } from "../../src/domain/users.ts";
import { ownStore } from "../support/store.ts";

const row = (subject: string, at: number, delivered: number, durations: number[] = []): StatisticRow => ({
  kind: "deliveries",
  subject,
  at,
  counts: { delivered },
  durations,
});

describe("statistics", () => {
  let store: Store;
  beforeEach(async () => {
    ({ store } = await ownStore());
  });
  const read = (subject: string | null, period: "minute" | "hour" | "day", from = 0, to = 100 * day) =>
    store.statistics.read({ kind: "deliveries", subject, period, from, to });

  test("add up by minute, hour and day, apart for each subject", async () => {
    await store.statistics.add([row("", hour, 2, [1, 1]), row("a", hour, 2, [1, 1])]);
    await store.statistics.add([row("", hour, 3, [0, 0, 3]), row("", hour + minute, 5)]);
    await store.statistics.add([row("", 3 * hour, 7)]);
    expect(await read("", "minute")).toEqual([
      row("", hour, 5, [1, 1, 3]),
      row("", hour + minute, 5),
      row("", 3 * hour, 7),
    ]);
    expect(await read("", "hour")).toEqual([row("", hour, 10, [1, 1, 3]), row("", 3 * hour, 7)]);
    expect(await read("", "day")).toEqual([row("", 0, 17, [1, 1, 3])]);
    expect(await read(null, "minute")).toEqual([row("a", hour, 2, [1, 1])]);
    expect(await read("", "minute", hour + 1, 3 * hour)).toEqual([row("", hour + minute, 5)]);
  });

  test("the size of the database is known, and grows", async () => {
    const before = await store.statistics.databaseBytes();
    expect(before).toBeGreaterThan(100_000);
    const rows = Array.from({ length: 1_000 }, (_, i) => row(`subject ${i}`, hour, 1, Array(20).fill(1)));
    for (let i = 0; i < rows.length; i += 500) await store.statistics.add(rows.slice(i, i + 500));
    expect(await store.statistics.databaseBytes()).toBeGreaterThan(before + 100_000);
  });

  test("the size is known by kind of data", async () => {
    const before = await store.statistics.kindSizes();
    const users = Array.from({ length: 2_000 }, (_, i) =>
      userFrom({ id: i + 1, username: `user_number_${i}` }),
    );
    await store.users.upsert(users, "2026-01-14T16:00:00.000Z");
    const { users: now, search, events, deliveries, ...others } = await store.statistics.kindSizes();
    expect(now).toBeGreaterThan(before.users + 100_000);
    expect(search).toBeGreaterThan(before.search);
    expect([events, deliveries]).toEqual([before.events, before.deliveries]);
    // On PostgreSQL attempts stand with their deliveries.
    expect(Math.min(events, deliveries, others.subscriptions, others.access)).toBeGreaterThan(0);
  });

  test("concurrent additions are all counted", async () => {
    await Promise.all(
      Array.from({ length: 20 }, () => store.statistics.add([row("", hour, 1), row("a", hour, 1)])),
    );
    expect(await read("", "minute")).toEqual([row("", hour, 20)]);
    expect(await read("a", "day")).toEqual([row("a", 0, 20)]);
  });

  test("minutes are removed after two hours, hours after eight days", async () => {
    await store.statistics.add([row("", day / 2, 1), row("", 9 * day, 1)]);
    expect(await store.statistics.prune(9 * day - hour)).toBe(true);
    expect((await read("", "minute")).map(({ at }) => at)).toEqual([9 * day]);
    expect((await read("", "hour")).map(({ at }) => at)).toEqual([9 * day]);
    expect((await read("", "day")).map(({ at }) => at)).toEqual([0, 9 * day]);
  });
});
