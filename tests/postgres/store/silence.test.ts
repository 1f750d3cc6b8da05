import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "bun:test";
import { newEndpoint } from "../../../src/domain/endpoints.ts";
import type { Store } from "../../../src/domain/store.ts";
import { day } from "../../../src/domain/time.ts";
import { userFrom } from "../../../src/domain/users.ts";
import { Notifications } from "../../../src/postgres/notifications.ts";
import { openPool } from "../../../src/postgres/pool.ts";
import { openPostgresStore } from "../../../src/postgres/store.ts";
import { readDatabaseUrl } from "../../../src/store/location.ts";
import { emptyDatabase, hasPostgres, type TestDatabase } from "../../support/postgres.ts";
import { startPostgres } from "../../support/postgres-server.ts";
import { attemptResult, loggedDeliveries, newEvent, storedAt, subscriber } from "../../support/store.ts";
import { type SilentAt, type TcpProxy, tcpProxy } from "../../support/tcp-proxy.ts";
import { until } from "../../support/until.ts";

describe.skipIf(!hasPostgres)("a server that says nothing", () => {
  let database: TestDatabase;
  let proxy: TcpProxy;
  beforeAll(async () => {
    database = await emptyDatabase();
    proxy = await tcpProxy(Number(new URL(database.url).port));
  });
  afterAll(async () => {
    proxy.stop();
    await database.drop();
  });

  test("is waited for until the deadline; then connections are made anew", async () => {
    const settings = { ...readDatabaseUrl(database.url), port: proxy.port };
    const pool = openPool(settings, { connections: 2, statementTimeoutMs: 200 });
    expect(await pool.run("SELECT 1 AS n")).toEqual([{ n: 1 }]);
    await pool.transact(({ run }) => run("SELECT 1"));
    proxy.hold();
    const asked = [
      pool.run("SELECT 2"),
      pool.transact(({ run }) => run("SELECT 3")),
      pool.transact(({ run }) => run("SELECT 4")),
    ];
    const results = await Promise.allSettled(asked);
    for (const result of results) {
      expect(result).toMatchObject({ status: "rejected", reason: { name: "DeadlineError" } });
    }
    proxy.release();
    expect(await pool.run("SELECT 5 AS n")).toEqual([{ n: 5 }]);
    await pool.transact(({ run }) => run("INSERT INTO settings VALUES ('a', '1')"));
    await pool.close();
  });

  test("on one connection: once it is late, no further statement waits for that connection", async () => {
    const settings = { ...readDatabaseUrl(database.url), port: proxy.port };
    const pool = openPool(settings, { connections: 2, statementTimeoutMs: 200 });
    const waits: { readonly begunAt: number; readonly ms: number; readonly isLate: boolean }[] = [];
    const ask = async () => {
      const begunAt = performance.now();
      const isLate = await pool.run("SELECT 1").then(
        () => false,
        () => true,
      );
      waits.push({ begunAt, ms: performance.now() - begunAt, isLate });
    };
    await Promise.all([ask(), ask()]);
    const silent = proxy.silence("message");
    void ask();
    await silent;
    const asked: Promise<void>[] = [];
    await until(() => {
      asked.push(ask());
      return waits.some(({ isLate }) => isLate);
    });
    const [replacedAt, firstLate] = [performance.now(), waits.find(({ isLate }) => isLate)];
    expect(firstLate?.ms).toBeLessThan(20_000);
    await Promise.all(Array.from({ length: 20 }, ask));
    await Promise.all(asked);
    const after = waits.filter(({ begunAt }) => begunAt >= replacedAt);
    expect(after).toHaveLength(20);
    expect(after.filter(({ isLate }) => isLate)).toEqual([]);
    // It closes the silent connection, too, which would be waited for without end.
    await pool.close();
  });

  test("to LISTEN, or to a pool that is closed, is waited for a few seconds", async () => {
    const settings = { ...readDatabaseUrl(database.url), port: proxy.port };
    const pool = openPool(settings, { connections: 2, statementTimeoutMs: 60_000 });
    const notifications = new Notifications(settings, pool);
    const silent = proxy.silence("listen");
    const started = notifications.start().then(
      () => null,
      (error: unknown) => error,
    );
    await silent;
    expect(await started).toMatchObject({ code: "ERR_POSTGRES_CONNECTION_CLOSED" });
    await notifications.close();

    const inTransaction = proxy.silence("statement");
    const waiting = [pool.transact(({ run }) => run("SELECT 1")), pool.run("SELECT pg_sleep(60)")];
    await inTransaction;
    const results = Promise.allSettled(waiting);
    await pool.close();
    for (const { status } of await results) expect(status).toBe("rejected");
  });

  test("a commit that waits for a standby is given up, not canceled: it is visible only when the standby has it", async () => {
    const server = await startPostgres();
    onTestFinished(server.stop);
    const settings = readDatabaseUrl(server.url("postgres"));
    const pool = openPool(settings, { connections: 2, statementTimeoutMs: 200 });
    const other = openPool(settings, { connections: 1 });
    onTestFinished(() => Promise.all([pool.close(), other.close()]));
    await other.run("CREATE TABLE kept (n integer)");
    await other.run("CREATE TABLE tries (n integer)");
    const follow = async (name: string) => {
      await other.run("SET synchronous_commit = local");
      await other.run(`ALTER SYSTEM SET synchronous_standby_names = '${name}'`);
      await other.run("SELECT pg_reload_conf()");
    };
    const rows = () => other.run("SELECT n FROM kept WHERE n = (SELECT count(*) FROM tries)");
    await follow("nobody");
    // The server takes the setting in its own time.
    await until(async () => {
      await other.run("INSERT INTO tries VALUES (1)");
      const insert = pool.run("INSERT INTO kept SELECT count(*) FROM tries");
      const refused = await insert.then(
        () => null,
        (error: unknown) => error,
      );
      if (refused) expect(refused).toMatchObject({ name: "DeadlineError" });
      return refused !== null;
    });
    await Bun.sleep(300);
    expect(await rows()).toEqual([]);
    await follow("");
    await until(async () => (await rows()).length === 1);
  });
});

