import { expect, test } from "bun:test";
import { newId } from "../../../src/domain/ids.ts";
import type { Broadcast, Share } from "../../../src/domain/replicas.ts";
import { type Notifications, ReplicaExchange } from "../../../src/postgres/notifications.ts";
import type { Queries } from "../../../src/postgres/pool.ts";
import { assignment, shardOf } from "../../../src/postgres/shards.ts";
import { clientNetwork } from "../../../src/runtime/client-address.ts";
import { until } from "../../support/until.ts";

/** Notifications to a database that answers the first statement when `answer` is called. */
function telling() {
  const sent: Broadcast[] = [];
  const first = Promise.withResolvers<void>();
  let isFirst = true;
  const run = async (_: string, [, message]: readonly unknown[] = []) => {
    const isHeldUp = isFirst;
    isFirst = false;
    if (isHeldUp) await first.promise;
    sent.push(JSON.parse(String(message)).news);
    return [];
  };
  const listening = { on() {}, onAway() {}, onMissed() {}, onCurrent() {} };
  // Boundaries: of both it uses these alone.
  const exchange = new ReplicaExchange(
    { run } as unknown as Queries,
    1,
    listening as unknown as Notifications,
  );
  return { broadcast: (notification: Broadcast) => exchange.broadcast(notification), answer: first, sent };
}

const changed = (topics: string[], applications: string[] | null): Broadcast => ({
  kind: "changed",
  topics,
  applications,
});

test("what has changed while the database was slow is told together, and nothing of it is left out", async () => {
  const { broadcast, answer, sent } = telling();
  broadcast(changed(["keys"], []));
  broadcast(changed(["audit"], []));
  broadcast(changed(["deliveries"], ["a"]));
  broadcast({ kind: "watching" });
  broadcast(changed(["deliveries", "audit"], ["b"]));
  answer.resolve();
  await until(() => sent.length === 3);
  expect(sent).toEqual([
    changed(["keys"], []),
    changed(["audit", "deliveries"], ["a", "b"]),
    { kind: "watching" },
  ]);
});

test("together with a change of any application it is any", async () => {
  const { broadcast, answer, sent } = telling();
  broadcast({ kind: "watching" });
  broadcast(changed(["deliveries"], ["a"]));
  broadcast(changed(["deliveries"], null));
  broadcast(changed(["deliveries"], ["b"]));
  answer.resolve();
  await until(() => sent.length === 2);
  expect(sent[1]).toEqual(changed(["deliveries"], null));
});

test("what could not be told is tried again, with what has changed since", async () => {
  const { broadcast, answer, sent } = telling();
  broadcast(changed(["keys"], []));
  broadcast(changed(["audit"], []));
  answer.reject(new Error("the database is away"));
  await until(() => sent.length === 1);
  expect(sent).toEqual([changed(["audit", "keys"], [])]);
});

test("shares of limits with the longest keys fit in their notifications, and none is left out", async () => {
  const { broadcast, answer, sent } = telling();
  const network = clientNetwork("2001:0db8:aaaa:bbbb:cccc:dddd:eeee:ffff");
  const keys = [
    `wrong operator keys from ${network}`,
    `tests of ${newId()} by ${Number.MAX_SAFE_INTEGER}`,
    newId(),
  ];
  const shares = keys.flatMap((key) => new Array<Share>(200).fill([key, 1_000_000, 20_000]));
  broadcast({ kind: "taken", shares });
  answer.resolve();
  const told = () =>
    sent.flatMap((notification) => (notification.kind === "taken" ? notification.shares : []));
  await until(() => told().length === shares.length);
  for (const notification of sent)
    expect(
      Buffer.byteLength(JSON.stringify({ from: Number.MAX_SAFE_INTEGER, news: notification })),
    ).toBeLessThan(8_000);
});

const replicas = [11, 2 ** 33 + 11, 2 ** 40 + 7, 98_765_432_101_234, 5];

test("each replica is meant to have its share of the shards", () => {
  for (let count = 1; count <= replicas.length; count++) {
    const some = replicas.slice(0, count);
    const meant = assignment(some);
    expect(meant).toHaveLength(256);
    for (const replica of some) {
      const share = meant.filter((one) => one === replica).length;
      expect(share).toBeGreaterThan(128 / count);
      expect(share).toBeLessThan(count === 1 ? 257 : 512 / count);
    }
  }
});

test("one that joins takes shards for itself alone, and gives the same ones back when it leaves", () => {
  const [newest, ...others] = replicas;
  const before = assignment(others);
  const moved = assignment(replicas).filter((one, shard) => one !== before[shard]);
  expect(new Set(moved)).toEqual(new Set([newest ?? 0]));
});

test("all replicas come to the same result, in whatever order they know of each other", () => {
  expect(assignment(replicas.toReversed())).toEqual(assignment(replicas));
});

test("applications that were made one after the other are in different shards", () => {
  const ids = Array.from({ length: 2_000 }, (_, i) => `01KATHZX5M9S3E6R8B2D4F${String(i).padStart(4, "0")}`);
  expect(new Set(ids.map(shardOf)).size).toBe(256);
});
