import { expect, test } from "bun:test";
import { storingRequests, storingStatistics } from "../../src/delivery/maintenance.ts";
import { RequestCounter, type RequestStore } from "../../src/domain/requests.ts";
import { StatisticCounter, type StatisticRow } from "../../src/domain/statistics.ts";
import { createLog } from "../../src/runtime/log.ts";
import { ownStore, storedApplication, storedAt } from "../support/store.ts";

test("requests of many applications are stored in small commits, for which no publish waits long", async () => {
  const { store } = await ownStore();
  const counter = new RequestCounter(() => storedAt);
  const ids: string[] = [];
  for (let i = 0; i < 23; i++) ids.push(await storedApplication(store, { id: `app-${i}` }));
  const refused = { operation: "getUser", status: 404, code: "user_not_found", requestId: "r" };
  for (const applicationId of ids) counter.count({ applicationId, ...refused });
  const sizes: number[] = [];
  const counted: number[] = [];
  const requests: RequestStore = {
    ...store.requests,
    add(some, now) {
      sizes.push(some.length);
      counted.push(counter.size);
      return store.requests.add(some, now);
    },
  };
  await storingRequests(counter, { requests }, createLog("off")).run(AbortSignal.abort());
  expect(Math.max(...sizes)).toBeLessThanOrEqual(5);
  // Until its own commit, a request is read from the counter.
  expect(counted).toEqual([18, 13, 8, 3, 0]);
  for (const id of ids)
    expect((await store.requests.of(id)).hours.map(({ counts }) => counts)).toEqual([{ "getUser 404": 1 }]);
});

test("what is counted while counts are being stored for the last time is stored, too", async () => {
  const counter = new StatisticCounter(() => 0);
  const stored: StatisticRow[] = [];
  const add = async (rows: readonly StatisticRow[]) => {
    if (stored.length === 0) counter.count("requests", "public later", "requests", 1);
    stored.push(...rows);
  };
  const statistics = { add } as Parameters<typeof storingStatistics>[1]["statistics"];
  counter.count("requests", "public earlier", "requests", 1);
  await storingStatistics(counter, { statistics }, createLog("off"), () => {}).run(AbortSignal.abort());
  const subjects = stored.map(({ subject }) => subject);
  expect(subjects).toEqual(expect.arrayContaining(["public earlier", "public later"]));
});
