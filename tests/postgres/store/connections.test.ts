import { expect, test } from "bun:test";
import { openPool } from "../../../src/postgres/pool.ts";
import { readDatabaseUrl } from "../../../src/store/location.ts";
import { afterThisTest } from "../../support/after-tests.ts";
import { emptyDatabase, hasPostgres } from "../../support/postgres.ts";
import { until } from "../../support/until.ts";

test.skipIf(!hasPostgres)("the use of the connections, and the times of statements", async () => {
  const { url, drop } = await emptyDatabase();
  const pool = openPool(readDatabaseUrl(url), { connections: 2 });
  afterThisTest(async () => {
    await pool.close();
    await drop();
  });
  const use = () => {
    const { limit, inUse, waiting, statementSeconds } = pool.use;
    return { limit, inUse, waiting, statements: statementSeconds.counts.reduce((all, n) => all + n, 0) };
  };
  expect(use()).toEqual({ limit: 2, inUse: 0, waiting: 0, statements: 0 });
  await pool.run("SELECT pg_sleep(0.02)");
  await expect(pool.run("SELECT wrong")).rejects.toThrow();
  expect(use()).toEqual({ limit: 2, inUse: 0, waiting: 0, statements: 2 });
  expect(pool.use.statementSeconds.sum).toBeGreaterThan(0.02);
  expect(pool.use.statementSeconds.sum).toBeLessThan(10);
  const ended = Promise.withResolvers<void>();
  const transactions = [1, 2, 3].map(() => pool.transact(() => ended.promise));
  await until(() => use().statements === 4); // two of them have begun
  expect(use()).toMatchObject({ inUse: 2, waiting: 1 });
  ended.resolve();
  await Promise.all(transactions);
  expect(use()).toEqual({ limit: 2, inUse: 0, waiting: 0, statements: 8 });
});

test.skipIf(!hasPostgres).each([false, true])(
  "transactions have the timeouts of the pool, also through a pooler: %p",
  async (isPooled) => {
    const { url, drop } = await emptyDatabase();
    const pool = openPool(readDatabaseUrl(url), { connections: 1, statementTimeoutMs: 700, isPooled });
    afterThisTest(async () => {
      await pool.close();
      await drop();
    });
    const set = await pool.transact(({ run }) =>
      run(
        "SELECT current_setting('statement_timeout') AS a, current_setting('idle_in_transaction_session_timeout') AS b",
      ),
    );
    expect(set).toEqual([{ a: "700ms", b: "700ms" }]);
  },
);
