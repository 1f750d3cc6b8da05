import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  type AttemptResult,
  type DeliveryStatus,
  type DueDelivery,
  everything,
  type LockedRecords,
} from "../../../src/domain/deliveries.ts";
import { newEndpoint } from "../../../src/domain/endpoints.ts";
import { hour, minute } from "../../../src/domain/time.ts";
import { deliveryStore } from "../../../src/postgres/deliveries.ts";
import { finished, postgresDialect } from "../../../src/postgres/dialect.ts";
import { postgresReplays } from "../../../src/postgres/nouns.ts";
import type { Postgres } from "../../../src/postgres/pool.ts";
import { eventPublisher } from "../../../src/postgres/publish.ts";
import { ClaimedDeliveries } from "../../../src/postgres/queue.ts";
import { OwnedShards } from "../../../src/postgres/shards.ts";
import { openPostgres } from "../../../src/postgres/store.ts";
import type { Orm } from "../../../src/store/drizzle/dialect.ts";
import {
  cancelRemoved,
  endPending,
  endpointStore,
  renewEndpoint,
} from "../../../src/store/drizzle/endpoints.ts";
import { readDatabaseUrl } from "../../../src/store/location.ts";
import { emptyDatabase, hasPostgres } from "../../support/postgres.ts";
import { attemptResult, newEvent, storedAt, wholeLog } from "../../support/store.ts";

/*
 * Several processes on one database at the same time: each is a pool and the store on it.
 */

const now = storedAt;
const never = () => false;
const undo: (() => Promise<unknown>)[] = [];
let url: string;

const renew = (pool: Postgres, orm: Orm) =>
  finished(renewEndpoint(postgresDialect(pool).tables, orm, "one", now));

async function replica() {
  const pool = await openPostgres(readDatabaseUrl(url), { connections: 4 });
  undo.push(() => pool.close());
  const [claimed, ownership] = [new ClaimedDeliveries(), new OwnedShards()];
  return {
    pool,
    events: eventPublisher(pool, claimed, ownership),
    deliveries: deliveryStore(pool, claimed, ownership),
  };
}

/** Applications, each subscribed to `channel.followed` of users 1 to 3. */
async function fill(pool: Postgres, applications: readonly string[]): Promise<void> {
  await pool.run(
    "INSERT INTO users SELECT g, g, '', '', NULL, 0, 0, false, '', '' FROM generate_series(1, 3) g",
  );
  await pool.run(
    `INSERT INTO applications (id, name, client_type, client_secret_hash, client_secret_prefix,
       client_secret_created_at, webhook_secret_created_at, delivery, webhook_url, webhook_secret,
       retired_webhook_secrets, retired_client_secrets, disabled, endpoint_generation, scopes, redirect_uris, created_at, updated_at)
     SELECT id, '', 'confidential', '', '', 0, 0, 'both', 'https://receiver.test/', '', '[]', '[]', false, 0, '{}', '{}', '', ''
     FROM unnest($1::text[]) AS id`,
    [applications],
  );
  await pool.run(
    `INSERT INTO subscriptions SELECT id || '-' || g, id, g, 'channel.followed', 1, 0, '', ''
     FROM unnest($1::text[]) AS id, generate_series(1, 3) g`,
    [applications],
  );
}

/** A replica that owns everything, of a database with these applications. */
async function owner(...applications: readonly string[]) {
  const own = await replica();
  await fill(own.pool, applications);
  await own.deliveries.releaseAll();
  return own;
}

function ended(due: DueDelivery | undefined, status: DeliveryStatus): AttemptResult {
  const result = attemptResult(due, { status, next_attempt_at: status === "pending" ? now + 5 : null });
  // Both are text of an answer; PostgreSQL has neither.
  return { ...result, attempt: result.attempt && { ...result.attempt, response: "\0\ud800" } };
}

