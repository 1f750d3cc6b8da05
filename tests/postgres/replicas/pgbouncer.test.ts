import { expect, onTestFinished, setDefaultTimeout, test } from "bun:test";
import { faultRun } from "../../support/fault-run.ts";
import { hasBouncer, startBouncer } from "../../support/pgbouncer.ts";
import { administer, hasPostgres } from "../../support/postgres.ts";
import { startPostgres } from "../../support/postgres-server.ts";
import { run } from "../../support/process.ts";

setDefaultTimeout(180_000);

/*
 * Behind PgBouncer in transaction mode each transaction may use another server connection. Migrations and notifications
 * need a connection of their own and use `--database-direct`.
 */
test.skipIf(!hasPostgres || !hasBouncer)(
  "behind PgBouncer no promise is broken when a replica and then PgBouncer itself is killed",
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

test.skipIf(!hasPostgres || !hasBouncer)("without --database-direct the error names the option", async () => {
  const postgres = await startPostgres();
  onTestFinished(postgres.stop);
  await administer(postgres.url("postgres"), "CREATE DATABASE onair");
  const bouncer = await startBouncer(postgres);
  onTestFinished(bouncer.stop);
  const env = { ONAIR_DATABASE: bouncer.url("onair"), ONAIR_LOG_LEVEL: "off" };
  const quiet = ["--port", "0", "--admin-port", "0"];
  const started = await run(["serve", ...quiet], { env });
  expect([started.code, started.stdout]).toEqual([2, ""]);
  expect(started.stderr).toContain("--database-direct");
  expect(started.stderr).not.toContain("cannot be reached");
  const examined = await run(["doctor", ...quiet], { env });
  expect([examined.code, examined.stdout]).toEqual([1, expect.stringContaining("--database-direct")]);
});
