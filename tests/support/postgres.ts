import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SQL } from "bun";
import { readDatabaseUrl } from "../../src/store/postgres/database/connection-url.ts";
import { migrateDatabase, schemaSteps } from "../../src/store/postgres/database/migrations.ts";
import { openPool } from "../../src/store/postgres/database/pool.ts";
import { until } from "./until.ts";

/** A PostgreSQL server of which tests may do what they want. */
export interface PostgresServer {
  /** The URL of one of its databases, for a superuser. */
  url(database: string): string;
  readonly port: number;
  /** Signals the server's main process. */
  kill(signal: NodeJS.Signals): void;
  /** Starts it again on the same port and data, after it was killed. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** A database of a test. */
export interface TestDatabase {
  readonly url: string;
  drop(): Promise<void>;
}

const binaries = Bun.which("initdb") ? "" : newestBinaries();
const given = process.env["ONAIR_TEST_DATABASE"];

/**
 * Whether there is a PostgreSQL for tests: that of `ONAIR_TEST_DATABASE`, or a private one of the binaries that are
 * installed here.
 */
export const hasPostgres = given !== undefined || binaries !== null;
if (!hasPostgres) {
  console.warn("PostgreSQL is not installed here: ITS TESTS ARE SKIPPED. Install the package postgresql.");
}

/** Whether the servers of tests are on PostgreSQL. */
export const serversOnPostgres = given !== undefined;

/** The directory of the newest version's programs, as Debian installs them; null where there is none. */
function newestBinaries(): string | null {
  const versions = "/usr/lib/postgresql";
  if (!existsSync(versions)) return null;
  const found = readdirSync(versions)
    .filter((version) => existsSync(join(versions, version, "bin/initdb")))
    .sort((a, b) => Number(b) - Number(a));
  return found[0] ? join(versions, found[0], "bin") : null;
}

const binary = (name: string) => (binaries ? join(binaries, name) : name);

/** PostgreSQL refuses to run as root: then it runs as the user that its package has made. It ends with this process. */
function asUser(): { readonly command: readonly string[]; readonly uid: number | null } {
  const dying = ["setpriv", "--pdeathsig", "QUIT"];
  if (process.getuid?.() !== 0) return { command: Bun.which("setpriv") ? dying : [], uid: null };
  const uid = Number(Bun.spawnSync(["id", "-u", "postgres"]).stdout.toString());
  const ids = ["--reuid", "postgres", "--regid", "postgres", "--clear-groups"];
  return { command: [...dying, ...ids], uid };
}

/** Starts a private server in a temporary directory on a free port. `settings`: such as `max_connections=20`. */
export async function startPostgres(settings: readonly string[] = []): Promise<PostgresServer> {
  const directory = mkdtempSync(join(tmpdir(), "onair-postgres-"));
  const { command, uid } = asUser();
  if (uid !== null) chownSync(directory, uid, -1);
  const [data, password] = [join(directory, "data"), join(directory, "password")];
  writeFileSync(password, "test\n");
  const options = ["-U", "postgres", "-A", "scram-sha-256", `--pwfile=${password}`, "--no-sync"];
  const made = Bun.spawnSync(
    [...command, binary("initdb"), "-D", data, ...options, "-E", "UTF8", "--locale=C.UTF-8"],
    { cwd: directory, stderr: "pipe" },
  );
  if (!made.success) throw new Error(`initdb: ${made.stderr}`);
  const port = freePort();
  const all = [`port=${port}`, "listen_addresses=127.0.0.1", `unix_socket_directories=${directory}`];
  all.push("fsync=off", "shared_buffers=32MB", "max_connections=300", ...settings);
  const url = (database: string) => `postgres://postgres:test@127.0.0.1:${port}/${database}`;
  let server: Bun.Subprocess | null = null;
  const end = () => server?.kill("SIGQUIT");
  process.on("exit", end);
  const start = async () => {
    await server?.exited;
    const started = Bun.spawn(
      [...command, binary("postgres"), "-D", data, ...all.flatMap((one) => ["-c", one])],
      { cwd: directory, stdin: "ignore", stdout: "ignore", stderr: Bun.file(join(directory, "log")) },
    );
    server = started;
    await until(
      () => answers(url("postgres")),
      () => `PostgreSQL did not start: ${directory}/log`,
    );
  };
  await start();
  return {
    url,
    port,
    start,
    kill: (signal) => void server?.kill(signal),
    async stop() {
      end();
      await server?.exited;
      process.off("exit", end);
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

function freePort(): number {
  const probe = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  const { port } = probe;
  probe.stop(true);
  return port;
}

async function answers(url: string): Promise<boolean> {
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

let shared: Promise<(database: string) => string> | null = null;

/** The server that all tests of this process share: gives the URLs of its databases. */
function sharedServer(): Promise<(database: string) => string> {
  shared ??= (async () => {
    if (given === undefined) return (await startPostgres()).url;
    return (database: string) => Object.assign(new URL(given), { pathname: `/${database}` }).href;
  })();
  return shared;
}

/** Runs a statement on a database. */
export async function administer(url: string, statement: string): Promise<void> {
  const sql = new SQL(url, { max: 1 });
  try {
    await sql.unsafe(statement);
  } finally {
    await sql.close({ timeout: 0 });
  }
}

let lastNumber = 0;

/** A database without anything in it; `options`: what follows `CREATE DATABASE name`. */
export async function bareDatabase(options = ""): Promise<TestDatabase> {
  const url = await sharedServer();
  const name = `onair_test_${process.pid}_${Date.now().toString(36)}_${++lastNumber}`;
  await administer(url("postgres"), `CREATE DATABASE ${name} ${options}`);
  return {
    url: url(name),
    drop: () => administer(url("postgres"), `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
  };
}

let template: Promise<string> | null = null;

/** A database in the newest form, empty: a copy of one, which is made once. */
export async function emptyDatabase(): Promise<TestDatabase> {
  template ??= madeTemplate();
  // With this strategy and without syncs a copy takes some milliseconds.
  return bareDatabase(`TEMPLATE ${await template} STRATEGY file_copy`);
}

async function madeTemplate(): Promise<string> {
  const made = await bareDatabase();
  const pool = openPool(readDatabaseUrl(made.url), { connections: 1 });
  await migrateDatabase(pool, schemaSteps);
  await pool.close();
  process.on("beforeExit", () => void made.drop().catch(() => {}));
  return new URL(made.url).pathname.slice(1);
}

const databases = new Map<string, Promise<TestDatabase>>();

/** The URL of the database that stands for a data directory, the same for each call; empty at first. */
export async function databaseFor(directory: string): Promise<string> {
  const known = databases.get(directory) ?? emptyDatabase();
  databases.set(directory, known);
  return (await known).url;
}
