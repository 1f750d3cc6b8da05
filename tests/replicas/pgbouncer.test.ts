import { expect, onTestFinished, setDefaultTimeout, test } from "bun:test";
import { faultRun } from "../support/fault-run.ts";
import { hasBouncer, startBouncer } from "../support/pgbouncer.ts";
import { administer, hasPostgres } from "../support/postgres.ts";
import { startPostgres } from "../support/postgres-server.ts";

setDefaultTimeout(180_000);

/*
 * Behind PgBouncer in transaction mode each transaction has another connection of the server. What needs one of its own,
 * migrations and notifications, goes by way of `--database-direct`.
 */
test.skipIf(!hasPostgres || !hasBouncer)(
  "behind PgBouncer a replica is killed, and then PgBouncer itself",
  async () => {
    const postgres = await startPostgres();
    onTestFinished(postgres.stop);
    await administer(postgres.url("postgres"), "CREATE DATABASE onair");
    const bouncer = await startBouncer(postgres);
    onTestFinished(bouncer.stop);
    const env = {
      ONAIR_DATABASE: bouncer.url("onair"),
      ONAIR_DATABASE_DIRECT: postgres.url("onair"),
      ONAIR_LOG_LEVEL: "off",
    };
    const report = await faultRun({
      database: postgres.url("onair"),
      replicas: [{ env }, { env }],
      async faults([first], { allServed }) {
        await first?.end("SIGKILL");
        await allServed();
        await first?.start();
        await bouncer.restart();
        await allServed();
      },
    });
    expect(report.problems).toEqual([]);
    expect(report.acknowledged).toBeGreaterThan(20);
  },
);
