import { expect, test } from "bun:test";
import { rateLimiter } from "../../src/api/http/access.ts";
import type { Share } from "../../src/domain/replicas.ts";
import { RateShares } from "../../src/postgres/peers.ts";
import { until } from "../support/until.ts";

/** A replica's limiter, what it tells, and the limiter of another replica that hears it. */
function replicas() {
  const told: Share[] = [];
  const other = rateLimiter(() => 0);
  const here = rateLimiter(
    () => 0,
    new RateShares((shares) => {
      for (const share of shares) {
        told.push(share);
        other.takenElsewhere(share);
      }
    }),
  );
  return { here, other, told };
}

test("returned tokens are notified as well, and never more than were taken", async () => {
  const { here, other, told } = replicas();
  const leftAtOther = () => other.look("key", 20)?.remaining;
  here.take("key", 20);
  await until(() => leftAtOther() === 19);
  here.giveBack("key", 20);
  await until(() => leftAtOther() === 20);
  other.takenElsewhere(["key", 20, -3]);
  expect(leftAtOther()).toBe(20);
  expect(told).toEqual([
    ["key", 20, 1],
    ["key", 20, -1],
  ]);
});

test("a request that takes from two buckets is notified for both, and one that is refused for neither", async () => {
  const { here, other, told } = replicas();
  const buckets = [
    ["user", 10],
    ["application", 20],
  ] as const;
  for (let i = 0; i < 4; i++) here.takeEach(buckets);
  await until(
    () => other.look("user", 10)?.remaining === 6 && other.look("application", 20)?.remaining === 16,
  );
  for (let i = 0; i < 6; i++) other.takeEach(buckets);
  expect(other.takeEach(buckets)).toMatchObject({ allowed: false, limit: 10, remaining: 0 });
  expect(other.look("application", 20)?.remaining).toBe(10);
  const sum = (of: string) => told.reduce((all, [key, , count]) => all + (key === of ? count : 0), 0);
  expect([sum("user"), sum("application")]).toEqual([4, 4]);
});

test("tokens that are returned before the notification are not notified", async () => {
  const { here, told } = replicas();
  here.take("key", 20);
  here.giveBack("key", 20);
  here.take("last", 20);
  await until(() => told.length > 0);
  expect(told).toEqual([["last", 20, 1]]);
});
