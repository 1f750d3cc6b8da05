import { expect, setDefaultTimeout, test } from "bun:test";
import { SQL } from "bun";
import { postgresDialect } from "../../../src/postgres/dialect.ts";
import { DeadlineError, NotSentError, storageFaultOf } from "../../../src/postgres/faults.ts";
import { openPool, type Postgres, type Queries } from "../../../src/postgres/pool.ts";
import { eventPublisher } from "../../../src/postgres/publish.ts";
import { ClaimedDeliveries } from "../../../src/postgres/queue.ts";
import { OwnedShards } from "../../../src/postgres/shards.ts";
import { eventTypeStore } from "../../../src/store/drizzle/event-types.ts";
import { readDatabaseUrl } from "../../../src/store/location.ts";
import { afterThisTest } from "../../support/after-tests.ts";
import { hasPostgres, ownPostgres } from "../../support/postgres.ts";
import { loggedDeliveries, newEvent, storedAt, subscriber } from "../../support/store.ts";

setDefaultTimeout(60_000);

/*
 * Events that cannot be stored together: for some of them a transaction that does not end holds something, or one
 * statement for all of them takes too long.
 */

const reserve = `INSERT INTO event_ids (id, seq, name, version, broadcaster_user_id, published_at, fingerprint, deliveries)
      VALUES ('held-1', -1, '', 1, 1, 0, '', 0)`;
const lockType = "SELECT FROM event_types WHERE name = 'own' FOR UPDATE";
/** A refusal that guarantees that nothing was stored. */
const isRefused = { code: "unavailable", details: { isNothingKept: true } };
const type = {
  name: "own",
  version: 1,
  description: "",
  schema: {},
  example: {},
  time_to_live_seconds: null,
};

test.skipIf(!hasPostgres).each([
  ["the id", reserve, "channel.followed"],
  ["the type, of which nothing was published", lockType, "own"],
])("of a held event, %s: only it is refused, and the next time at once", async (_, statement, name) => {
  const { store, pool } = await ownPostgres();
  await subscriber(store, { events: ["channel.followed", "own"] });
  await store.eventTypes.put(type, storedAt);
  const ended = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const holding = pool.transact(async ({ run }) => {
    await run(statement);
    begun.resolve();
    await ended.promise;
  });
  afterThisTest(() => ended.resolve());
  await begun.promise;
  const held = newEvent("held-1", { name });
  const publish = async (...events: readonly ReturnType<typeof newEvent>[]) => {
    const startedAt = performance.now();
    const outcomes = await Promise.allSettled(events.map((one) => store.events.publish(one, () => false)));
    return { outcomes, ms: performance.now() - startedAt };
  };
  const others = (prefix: string) => Array.from({ length: 20 }, (_, n) => newEvent(`${prefix}-${n}`));
  const first = await publish(...others("first"), held, ...others("second"));
  expect(first.outcomes.filter(({ status }) => status === "rejected")).toMatchObject([{ reason: isRefused }]);
  const next = await publish(held, ...others("third"));
  expect(next.outcomes.filter(({ status }) => status === "rejected")).toMatchObject([{ reason: isRefused }]);
  expect(next.ms).toBeLessThan(1_000);
  ended.resolve();
  await holding.catch(() => {}); // the server ends it when it has been idle for long
});

