import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SQL } from "bun";
import { unusedPort } from "./ports.ts";
import { until } from "./until.ts";

/** A private PostgreSQL server that tests may stop, kill and reconfigure. */
export interface PostgresServer {
  /** The URL of one of its databases, for a superuser. */
  url(database: string): string;
  readonly port: number;
  /** The pid of its main process. */
  readonly pid: number;
  /** Signals the server's main process. */
  kill(signal: NodeJS.Signals): void;
  /** Kills all processes of the server at once, like a power failure. */
  killAll(): Promise<void>;
  /** True while its main process runs. */
  readonly isRunning: boolean;
  /** Starts it on the same port and data after a kill. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** A standby that replicates a primary until it is promoted. */
interface StandbyServer extends PostgresServer {
  /** Promotes it to primary. */
  promote(): Promise<void>;
}

const binaries = Bun.which("initdb") ? "" : newestBinaries();

/** True when PostgreSQL is installed. */
export const isInstalled = binaries !== null;

/** The directory with the programs of the newest version, as Debian installs them; null if there is none. */
function newestBinaries(): string | null {
  const versions = "/usr/lib/postgresql";
  if (!existsSync(versions)) return null;
  const found = readdirSync(versions)
    .filter((version) => existsSync(join(versions, version, "bin/initdb")))
    .sort((a, b) => Number(b) - Number(a));
  return found[0] ? join(versions, found[0], "bin") : null;
}

const binary = (name: string) => (binaries ? join(binaries, name) : name);

/**
 * A command prefix with which a program ends with this process and does not run as root, which PostgreSQL and PgBouncer
 * refuse: root starts them as the user that their package created.
 */
export function asUser(): { readonly command: readonly string[]; readonly uid: number | null } {
  const dying = ["setpriv", "--pdeathsig", "QUIT"];
  if (process.getuid?.() !== 0) return { command: Bun.which("setpriv") ? dying : [], uid: null };
  const uid = Number(Bun.spawnSync(["id", "-u", "postgres"]).stdout.toString());
  const ids = ["--reuid", "postgres", "--regid", "postgres", "--clear-groups"];
  return { command: [...dying, ...ids], uid };
}

/**
 * A directory for a server. A separate process removes it when this one ends, because Bun's test runner emits no exit
 * event.
 */
export function serverDirectory(parent: string): { readonly path: string; readonly remove: () => void } {
  const path = mkdtempSync(join(parent, "onair-postgres-"));
  const { uid } = asUser();
  if (uid !== null) chownSync(path, uid, -1);
  const whenInputEnds = 'trap "" INT TERM HUP; cat; sleep 2; rm -rf "$0"';
  const janitor = Bun.spawn(["setsid", "sh", "-c", whenInputEnds, path], {
    stdin: "pipe",
    stdout: "ignore",
    stderr: "ignore",
  });
  janitor.unref();
  return {
    path,
    remove() {
      rmSync(path, { recursive: true, force: true });
      janitor.kill("SIGKILL");
    },
  };
}

function runAs(command: readonly string[], cwd: string): void {
  const { success, stderr } = Bun.spawnSync([...asUser().command, ...command], { cwd, stderr: "pipe" });
  if (!success) throw new Error(`${command[0]}: ${stderr}`);
}

/** A directory with the password of the superuser, and what `initdb` makes in `data`. */
function initialized(): string {
  const { path } = serverDirectory(tmpdir());
  const password = join(path, "password");
  writeFileSync(password, "test\n");
  const options = ["-U", "postgres", "-A", "scram-sha-256", `--pwfile=${password}`, "--no-sync"];
  const locale = ["-E", "UTF8", "--locale=C.UTF-8"];
  runAs([binary("initdb"), "-D", join(path, "data"), ...options, ...locale], path);
  return path;
}

let template: string | undefined;

/**
 * Starts a private server in a temporary directory below `parent`, on a free port. `settings` are like
 * `max_connections=20`. Its data are a copy of those that `initdb` makes once in a process.
 */
export async function startPostgres(
  settings: readonly string[] = [],
  parent = tmpdir(),
): Promise<PostgresServer> {
  template ??= initialized();
  const directory = serverDirectory(parent);
  runAs(["cp", "--recursive", join(template, "data"), directory.path], directory.path);
  return started(directory, settings);
}

/** Starts a synchronous standby of `primary`: each commit waits until both have it. */
export async function startStandby(primary: PostgresServer): Promise<StandbyServer> {
  const directory = serverDirectory(tmpdir());
  const data = join(directory.path, "data");
  const from = primary.url("postgres").replace(/postgres$/, "");
  runAs(
    [binary("pg_basebackup"), "-d", from, "-D", data, "-R", "-X", "stream", "-c", "fast", "--no-sync"],
    directory.path,
  );
  const standby = await started(directory, []);
  const sql = new SQL(primary.url("postgres"), { max: 1 });
  await sql.unsafe("ALTER SYSTEM SET synchronous_standby_names = '*'");
  await sql.unsafe("SELECT pg_reload_conf()");
  await until(async () => {
    const following = await sql.unsafe("SELECT FROM pg_stat_replication WHERE sync_state = 'sync'");
    return following.length === 1;
  });
  await sql.close();
  return {
    ...standby,
    async promote() {
      runAs([binary("pg_ctl"), "promote", "-D", data, "-w"], directory.path);
    },
  };
}

async function started(
  directory: ReturnType<typeof serverDirectory>,
  settings: readonly string[],
): Promise<PostgresServer> {
  const { command } = asUser();
  const port = await unusedPort();
  const all = [`port=${port}`, "listen_addresses=127.0.0.1", `unix_socket_directories=${directory.path}`];
  all.push("fsync=off", "shared_buffers=32MB", "max_connections=300", ...settings);
  const url = (database: string) => `postgres://postgres:test@127.0.0.1:${port}/${database}`;
  let server: Bun.Subprocess | null = null;
  const end = () => server?.kill("SIGQUIT");
  process.on("exit", end);
  const start = async () => {
    await server?.exited;
    server = Bun.spawn(
      [
        ...command,
        binary("postgres"),
        "-D",
        join(directory.path, "data"),
        ...all.flatMap((one) => ["-c", one]),
      ],
      {
        cwd: directory.path,
        stdin: "ignore",
        stdout: "ignore",
        stderr: Bun.file(join(directory.path, "log")),
      },
    );
    await until(
      () => answers(url("postgres")),
      () => `PostgreSQL did not start: ${directory.path}/log`,
    );
  };
  const isRunning = () => server !== null && server.exitCode === null && server.signalCode === null;
  await start();
  return {
    url,
    port,
    get pid() {
      return server?.pid ?? 0;
    },
    start,
    get isRunning() {
      return isRunning();
    },
    kill: (signal) => void server?.kill(signal),
    async killAll() {
      const main = server?.pid;
      if (main === undefined) return;
      const children = Bun.spawnSync(["pgrep", "-P", `${main}`])
        .stdout.toString()
        .split(/\s+/);
      // The main process first, because it restarts the others.
      for (const pid of [main, ...children.filter(Boolean).map(Number)]) killed(pid);
      await server?.exited;
    },
    async stop() {
      end();
      await server?.exited;
      process.off("exit", end);
      directory.remove();
    },
  };
}

function killed(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has already ended.
  }
}

export async function answers(url: string): Promise<boolean> {
  const sql = new SQL(url, { max: 1, connectionTimeout: 1 });
  try {
    await sql`SELECT 1`;
    return true;
  } catch {
    await Bun.sleep(20);
    return false;
  } finally {
    await sql.close({ timeout: 0 });
  }
}
