import { expect, test } from "bun:test";
import { type Connection, Pool } from "../../../src/delivery/send/connection.ts";

/** The fields of a connection that a pool reads. */
function connectionTo(origin: string) {
  const connection = {
    destination: { origin },
    isOpen: true,
    owner: null,
    keptUntil: 0,
    destroy() {
      connection.isOpen = false;
    },
  };
  return connection as unknown as Connection;
}

const unlimited = Number.POSITIVE_INFINITY;

const poolOf = (capacity: number, inUse = 0) => new Pool({ capacity, inUse: () => inUse });

function poolWith(...kept: [Connection, keepMs: number][]): Pool {
  const pool = poolOf(8);
  for (const [connection, keepMs] of kept) pool.keep(connection, keepMs, 1_000);
  return pool;
}

test.each([
  [unlimited, 4_999, true],
  [unlimited, 5_000, false],
  [60_000, 5_000, false],
  [2_000, 2_999, true],
  [2_000, 3_000, false],
])("a connection kept at 1 s for at most %p ms is good at %p ms: %p", (keepMs, at, isGood) => {
  const connection = connectionTo("https://a");
  const pool = poolWith([connection, keepMs]);
  expect(pool.take("https://a", at)).toBe(isGood ? connection : null);
  expect(connection.isOpen).toBe(isGood);
  pool.close();
});

test("the one that was used last is taken, once, and only for its own protocol, host and port", () => {
  const [first, last] = [connectionTo("https://a"), connectionTo("https://a")];
  const pool = poolWith([first, unlimited], [last, unlimited], [connectionTo("https://a:444"), unlimited]);
  expect(pool.take("http://a", 1_000)).toBeNull();
  expect(pool.take("https://a", 1_000)).toBe(last);
  expect(pool.take("https://a", 1_000)).toBe(first);
  expect(pool.take("https://a", 1_000)).toBeNull();
  pool.close();
});

test("one that broke meanwhile is passed over", () => {
  const [good, broken] = [connectionTo("https://a"), connectionTo("https://a")];
  const pool = poolWith([good, unlimited], [broken, unlimited]);
  broken.destroy();
  expect(pool.take("https://a", 1_000)).toBe(good);
  pool.close();
});

test("idle connections of all origins and those in use are bounded together", () => {
  const kept = ["https://a", "https://a", "https://b", "https://a"].map(connectionTo);
  const pool = poolOf(8, 5);
  for (const one of kept) pool.keep(one, unlimited, 1_000);
  expect(kept.map(({ isOpen }) => isOpen)).toEqual([true, true, true, false]);
  expect(pool.take("https://b", 1_000)).toBe(kept[2] ?? null);
  const next = connectionTo("https://c");
  pool.keep(next, unlimited, 1_000);
  expect(next.isOpen).toBe(true);
  pool.close();
});

test("one that waits is closed where another one has to be made and there would be too many", () => {
  const kept = ["https://a", "https://b", "https://b"].map(connectionTo);
  let inUse = 0;
  const pool = new Pool({ capacity: 4, inUse: () => inUse });
  for (const one of kept) pool.keep(one, unlimited, 1_000);
  for (const expected of [3, 2, 1, 0, 0]) {
    inUse++;
    pool.evictIfFull();
    expect(kept.filter(({ isOpen }) => isOpen).length).toBe(expected);
  }
  pool.close();
});

test("all are closed with it", () => {
  const kept = [connectionTo("https://a"), connectionTo("https://b")];
  poolWith(...kept.map((connection): [Connection, number] => [connection, unlimited])).close();
  expect(kept.map(({ isOpen }) => isOpen)).toEqual([false, false]);
});