test.skipIf(!hasPostgres)(
  "subscriptions that others lock again and again for a moment are not held",
  async () => {
    const { store, pool } = await ownPostgres();
    await subscriber(store, { broadcaster: 1 });
    await subscriber(store, { broadcaster: 2 });
    const [begun, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let isEnded = false;
    const holding = pool.transact(async ({ run }) => {
      await run(reserve);
      begun.resolve();
      await ended.promise;
    });
    // As another server that publishes much to user 1.
    const publishing = (async () => {
      while (!isEnded)
        await pool.run(
          "WITH s AS MATERIALIZED (SELECT FROM subscriptions WHERE broadcaster_user_id = 1 FOR NO KEY UPDATE) SELECT pg_sleep(0.05) FROM s",
        );
    })();
    afterThisTest(async () => {
      isEnded = true;
      ended.resolve();
      await publishing;
    });
    await begun.promise;
    const events = [
      ...Array.from({ length: 8 }, (_, n) => newEvent(`free-${n}`)),
      newEvent("held-1", { broadcaster_user_id: 2 }),
    ];
    const outcomes = await Promise.allSettled(events.map((one) => store.events.publish(one, () => false)));
    expect(outcomes.map(({ status }) => status)).toEqual([...Array(8).fill("fulfilled"), "rejected"]);
    ended.resolve();
    await holding.catch(() => {});
  },
);

test.skipIf(!hasPostgres)("while an event type is registered, events are published", async () => {
  const { store, pool } = await ownPostgres();
  await subscriber(store);
  const [begun, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  // The store's own transaction, which does not get to its COMMIT.
  const slow: Postgres = {
    orm: pool.orm,
    run: pool.run,
    use: pool.use,
    isPooled: false,
    close: async () => {},
    transact: (work) =>
      pool.transact(async (transaction) => {
        const result = await work(transaction);
        begun.resolve();
        await ended.promise;
        return result;
      }),
  };
  const putting = eventTypeStore(postgresDialect(slow)).put(type, storedAt);
  await begun.promise;
  const startedAt = performance.now();
  await store.events.publish(newEvent("meanwhile"), () => false);
  expect(performance.now() - startedAt).toBeLessThan(5_000);
  ended.resolve();
  await putting;
});

test.skipIf(!hasPostgres)(
  "events that one statement cannot store in time are stored by several",
  async () => {
    const { store, pool, settings } = await ownPostgres();
    const applicationId = await subscriber(store);
    const impatient = openPool(settings, { connections: 1, statementTimeoutMs: 50 });
    afterThisTest(() => impatient.close());
    const counts: number[] = [];
    /** The statement takes too long with more than three events. */
    const slow: Postgres = {
      ...pool,
      orm: pool.orm,
      run: (text, values = []) => {
        if (!text.includes("INSERT INTO event_ids")) return pool.run(text, values);
        const { length } = values[0] as unknown[];
        counts.push(length);
        return length > 3 ? impatient.run("SELECT pg_sleep(10)") : pool.run(text, values);
      },
    };
    const events = eventPublisher(slow, new ClaimedDeliveries(), new OwnedShards());
    const names = Array.from({ length: 40 }, (_, n) => `event-${n}`);
    const published = await Promise.all(names.map((id) => events.publish(newEvent(id), () => false)));
    expect(published.map(({ id, deliveries }) => [id, deliveries])).toEqual(names.map((id) => [id, 1]));
    expect(counts.slice(0, 3)).toEqual([40, 5, 1]);
    const kept = await loggedDeliveries(store, { application_id: applicationId });
    expect(kept.map(({ event_id }) => event_id)).toEqual(names);
    expect(kept.map(({ sequence }) => sequence)).toEqual(names.map((_, n) => n + 1));
    // An event that alone takes too long is refused.
    const never: Postgres = { ...slow, run: () => impatient.run("SELECT pg_sleep(10)") };
    const refused = eventPublisher(never, new ClaimedDeliveries(), new OwnedShards());
    await expect(refused.publish(newEvent("alone"), () => false)).rejects.toMatchObject(isRefused);
  },
);

test.skipIf(!hasPostgres)(
  "if the look-up of repeated events takes too long, only those are refused",
  async () => {
    const { store, pool, settings } = await ownPostgres();
    await subscriber(store);
    const impatient = openPool(settings, { connections: 1, statementTimeoutMs: 50 });
    afterThisTest(() => impatient.close());
    let isSlow = false;
    const slowed = (queries: Queries): Queries => ({
      orm: queries.orm,
      run: (text, values) => {
        if (!isSlow || !text.startsWith("SELECT id, fingerprint")) return queries.run(text, values);
        isSlow = false;
        return impatient.run("SELECT pg_sleep(10)");
      },
    });
    const slow: Postgres = {
      ...pool,
      ...slowed(pool),
      transact: (work) => pool.transact((transaction) => work(slowed(transaction))),
    };
    const events = eventPublisher(slow, new ClaimedDeliveries(), new OwnedShards());
    const publish = async (id: string) => {
      const isBehind: (boolean | undefined)[] = [];
      await events.publish(newEvent(id), (_, one) => {
        isBehind.push(one);
        return false;
      });
      return isBehind;
    };
    expect(await publish("earlier")).toEqual([false]);
    const names = ["first", "earlier", "second"];
    isSlow = true;
    const outcomes = await Promise.allSettled(names.map(publish));
    const refused = {
      status: "rejected",
      reason: { message: expect.stringContaining("statement timeout") },
    };
    const stored = { status: "fulfilled", value: [false] };
    expect(outcomes).toMatchObject([stored, refused, stored]);
    // Nothing is unknown, so later events follow in memory.
    expect(await publish("next")).toEqual([false]);
    // All events of a batch are refused together, and none of them is stored.
    isSlow = true;
    const batch = ["in-batch", "earlier"].map((id) => newEvent(id));
    await expect(events.publishAll(batch, () => false)).rejects.toThrow("statement timeout");
    expect(await events.find("in-batch")).toBeNull();
  },
);

/** A group of events that one statement stored or, if it took too long, did not store. */
type Group = { readonly events: number; readonly isLate?: true };

/**
 * A publisher on a database that needs `costMs` for a statement, and ends it after 10 seconds. The first statements end
 * with the PostgreSQL codes `failures`. `published` publishes events at once, and returns why those that are refused are
 * so; `stored` has the ids of the others in the order of their commits. Time passes only while statements run.
 */
function publisherOn(
  costMs: (events: number, at: number) => number,
  isPooled = false,
  failures: readonly string[] = [],
) {
  let clock = 0;
  const groups: Group[] = [];
  const stored: string[] = [];
  const nowhere = openPool(readDatabaseUrl("postgres://onair@127.0.0.1:1/none"), { connections: 1 });
  const pool = {
    ...nowhere,
    orm: nowhere.orm,
    use: nowhere.use,
    transact: nowhere.transact,
    isPooled,
    run: async <Row>(text: string, values: readonly unknown[] = []) => {
      if (!text.includes("INSERT INTO event_ids")) return [];
      const ids = values[0] as string[];
      const isLate = costMs(ids.length, clock) > 10_000;
      clock += isLate ? 10_000 : costMs(ids.length, clock);
      groups.push({ events: ids.length, ...(isLate && { isLate }) });
      if (isLate) throw isPooled ? new DeadlineError() : serverError("57014");
      const failure = failures[groups.length - 1];
      if (failure !== undefined) throw serverError(failure);
      stored.push(...ids);
      // A boundary: the rows of this statement, for events without subscribers.
      return ids.map((_, i) => ({ n: i + 1, is_new: true, is_stale: false, seq: null })) as Row[];
    },
  };
  const events = eventPublisher(pool, new ClaimedDeliveries(), new OwnedShards(), () => clock);
  const published = async (count: number, body = "{}") => {
    const names = Array.from({ length: count }, (_, n) => newEvent(`event-${n}`, { body }));
    const outcomes = await Promise.allSettled(names.map((one) => events.publish(one, () => false)));
    return outcomes.flatMap((one) => (one.status === "rejected" ? [one.reason] : []));
  };
  return { groups, stored, published, pool };
}

const serverError = (errno: string) =>
  new SQL.PostgresError("canceling statement due to a timeout", {
    code: "ERR_POSTGRES_SERVER_ERROR",
    errno,
    detail: "",
    hint: "",
    severity: "ERROR",
  });

test.each([3_100, 9_000])("commits that always take %d ms have many events", async (costMs) => {
  const { groups, published } = publisherOn(() => costMs);
  expect(await published(1_000)).toEqual([]);
  expect(groups.map(({ events }) => events)).toEqual([256, 128, 256, 256, 104]);
});

test("slow commits of few events make the next ones no smaller", async () => {
  const { groups, published } = publisherOn(() => 9_000);
  for (const count of [1, 1, 3, 60]) expect(await published(count)).toEqual([]);
  expect(await published(256)).toEqual([]);
  expect(groups.map(({ events }) => events)).toEqual([1, 1, 3, 60, 256]);
});

test("events to many subscribers are stored in groups that hold locks for about 3 seconds", async () => {
  const { groups, published } = publisherOn((events) => 40 * events);
  expect(await published(256)).toEqual([]);
  expect(await published(2_000)).toEqual([]);
  expect(groups.slice(0, 4)).toEqual([
    { events: 256, isLate: true },
    ...[32, 48, 49].map((events) => ({ events })),
  ]);
  expect(groups.filter(({ isLate }) => isLate)).toHaveLength(1);
  const sizes = groups.slice(1).map(({ events }) => events);
  // One more than 75 takes more than 3 seconds, and then half as many are stored.
  expect(Math.max(...sizes)).toBe(76);
  expect(sizes[sizes.indexOf(76) + 1]).toBe(38);
});

test("groups that are limited by the bytes of their events become smaller, too", async () => {
  const { groups, published } = publisherOn((events) => 250 * events);
  expect(await published(300, "x".repeat(64 * 1024))).toEqual([]);
  expect(groups.slice(0, 3).map(({ events }) => events)).toEqual([32, 16, 8]);
});

test("a statement that was ended by its timeout would have taken longer: half as many events follow a slow one", async () => {
  const { groups, published } = publisherOn((events) => 280 * events);
  expect(await published(256)).toEqual([]);
  expect(groups.slice(0, 4).map(({ events }) => events)).toEqual([256, 32, 16, 8]);
  expect(groups.filter(({ isLate }) => isLate)).toHaveLength(1);
});

test.each([20, 3_100, 9_000])("after timeouts, commits of %d ms grow again", async (costMs) => {
  const { groups, published } = publisherOn((_, at) => (at < 25_000 ? 60_000 : costMs));
  expect(await published(1_500)).toEqual([]);
  const sizes = groups.map(({ events }) => events);
  expect(sizes.slice(0, 4)).toEqual([256, 32, 4, 1]);
  const stored = {
    20: [1, 2, 3, 5, 8, 12, 18, 27, 41, 62, 93, 140, 210, 256],
    3100: [1, 2, 4, 8, 16, 32, 64, 128, 256],
    9000: [1, 2, 4, 8, 16, 32, 64, 128, 256],
  }[costMs];
  expect(sizes.slice(3, 3 + (stored?.length ?? 0))).toEqual(stored ?? []);
});

test("a database that stores not even one event in time refuses all that have waited 30 seconds", async () => {
  const { groups, published } = publisherOn(() => 60_000);
  const reasons = await published(200);
  expect(reasons).toHaveLength(200);
  for (const reason of reasons) expect(reason).toMatchObject(isRefused);
  expect(groups.map(({ events }) => events)).toEqual([200, 25, 4, 1]);
});

test.each([
  { failures: ["55P03", "57014"], kept: ["event-2", "event-3"] },
  { failures: ["55P03", "57014", "57014"], kept: [] },
])("a part that takes too long is not stored after later parts: $failures", async ({ failures, kept }) => {
  const { groups, stored, published } = publisherOn(() => 20, false, failures);
  const reasons = await published(4);
  expect(groups.map(({ events }) => events)).toEqual([4, 2, 2]);
  expect(stored).toEqual([...kept]);
  expect(reasons).toHaveLength(4 - kept.length);
  for (const reason of reasons) expect(reason).toMatchObject(isRefused);
});

test("nothing is kept of events that still wait for a lock when the time for all parts is over", async () => {
  const { groups, published } = publisherOn(() => 6_000, false, ["55P03", "55P03", "55P03"]);
  const reasons = await published(2);
  expect(groups.map(({ events }) => events)).toEqual([2, 1, 1]);
  expect(reasons).toHaveLength(2);
  for (const reason of reasons) expect(reason).toMatchObject(isRefused);
});

test("through a pooler that does not end statements, the next ones store fewer events", async () => {
  const { groups, published } = publisherOn((events) => 40 * events, true);
  const reasons = await published(300);
  expect(reasons).toHaveLength(256);
  for (const reason of reasons) expect(reason).toBeInstanceOf(DeadlineError);
  expect(groups.map(({ events }) => events)).toEqual([256, 32, 12]);
});

test("events that are not sent, because too many statements wait, make the next groups no smaller", async () => {
  const silent = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  const full = openPool(readDatabaseUrl(`postgres://onair@127.0.0.1:${silent.port}/none`), {
    connections: 1,
  });
  const waiting = Promise.allSettled(Array.from({ length: 10_000 }, () => full.run("SELECT 1")));
  const { groups, published, pool } = publisherOn(() => 20, true);
  const { run } = pool;
  pool.run = full.run;
  const reasons = await published(256);
  expect(reasons).toHaveLength(256);
  for (const reason of reasons) {
    expect(reason).toMatchObject(isRefused);
    expect(reason.cause).toBeInstanceOf(NotSentError);
    expect(storageFaultOf(reason)).toBe("unreachable");
  }
  pool.run = run;
  expect(await published(256)).toEqual([]);
  expect(groups).toEqual([{ events: 256 }]);
  silent.stop(true);
  await full.close();
  await waiting;
});
