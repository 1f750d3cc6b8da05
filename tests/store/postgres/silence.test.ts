import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readDatabaseUrl } from "../../../src/store/postgres/database/connection-url.ts";
import { openPool } from "../../../src/store/postgres/database/pool.ts";
import { emptyDatabase, hasPostgres, type TestDatabase } from "../../support/postgres.ts";
import { type TcpProxy, tcpProxy } from "../../support/tcp-proxy.ts";

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
});
