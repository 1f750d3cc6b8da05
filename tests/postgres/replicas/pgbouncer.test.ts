import { expect, onTestFinished, setDefaultTimeout, test } from "bun:test";
import { existsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { faultRun } from "../../support/fault-run.ts";
import { unusedPort } from "../../support/ports.ts";
import { administer, hasPostgres } from "../../support/postgres.ts";
import {
  answers,
  asUser,
  type PostgresServer,
  serverDirectory,
  startPostgres,
} from "../../support/postgres-server.ts";
import { run } from "../../support/process.ts";
import { until } from "../../support/until.ts";

const program = Bun.which("pgbouncer") ?? (existsSync("/usr/sbin/pgbouncer") ? "/usr/sbin/pgbouncer" : null);

/** Whether PgBouncer is installed here. */
const hasBouncer = program !== null;
if (!hasBouncer) {
  console.warn("PgBouncer is not installed here: ITS TESTS ARE SKIPPED. Install the package pgbouncer.");
}

/** A pooler in transaction mode in front of a server. */
interface Bouncer {
  /** The URL of one of the server's databases, by way of it. */
  url(database: string): string;
  /** Kills it, and starts it again on the same port. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

async function startBouncer(server: PostgresServer): Promise<Bouncer> {
  const directory = serverDirectory(tmpdir());
  const port = await unusedPort();
  const settings = join(directory.path, "pgbouncer.ini");
  // Few connections, so that transactions of replicas take turns on them.
  writeFileSync(
    settings,
    `[databases]
* = host=127.0.0.1 port=${server.port} user=postgres password=test
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 6
max_client_conn = 300
`,
  );
  const url = (database: string) => Object.assign(new URL(server.url(database)), { port: `${port}` }).href;
  let process: Bun.Subprocess | null = null;
  const start = async () => {
    const log = Bun.file(join(directory.path, "log"));
    process = Bun.spawn([...asUser().command, program ?? "pgbouncer", settings], {
      cwd: directory.path,
      stdin: "ignore",
      stdout: "ignore",
      stderr: log,
    });
    await until(
      () => answers(url("postgres")),
      () => `PgBouncer did not start: ${directory.path}/log`,
    );
  };
  const kill = async () => {
    process?.kill("SIGKILL");
    await process?.exited;
  };
  await start();
  return {
    url,
    async restart() {
      await kill();
      await start();
    },
    async stop() {
      await kill();
      directory.remove();
    },
  };
}

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
