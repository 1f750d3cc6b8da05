import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "bun:test";
import { Notifications } from "../../../src/postgres/notifications.ts";
import { openPool } from "../../../src/postgres/pool.ts";
import { readDatabaseUrl } from "../../../src/store/location.ts";
import { emptyDatabase, hasPostgres, type TestDatabase } from "../../support/postgres.ts";
import { startPostgres } from "../../support/postgres-server.ts";
import { type TcpProxy, tcpProxy } from "../../support/tcp-proxy.ts";
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
    expect(firstLate?.ms).toBeLessThan(4_000);
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
