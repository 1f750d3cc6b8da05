import { expect, test } from "bun:test";
import { ApplicationTraffic } from "../../src/api/http/context.ts";
import { minute } from "../../src/domain/time.ts";
import { Clock } from "../support/server.ts";

const named = (n: number) => ({ id: `id${n}`, name: `Application ${n}` });

test("the 20 applications with the most requests of late are counted, and no count that is shown ever falls", () => {
  const clock = new Clock();
  const traffic = new ApplicationTraffic(clock.now);
  let sum = 0;
  let before = new Map<string, number>();
  const count = (n: number, times: number, status = 200) => {
    for (let i = 0; i < times; i++) traffic.count(named(n), status);
    sum += times;
    const shown = traffic.shown();
    expect(shown.length).toBeLessThanOrEqual(21);
    const now = new Map(shown.map(({ id, requests }) => [id, requests]));
    for (const [id, requests] of now) expect(requests).toBeGreaterThanOrEqual(before.get(id) ?? 0);
    before = now;
  };
  for (let n = 0; n < 30; n++) count(n, 2);
  expect(traffic.shown().reduce((total, { requests }) => total + requests, 0)).toBe(sum);
  expect(traffic.shown().at(-1)).toEqual({ id: "other", name: "other", requests: 20, limited: 0 });
  // One of the others floods: it gets the place of one with fewer requests within a minute.
  count(29, 500, 429);
  clock.advance(minute);
  count(29, 100, 429);
  const ofFlooder = traffic.shown().find(({ id }) => id === "id29");
  expect(ofFlooder).toEqual({ ...named(29), requests: 100, limited: 100 });
  expect(traffic.shown().at(-1)).toMatchObject({ requests: 520, limited: 500 });
  expect(traffic.shown()).toHaveLength(21);
});

test("applications with about as many requests do not alternate, and a changed name is a series of its own", () => {
  const clock = new Clock();
  const traffic = new ApplicationTraffic(clock.now);
  for (let round = 0; round < 5; round++) {
    for (let n = 0; n < 40; n++) for (let i = 0; i < 10 + (n % 3); i++) traffic.count(named(n), 200);
    clock.advance(minute);
  }
  const ids = traffic.shown().map(({ id }) => id);
  expect(ids).toEqual([...Array.from({ length: 20 }, (_, n) => `id${n}`), "other"]);
  traffic.count({ id: "id3", name: "Renamed" }, 200);
  expect(traffic.shown().filter(({ id }) => id === "id3")).toEqual([
    { id: "id3", name: "Renamed", requests: 1, limited: 0 },
  ]);
});
