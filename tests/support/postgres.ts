import { SQL } from "bun";
import type { Store } from "../../src/domain/store.ts";
import { migrateDatabase, schemaSteps } from "../../src/postgres/migrations.ts";
import { openPool, type Postgres } from "../../src/postgres/pool.ts";
import { openPostgresStore } from "../../src/postgres/store.ts";
import { type ConnectionSettings, readDatabaseUrl } from "../../src/store/location.ts";
import { afterThisTest } from "./after-tests.ts";
import { isInstalled, startPostgres } from "./postgres-server.ts";

/** A test's database. */
export interface TestDatabase {
  readonly url: string;
  drop(): Promise<void>;
}

const given = process.env["ONAIR_TEST_DATABASE"];

/**
 * True when tests can use PostgreSQL: the server of `ONAIR_TEST_DATABASE`, or a private one if PostgreSQL is installed.
 */
export const hasPostgres = given !== undefined || isInstalled;
if (!hasPostgres) {
  console.warn("PostgreSQL is not installed here: ITS TESTS ARE SKIPPED. Install the package postgresql.");
}

let shared: Promise<(database: string) => string> | null = null;

/** The server that all tests of this process share. Returns the URL of a database by name. */
function sharedServer(): Promise<(database: string) => string> {
  shared ??= (async () => {
    if (given === undefined) return (await startPostgres()).url;
    return (database: string) => Object.assign(new URL(given), { pathname: `/${database}` }).href;
  })();
  return shared;
}

/** Runs a statement on a database. */
export async function administer<Row>(url: string, statement: string): Promise<Row[]> {
  const sql = new SQL(url, { max: 1 });
  try {
    return await sql.unsafe(statement);
  } finally {
    await sql.close({ timeout: 0 });
  }
}

let lastNumber = 0;

/** Creates an empty database. `options` follow `CREATE DATABASE name`. */
export async function bareDatabase(options = ""): Promise<TestDatabase> {
  const url = await sharedServer();
  const name = `onair_test_${process.pid}_${Date.now().toString(36)}_${++lastNumber}`;
  await administer(url("postgres"), `CREATE DATABASE ${name} ${options}`);
  return {
    url: url(name),
    async drop() {
      await administer(url("postgres"), `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
    },
  };
}

let template: Promise<string> | null = null;

/** Creates a migrated database without rows: a copy of a template that is made once. */
export async function emptyDatabase(): Promise<TestDatabase> {
  template ??= madeTemplate();
  // This strategy, without syncs, makes copies fast.
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

/** The URL of the database used in place of a data directory; the same for each call, empty at first. */
export async function databaseFor(directory: string): Promise<string> {
  const known = databases.get(directory) ?? emptyDatabase();
  databases.set(directory, known);
  return (await known).url;
}

/**
 * In a test: two stores on one empty database, as two replicas have, and a pool that looks into it; removed after the
 * test.
 */
export async function ownPostgres(): Promise<{
  store: Store;
  other: Store;
  pool: Postgres;
  settings: ConnectionSettings;
}> {
  const { url, drop } = await emptyDatabase();
  const settings = readDatabaseUrl(url);
  const [store, other] = [
    await openPostgresStore(settings, { connections: 4 }),
    await openPostgresStore(settings, { connections: 2 }),
  ];
  const pool = openPool(settings, { connections: 2 });
  afterThisTest(async () => {
    await Promise.all([store.close(), other.close(), pool.close()]);
    await drop();
  });
  return { store, other, pool, settings };
}

/** How many statements of other connections to this database wait for a lock. */
export async function waitingForLocks({ run }: Pick<Postgres, "run">): Promise<number> {
  const rows = await run(
    "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
  );
  return rows.length;
}
