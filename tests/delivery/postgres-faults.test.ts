import { expect, test } from "bun:test";
import { SQL } from "bun";
import { seeded } from "../../src/dev/chance.ts";
import { killRun } from "../support/fault-run.ts";
import { type PostgresServer, startPostgres } from "../support/postgres-server.ts";
import { isOnPostgres } from "../support/server.ts";

/** The server ends within this time. */
const endMs = 1_000;

async function administer(server: PostgresServer, statement: string): Promise<void> {
  const sql = new SQL(server.url("postgres"), { max: 1 });
  await sql.unsafe(statement);
  await sql.close();
}

test.skipIf(!isOnPostgres)(
  "PostgreSQL crashes, restarts and ends its connections under load: every acknowledged event arrives, under one id",
  async () => {
    await using stack = new AsyncDisposableStack();
    const server = await startPostgres(["fsync=on"]);
    stack.defer(() => server.stop());
    await administer(server, "CREATE DATABASE onair");
    const restart = async (signal: NodeJS.Signals) => {
      server.kill(signal);
      await Bun.sleep(endMs);
      await server.start();
    };
    const faults = [
      () =>
        administer(server, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'onair'"),
      () => restart("SIGQUIT"),
      () => restart("SIGINT"),
    ];
    let n = 0;
    const report = await killRun({
      kills: 2 * faults.length,
      random: seeded(Date.now()),
      database: server.url("onair"),
      disturb: async () => faults[n++ % faults.length]?.(),
      run: { env: { ONAIR_LOG_LEVEL: "off" } },
    });
    expect(report.problems).toEqual([]);
    expect(report.acknowledged).toBeGreaterThan(10);
  },
  300_000,
);