/*
 * One connection becomes silent in the middle of a transaction; the others work.
 */

const statementTimeoutMs = 1_000;
/** A wait without a deadline would never end. This is long enough for a busy machine. */
const mostMs = 20_000;
const now = storedAt;
const grant = {
  applicationId: "",
  userId: null,
  scopes: ["events:subscribe"],
  createdAt: 0,
  expiresAt: now + day,
} as const;
const hash = (text: string) => new Bun.CryptoHasher("sha256").update(text).digest();

interface Given {
  readonly store: Store;
  /** An application that is subscribed to user 1. */
  readonly application: string;
  /** The number of its delivery, which is claimed. */
  readonly seq: number;
}

/** Each transaction of the engine. It is called again after it was refused. */
const transactions: Readonly<Record<string, (given: Given) => Promise<unknown>>> = {
  "publishing an atomic batch": ({ store }) =>
    store.events.publishAll([newEvent("batch-1"), newEvent("batch-2")], () => false),
  "recording results with a notice": ({ store, application, seq }) => {
    const endpoint = { ...newEndpoint(application), failing_since: now };
    const notice = {
      id: "notice",
      type: "endpoint.failing",
      application_id: application,
      body: "{}",
      created_at: now,
      sending: { status: "unsent", attempts: 0, next_attempt_at: null, error: null },
    } as const;
    return store.deliveries.record([attemptResult({ seq })], [endpoint], [notice]);
  },
  "retrying a delivery": async ({ store, application, seq }) => {
    const id = (await loggedDeliveries(store)).find((one) => one.seq === seq)?.id ?? "";
    await store.deliveries.retry({ application_id: application, broadcaster_user_id: null }, id, now);
  },
  "creating a replay": ({ store, application }) =>
    store.replays.create({
      id: "replay",
      application_id: application,
      broadcaster_user_id: null,
      of_broadcaster: null,
      subscription_id: null,
      status: null,
      type: null,
      from: now - day,
      to: now + day,
      dry_run: true,
      created_at: now,
    }),
  retention: ({ store }) =>
    store.retention.prune({ deliveredMs: day, failedMs: day, bodiesMs: day, byType: {} }, now + 2 * day),
  subscribing: ({ store, application: applicationId }) => {
    const wanted = [{ broadcaster_user_id: 1, event: "chat.message.sent", version: 1 }];
    return store.subscriptions.subscribe({ applicationId, wanted, limit: 9 }, now);
  },
  "storing requests": ({ store, application }) => {
    const hours = [{ at: now, counts: { "getUser 200": 1 } }];
    return store.requests.add([[application, { hours, refused: [] }]], now);
  },
  "revoking a token": ({ store, application }) => store.tokens.revoke(hash("token"), application),
  "removing expired tokens": ({ store }) => store.tokens.removeExpired(now),
  "changing an application": ({ store, application }) =>
    store.applications.update(application, { webhook_url: "https://other.test/" }, now),
  "removing an application": ({ store, application }) => store.applications.remove(application, now),
  "enabling an endpoint": ({ store, application }) => store.endpoints.enable(application, now),
};