describe.skipIf(!hasPostgres)("several processes on one PostgreSQL", () => {
  beforeEach(async () => {
    const database = await emptyDatabase();
    undo.push(database.drop);
    ({ url } = database);
  });
  afterEach(async () => {
    for (let step = undo.pop(); step; step = undo.pop()) await step();
  });

  test("publish at the same time: no sequence has a gap, none runs against the numbers, and a stream misses nothing", async () => {
    const processes = [await replica(), await replica(), await replica()];
    const reader = await replica();
    await fill(reader.pool, ["one", "two"]);
    const seen: number[] = [];
    let isDone = false;
    const reading = (async () => {
      for (let after = 0, isLast = false; ; ) {
        isLast = isDone;
        const { deliveries, upTo, isAll } = await reader.deliveries.streamed(
          { applicationId: "one", userId: null, shard: null },
          after,
        );
        seen.push(...deliveries.map(({ seq }) => seq));
        expect(upTo).toBeGreaterThanOrEqual(after);
        after = upTo;
        if (isLast && isAll) return;
      }
    })();
    const perProcess = 300;
    await Promise.all(
      processes.map(async ({ events }, p) => {
        for (let i = 0; i < perProcess; i += 10) {
          // The same ids are published by all of them now and then.
          const ids = Array.from({ length: 10 }, (_, n) => (n === 0 ? `shared ${i}` : `${p} ${i + n}`));
          await Promise.all(
            ids.map((id, n) => events.publish(newEvent(id, { broadcaster_user_id: 1 + (n % 3) }), never)),
          );
        }
      }),
    );
    isDone = true;
    await reading;
    const rows = await reader.pool.run<{ subscription_id: string; seq: number; sequence: number }>(
      "SELECT subscription_id, seq::float8, sequence::float8 FROM deliveries ORDER BY deliveries.seq",
    );
    const events = 3 * perProcess - 2 * (perProcess / 10);
    expect(rows).toHaveLength(2 * events);
    for (const its of Map.groupBy(rows, (row) => row.subscription_id).values()) {
      expect(its.map(({ sequence }) => sequence)).toEqual(its.map((_, i) => i + 1));
    }
    const ofOne = rows.filter((row) => row.subscription_id.startsWith("one"));
    expect(seen).toEqual(ofOne.map(({ seq }) => seq));
  });

  test("claims of one turn are one statement, and one that fails takes nothing from the others", async () => {
    const { pool, events, deliveries } = await owner("one", "two");
    await pool.run("DELETE FROM subscriptions WHERE id = 'two-2'");
    await events.publish(newEvent("unreadable", { broadcaster_user_id: 2, body: "unreadable" }), never);
    await events.publish(newEvent("a"), never);
    await pool.run("ALTER TABLE events RENAME TO events_kept");
    await pool.run(
      "CREATE VIEW events AS SELECT seq, CASE body WHEN 'unreadable' THEN (1 / (seq - seq))::text ELSE body END AS body FROM events_kept",
    );
    const claimed = (application: string) =>
      deliveries.claim(application, now, 10).then(
        ({ due }) => due.map(({ event }) => event.id),
        () => "failed",
      );
    expect(await Promise.all([claimed("one"), claimed("two")])).toEqual(["failed", ["a"]]);
    await pool.run("DROP VIEW events");
    await pool.run("ALTER TABLE events_kept RENAME TO events");
    expect(await Promise.all([claimed("one"), claimed("two")])).toEqual([["unreadable", "a"], []]);
  });

  test("an answer of a former URL neither disables the endpoint nor delays its retries", async () => {
    const [here, elsewhere] = [await owner("one"), await replica()];
    await here.events.publish(newEvent("a"), never);
    const { due } = await here.deliveries.claim("one", now, 1);
    const [changed, commit] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const change = elsewhere.pool.transact(async (transaction) => {
      await renew(elsewhere.pool, transaction.orm);
      changed.resolve();
      await commit.promise;
    });
    await changed.promise;
    const later = { ...ended(due[0], "pending"), next_attempt_at: now + minute };
    const endpoint = { ...newEndpoint("one"), failing_since: now, failures: 1, disabled_at: now };
    // It waits for no lock: what the change holds is reported, and recorded again after it.
    const locked: LockedRecords[] = [];
    await here.deliveries.record([later], [endpoint], [], (found) => locked.push(found));
    expect(locked).toEqual([{ seqs: new Set([later.seq]), applicationIds: new Set(["one"]) }]);
    commit.resolve();
    await change;
    await here.deliveries.record([later], [endpoint]);
    expect(
      await here.pool.run("SELECT disabled_at FROM endpoints WHERE disabled_at IS NOT NULL"),
    ).toHaveLength(0);
    expect(await here.deliveries.pending()).toEqual([{ application_id: "one", due_at: now }]);
  });

  test("a state that was to be recorded in an earlier epoch is not recorded when the endpoint is owned again", async () => {
    const [former, next] = [await owner("one"), await replica()];
    const state = (revision: number) => ({ ...newEndpoint("one"), failing_since: now, revision });
    const stale = state(7);
    const [held, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const holding = next.pool.transact(async ({ run }) => {
      await run("SELECT FROM applications WHERE id = 'one' FOR UPDATE");
      held.resolve();
      await ended.promise;
    });
    await held.promise;
    const locked: LockedRecords[] = [];
    await former.deliveries.record([], [stale], [], (found) => locked.push(found));
    expect(locked).toEqual([{ seqs: new Set(), applicationIds: new Set(["one"]) }]);
    ended.resolve();
    await holding;
    await next.deliveries.releaseAll();
    await next.deliveries.record([], [state(5)]);
    await former.deliveries.releaseAll();
    await former.deliveries.record([], [stale]);
    const stored = async () => (await endpointStore(postgresDialect(former.pool)).find("one"))?.revision;
    expect(await stored()).toBe(5);
    await former.deliveries.record([], [state(6)]);
    expect(await stored()).toBe(6);
  });

  test("retries that are too far are made due in steps, which wait for none that another transaction holds", async () => {
    const [here, elsewhere] = [await owner("one"), await replica()];
    await here.events.publish(newEvent("a"), never);
    const at = Date.now();
    await here.pool.run("UPDATE deliveries SET attempts = 1, next_attempt_at = $1", [at + 1_000 * hour]);
    const copied = "event_seq, event_id, type, version, broadcaster_user_id, published_at, application_id";
    const others = `subscription_id, status, attempts, next_attempt_at`;
    await here.pool.run(
      `INSERT INTO deliveries (seq, sequence, id, ${copied}, ${others})
       SELECT seq + g, sequence + g, id || g, ${copied}, ${others}
       FROM deliveries, generate_series(1, 10001) g`,
    );
    const [held, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const holding = elsewhere.pool.transact(async ({ run }) => {
      await run("SET LOCAL idle_in_transaction_session_timeout = 0");
      await run("UPDATE deliveries SET attempts = 1 WHERE sequence = 1");
      held.resolve();
      await ended.promise;
    });
    await held.promise;
    const step = async () => {
      const isDone = await here.deliveries.makeFarRetriesDue(at, at + 30 * hour);
      const due = "SELECT count(*)::float8 AS n FROM deliveries WHERE next_attempt_at = $1";
      return [isDone, (await here.pool.run<{ n: number }>(due, [at]))[0]?.n];
    };
    expect(await step()).toEqual([false, 10_000]);
    expect(await step()).toEqual([false, 10_001]);
    expect(await step()).toEqual([false, 10_001]);
    ended.resolve();
    await holding;
    expect(await step()).toEqual([false, 10_002]);
    expect(await step()).toEqual([true, 10_002]);
  });

  test("an owner that was replaced claims nothing, and changes no delivery that it had claimed", async () => {
    const [former, next] = [await owner("one"), await replica()];
    for (const id of ["a", "b", "c"]) await former.events.publish(newEvent(id), never);
    const { due } = await former.deliveries.claim("one", now, 2);
    expect(due.map(({ sequence }) => sequence)).toEqual([1, 2]);
    const [first, second] = due;
    await former.deliveries.record([ended(first, "delivered")], []);

    await next.deliveries.releaseAll();
    const endpoint = { ...newEndpoint("one"), failing_since: now, failures: 1, disabled_at: now };
    await former.deliveries.record([ended(second, "failed")], [endpoint]);
    expect(await former.deliveries.claim("one", now, 8)).toMatchObject({ due: [], hasBacklog: false });
    expect(await next.pool.run("SELECT FROM endpoints")).toEqual(expect.objectContaining({ length: 0 }));

    const again = await next.deliveries.claim("one", now, 8);
    expect(again.due.map(({ sequence, attempts }) => `${sequence}, ${attempts}`)).toEqual(["2, 0", "3, 0"]);
    expect(again.due[0]?.id).toBe(due[1]?.id);

    // A later event of another process is not taken into memory past one that waits in the store.
    const inOrder = (_: string, isBehind = false) => !isBehind;
    await former.events.publish(newEvent("d"), never);
    expect((await next.events.publish(newEvent("e"), inOrder)).taken).toEqual([]);
    expect((await next.events.publish(newEvent("f"), inOrder)).taken.map(({ sequence }) => sequence)).toEqual(
      [6],
    );
    expect((await next.deliveries.claim("one", now, 8)).due.map(({ sequence }) => sequence)).toEqual([4, 5]);
  });

  test("a result that is recorded twice, because its answer was lost, is kept once", async () => {
    const { events, deliveries } = await owner("one");
    await events.publish(newEvent("a"), never);
    const { due } = await deliveries.claim("one", now, 8);
    const recording = [ended(due[0], "pending")];
    await Promise.all([deliveries.record(recording, []), deliveries.record(recording, [])]);
    const found = await deliveries.find(everything, due[0]?.id ?? "");
    expect(found).toMatchObject({ status: "pending", next_attempt_at: now + 5, body: "{}" });
    expect(found?.attempts).toEqual([ended(due[0], "pending").attempt] as never);
  });

  test("a result from before a standby was promoted that lacked its delivery is not taken for that of a later one with its number", async () => {
    const { pool, events, deliveries } = await owner("one");
    await events.publish(newEvent("lost"), never);
    const [lost] = (await deliveries.claim("one", now, 8)).due;
    const { taken } = await events.publish(newEvent("lost too"), () => true);
    // The standby has neither the events nor the numbers that were assigned.
    for (const table of ["deliveries", "events", "event_ids"]) await pool.run(`DELETE FROM ${table}`);
    await pool.run("SELECT setval('delivery_numbers', 1, false)");

    const other = await replica();
    for (const id of ["next", "last"]) await other.events.publish(newEvent(id), never);
    expect((await deliveries.page(wholeLog, null, 8)).deliveries.at(-1)?.seq).toBe(lost?.seq);
    const left: LockedRecords[] = [];
    const results = [ended(lost, "delivered"), ended(taken[0], "pending")];
    await deliveries.record(results, [], [], (found) => left.push(found));
    expect(left).toEqual([{ seqs: new Set(), applicationIds: new Set() }]);
    const { due } = await deliveries.claim("one", now, 8);
    expect(due.map(({ event, attempts }) => `${event.id}, ${attempts}`)).toEqual(["next, 0", "last, 0"]);
  });

  test("a delivery that is ended while an attempt is under way stays ended, and keeps the attempt", async () => {
    const { pool, events, deliveries } = await owner("one", "two");
    for (const id of ["a", "b"]) await events.publish(newEvent(id), never);
    const ours = (await deliveries.claim("one", now, 8)).due;
    const theirs = (await deliveries.claim("two", now, 1)).due;
    await pool.transact(async (transaction) => {
      const shared = postgresDialect(pool);
      const removed = [{ application_id: "one", ids: ["one-1"] }];
      await finished(cancelRemoved(shared, transaction.orm, removed, now));
      await finished(endPending(shared, transaction.orm, "two", { as: "delivered", now }));
    });
    await deliveries.record(
      [...ours, ...theirs].map((one) => ended(one, "pending")),
      [],
    );
    const shown = async (application_id: string) => {
      const page = await deliveries.page({ ...wholeLog, application_id }, null, 8);
      return page.deliveries.map(({ status, attempts }) => `${status}, ${attempts.length}`);
    };
    expect(await shown("one")).toEqual(["canceled, 1", "canceled, 1"]);
    expect(await shown("two")).toEqual(["delivered, 0", "delivered, 1"]);
    expect(await deliveries.pending()).toHaveLength(0);
  });

  test("pending deliveries of a removed subscription are canceled, however many others there are", async () => {
    const { pool } = await owner("one");
    await pool.run(
      `INSERT INTO deliveries (seq, id, event_seq, event_id, type, version, broadcaster_user_id, published_at,
         application_id, subscription_id, sequence, status, attempts, next_attempt_at, attempt_log)
       SELECT g, g, g, g, '', 1, 1, 0, 'one', CASE WHEN g > 10000 THEN 'one-1' ELSE 'one-2' END, g, 'pending', 0, 0, '{}'
       FROM generate_series(1, 10001) g`,
    );
    const removed = [{ application_id: "one", ids: ["one-1"] }];
    await pool.transact(({ orm }) => finished(cancelRemoved(postgresDialect(pool), orm, removed, now)));
    const ended = await pool.run(
      "SELECT seq::float8, status, next_attempt_at FROM deliveries WHERE status <> 'pending'",
    );
    expect([...ended]).toEqual([{ seq: 10_001, status: "canceled", next_attempt_at: null }]);
  });

  test("of a long backlog of an application, a bounded part ends at once: what is due last", async () => {
    const { pool } = await owner("one");
    await pool.run(
      `INSERT INTO deliveries (seq, id, event_seq, event_id, type, version, broadcaster_user_id, published_at,
         application_id, subscription_id, sequence, status, attempts, next_attempt_at, attempt_log)
       SELECT g, g, g, g, '', 1, 1, 0, 'one', 'one-1', g, 'pending', 0, CASE WHEN g > 5 THEN g ELSE 0 END, '{}'
       FROM generate_series(1, 10006) g`,
    );
    const left = () =>
      pool.run<{ seq: number }>("SELECT seq::float8 FROM deliveries WHERE status = 'pending'");
    const end = () =>
      pool.transact(({ orm }) =>
        finished(endPending(postgresDialect(pool), orm, "one", { as: "canceled", now })),
      );
    await end();
    expect((await left()).map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6]);
    await end();
    expect([...(await left())]).toEqual([]);
  });

  test("a retry that was recorded for an earlier generation of its endpoint is due at once, and so is a replay", async () => {
    const { pool, events, deliveries } = await owner("one");
    const shared = postgresDialect(pool);
    const [endpoints, replays] = [endpointStore(shared), postgresReplays(shared)];
    for (const id of ["a", "b"]) await events.publish(newEvent(id), never);
    const { due } = await deliveries.claim("one", now, 8);
    expect(await pool.transact((transaction) => renew(pool, transaction.orm))).toBe(1);
    const state = { ...newEndpoint("one", 0), failing_since: now, failures: 1 };
    const failed = due.map((one, i) => ended(one, i === 0 ? "pending" : "failed"));
    await deliveries.record(failed, [state]);
    expect(await endpoints.failing()).toHaveLength(0);
    const again = await deliveries.claim("one", now, 8);
    expect(again.due.map(({ sequence, resume_at }) => [sequence, resume_at])).toEqual([[1, now + 5]]);
    const range = { status: "missed", from: now, to: now + 1 } as const;
    const all = { ...everything, subscription_id: null, of_broadcaster: null, type: null };
    const job = { ...all, ...range, id: "r", application_id: "one", dry_run: false, created_at: now };
    expect(await replays.create(job)).toMatchObject({ state: "running", progress: 0 });
    await expect(replays.create({ ...job, id: "s" })).rejects.toMatchObject({ code: "conflict" });
    expect(await replays.advance("r", now)).toBe(true);
    expect(await replays.find(everything, "r")).toMatchObject({ state: "completed", matched: 1, queued: 1 });
    expect((await deliveries.claim("one", now, 8)).due.map(({ sequence }) => sequence)).toEqual([2]);
  });
});
