import { expect, test } from "bun:test";
import { addedRequests, noRequests, RequestCounter, requestLimits } from "../../src/domain/requests.ts";
import { hour } from "../../src/domain/time.ts";

const now = 500_000 * hour + 5;
const hourOf = (hoursAgo: number, counts: Record<string, number>) => ({
  at: 500_000 * hour - hoursAgo * hour,
  counts,
});
const refusedAt = (at: number) => ({
  at,
  operation: "getUser",
  status: 429,
  code: "rate_limited",
  request_id: `${at}`,
});

test("counts of the same hour add up, name by name", () => {
  const one = { hours: [hourOf(1, { "getUser 200": 1 }), hourOf(0, { "getUser 200": 2 })], refused: [] };
  const other = { hours: [hourOf(0, { "getUser 200": 3, "getUser 404": 1 })], refused: [] };
  expect(addedRequests(one, other, now).hours).toEqual([
    hourOf(1, { "getUser 200": 1 }),
    hourOf(0, { "getUser 200": 5, "getUser 404": 1 }),
  ]);
});

test("what is older than a day is dropped, but for the hour that reaches into it", () => {
  const hours = [hourOf(25, { "a 200": 1 }), hourOf(24, { "a 200": 1 }), hourOf(23, { "a 200": 1 })];
  const refused = [refusedAt(now - 24 * hour), refusedAt(now - 24 * hour + 1)];
  const kept = addedRequests({ hours, refused }, noRequests, now);
  expect(kept.hours).toEqual(hours.slice(1));
  expect(kept.refused).toEqual(refused.slice(1));
});

test("the last refused ones of both are kept, in order of time", () => {
  const many = Array.from({ length: 150 }, (_, i) => refusedAt(now - 1_000 + 2 * i));
  const others = Array.from({ length: 150 }, (_, i) => refusedAt(now - 999 + 2 * i));
  const { refused } = addedRequests({ hours: [], refused: many }, { hours: [], refused: others }, now);
  expect(refused).toEqual([...many, ...others].sort((a, b) => a.at - b.at).slice(-requestLimits.refused));
});

test("a counter gives each request once, and keeps a bounded part", () => {
  const counter = new RequestCounter(() => now);
  const request = { operation: "getUser", status: 200, code: "", requestId: "r" };
  for (let i = 0; i < 1_000; i++)
    counter.count({ ...request, applicationId: "one", status: i % 2 ? 200 : 429, code: "rate_limited" });
  counter.count({ ...request, applicationId: "one", operation: null, status: 500 });
  const { hours, refused } = counter.of("one");
  expect(hours).toEqual([hourOf(0, { "getUser 200": 500, "getUser 429": 500, "other 500": 1 })]);
  expect(refused.length).toBe(requestLimits.refused);
  expect(counter.take(10).map(([id]) => id)).toEqual(["one"]);
  expect(counter.take(10)).toEqual([]);
  expect(counter.of("one")).toEqual(noRequests);
  for (let i = 0; i <= requestLimits.applications; i++) counter.count({ ...request, applicationId: `${i}` });
  expect(counter.take(2).map(([id]) => id)).toEqual(["0", "1"]);
  expect(counter.size).toBe(requestLimits.applications - 2);
});
