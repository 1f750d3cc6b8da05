import { expect, test } from "bun:test";
import type { Connection } from "../../src/webhooks/connection.ts";
import { Pool } from "../../src/webhooks/pool.ts";

/** As much of a connection as a pool sees. */
function connectionTo(origin: string) {
  const connection = {
    target: { origin },
    isOpen: true,
    user: null,
    keptUntil: 0,
    destroy() {
      connection.isOpen = false;
    },
  };
  return connection as unknown as Connection;
}

const unlimited = Number.POSITIVE_INFINITY;

function poolWith(...kept: [Connection, keepMs: number][]): Pool {
  const pool = new Pool();
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

test("of one protocol, host and port 512 are kept; those beyond are closed", () => {
  const kept = Array.from({ length: 513 }, () => connectionTo("https://a"));
  const other = connectionTo("https://b");
  const pool = poolWith(...[...kept, other].map((one): [Connection, number] => [one, unlimited]));
  expect(kept.findIndex(({ isOpen }) => !isOpen)).toBe(512);
  expect(other.isOpen).toBe(true);
  pool.close();
});

test("all are closed with it", () => {
  const kept = [connectionTo("https://a"), connectionTo("https://b")];
  poolWith(...kept.map((connection): [Connection, number] => [connection, unlimited])).close();
  expect(kept.map(({ isOpen }) => isOpen)).toEqual([false, false]);
});
