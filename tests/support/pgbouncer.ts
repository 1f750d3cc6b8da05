import { existsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { unusedPort } from "./ports.ts";
import { answers, asUser, type PostgresServer, serverDirectory } from "./postgres-server.ts";
import { until } from "./until.ts";

const program = Bun.which("pgbouncer") ?? (existsSync("/usr/sbin/pgbouncer") ? "/usr/sbin/pgbouncer" : null);

/** Whether PgBouncer is installed here. */
export const hasBouncer = program !== null;
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

export async function startBouncer(server: PostgresServer): Promise<Bouncer> {
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