interface Silenced extends Given {
  silence(at: SilentAt): Promise<unknown>;
}

async function withStore(work: (given: Silenced) => Promise<void>): Promise<void> {
  const database = await emptyDatabase();
  const proxy = await tcpProxy(Number(new URL(database.url).port));
  const settings = { ...readDatabaseUrl(database.url), port: proxy.port };
  const store = await openPostgresStore(settings, { connections: 4, statementTimeoutMs });
  try {
    await store.deliveries.releaseAll();
    await store.users.upsert([userFrom({ id: 2, username: "two" })], "");
    const application = await subscriber(store);
    await store.tokens.create(hash("token"), { ...grant, applicationId: application });
    await store.events.publish(newEvent("first"), () => false);
    const { due } = await store.deliveries.claim(application, now, 9);
    await work({ store, application, seq: due[0]?.seq ?? 0, silence: proxy.silence });
  } finally {
    await store.close();
    proxy.stop();
    await database.drop();
  }
}

describe.skipIf(!hasPostgres).concurrent("a connection that becomes silent", () => {
  const points: readonly SilentAt[] = ["statement", "commit", "answer to commit"];
  const cases = Object.keys(transactions).flatMap((name) => points.map((at) => [name, at] as const));
  test.each(cases)("in %s, at its %s: the caller is refused in time", (name, at) =>
    withStore(async ({ silence, ...given }) => {
      const { store, seq } = given;
      const work = () => transactions[name]?.(given);
      const silent = silence(at);
      let isWaiting = true;
      const refused = work()
        ?.then(
          () => null,
          (error: unknown) => error,
        )
        .finally(() => {
          isWaiting = false;
        });
      await silent;
      const silentSince = performance.now();
      // Other connections get answers meanwhile.
      while (isWaiting && performance.now() - silentSince < mostMs) {
        expect(await store.users.find("two")).not.toBeNull();
        await Bun.sleep(100);
      }
      expect(isWaiting).toBe(false);
      expect(await refused).toMatchObject({ code: "unavailable" });
      // The server ends the transaction, which holds locks, and the same works again.
      await until(
        () =>
          work()?.then(
            () => true,
            (error: { code?: string }) => error.code !== "unavailable",
          ) ?? false,
      );
      const other = await store.events.publish(newEvent("other"), () => false);
      expect(other.id).toBe("other");
      if (name.startsWith("recording")) {
        const recorded = (await loggedDeliveries(store)).find((one) => one.seq === seq);
        expect(recorded).toMatchObject({ status: "delivered", attempts: [{ status: 204 }] });
        expect(await store.notices.page(null, null, 9)).toHaveLength(1);
      }
      if (name.startsWith("publishing")) {
        const ids = (await loggedDeliveries(store)).map(({ event_id }) => event_id);
        expect(ids.filter((id) => id.startsWith("batch"))).toEqual(["batch-1", "batch-2"]);
      }
    }),
  );
});
