import { expect, test } from "bun:test";
import { day, minute } from "../../../src/domain/time.ts";
import { openPool } from "../../../src/postgres/pool.ts";
import { openPostgresStore } from "../../../src/postgres/store.ts";
import { readDatabaseUrl } from "../../../src/store/location.ts";
import { afterThisTest } from "../../support/after-tests.ts";
import { emptyDatabase, hasPostgres, ownPostgres } from "../../support/postgres.ts";
import { attemptResult, newEvent, storedAt, subscriber } from "../../support/store.ts";
import { tcpProxy } from "../../support/tcp-proxy.ts";
import { until } from "../../support/until.ts";

const now = storedAt;
const never = () => false;

test.skipIf(!hasPostgres)(
  "a part of the log is dropped when all of it is old, but for what is pending",
  async () => {
    const { store, pool } = await ownPostgres();
    const { events, deliveries } = store;
    const { prune } = store.retention;
    const application = await subscriber(store);
    await deliveries.releaseAll();
    const retention = { deliveredMs: 3 * day, failedMs: 10 * day, bodiesMs: 2 * day };
    const states = ["delivered", "failed", "pending"] as const;
    for (const [i, state] of states.entries()) {
      await prune(retention, now + i * minute);
      await events.publish(newEvent(state, { published_at: now + i * minute }), never);
    }
    const { due } = await deliveries.claim(application, now, 8);
    await deliveries.record(
      due.map((one, i) =>
        attemptResult(one, { status: states[i] ?? "pending", next_attempt_at: i === 2 ? now : null }),
      ),
      [],
    );
    const kept = async (after: number) => {
      await prune(retention, now + after);
      const parts = await pool.run<{ name: string }>(
        "SELECT inhrelid::regclass::text AS name FROM pg_inherits WHERE inhparent = 'deliveries'::regclass ORDER BY 1",
      );
      const rows = await pool.run<{ event_id: string; has_body: boolean }>(
        `SELECT event_id, EXISTS (SELECT FROM events e WHERE e.seq = d.event_seq) AS has_body FROM deliveries d ORDER BY d.seq`,
      );
      const ids = await pool.run<{ id: string }>("SELECT id FROM event_ids ORDER BY seq");
      return {
        parts: parts.map(({ name }) => name),
        deliveries: rows.map(({ event_id, has_body }) => `${event_id}${has_body ? "" : " without body"}`),
        ids: ids.map(({ id }) => id),
      };
    };
    const all = [...states];
    const parts = ["deliveries_0", "deliveries_1", "deliveries_2"];
    expect(await kept(day + minute)).toEqual({ parts, deliveries: all, ids: all });
    const bodiless = ["delivered without body", "failed without body", "pending"];
    expect(await kept(3 * day + 2 * minute)).toMatchObject({ deliveries: bodiless, ids: all });
    expect(await kept(4 * day + 2 * minute)).toMatchObject({ deliveries: bodiless.slice(1), ids: all });
    expect(await kept(8 * day + 2 * minute)).toMatchObject({ deliveries: bodiless.slice(1), ids: [] });
    expect(await kept(11 * day + 2 * minute)).toMatchObject({ deliveries: bodiless.slice(2) });
    expect(await deliveries.lastRemoved(application)).toBeGreaterThan(0);
    // A number above all that were given before.
    await events.publish(newEvent("new"), never);
    const { due: later } = await deliveries.claim(application, now + day, 8);
    expect(later.map(({ sequence, attempts }) => `${sequence}, ${attempts}`)).toEqual(["4, 0", "3, 1"]);
    await deliveries.record(
      later.map((one) => attemptResult(one, { attempts: one.attempts + 1 })),
      [],
    );
    expect((await kept(20 * day)).deliveries).toEqual(["new"]);
    expect(await kept(40 * day)).toEqual({ parts: expect.any(Array), deliveries: [], ids: [] });
  },
);

test.skipIf(!hasPostgres)("only what is removed and was shown counts as removed", async () => {
  const { store, pool } = await ownPostgres();
  const { events, deliveries } = store;
  const { prune } = store.retention;
  const retention = { deliveredMs: 3 * day, failedMs: 10 * day, bodiesMs: 30 * day };
  await deliveries.releaseAll();
  await prune(retention, now);
  const application = await subscriber(store);
  for (const id of ["first", "second", "third"]) await events.publish(newEvent(id), never);
  const { due } = await deliveries.claim(application, now, 8);
  const states = ["delivered", "failed", "canceled"] as const;
  await deliveries.record(
    due.map((one, i) => attemptResult(one, { status: states[i] ?? "failed" })),
    [],
  );
  await prune(retention, now + day + minute);
  const removed = async () => {
    const last = await deliveries.lastRemoved(application);
    return due.findIndex(({ seq }) => seq === last);
  };
  const whileLocked = pool.transact(async (transaction) => {
    await transaction.run("LOCK TABLE deliveries IN ACCESS SHARE MODE");
    await prune(retention, now + 5 * day);
    return removed();
  });
  expect(await whileLocked).toBe(-1);
  await prune(retention, now + 5 * day);
  expect(await removed()).toBe(0);
  await prune(retention, now + 12 * day);
  expect(await removed()).toBe(1);
});

test.skipIf(!hasPostgres)(
  "a server that becomes silent while it replaces a part holds up the others for a few seconds only",
  async () => {
    const { url, drop } = await emptyDatabase();
    const proxy = await tcpProxy(Number(new URL(url).port));
    const settings = readDatabaseUrl(url);
    const silenced = await openPostgresStore({ ...settings, port: proxy.port }, { connections: 2 });
    const other = await openPostgresStore(settings, { connections: 2 });
    const pool = openPool(settings, { connections: 1 });
    afterThisTest(async () => {
      await Promise.all([silenced.close(), other.close(), pool.close()]);
      proxy.stop();
      await drop();
    });
    await subscriber(other);
    const retention = { deliveredMs: day, failedMs: day, bodiesMs: day, byType: {} };
    for (const at of [now, now + day + minute]) {
      await other.retention.prune(retention, at);
      await other.events.publish(newEvent(`at ${at}`, { published_at: at }), never);
    }
    const silent = proxy.silence("answer to table lock");
    const pruned = silenced.retention.prune(retention, now + 9 * day).catch(() => {});
    await silent;
    await until(async () => {
      const held = await pool.run("SELECT FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND granted");
      return held.length > 0;
    });
    const startedAt = performance.now();
    await other.events.publish(newEvent("meanwhile"), never);
    expect(performance.now() - startedAt).toBeLessThan(5_000);
    await pruned;
  },
  60_000,
);
