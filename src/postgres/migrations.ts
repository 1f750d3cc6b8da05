import start from "../../drizzle/postgres/0000_start.sql" with { type: "text" };
import { StoreError } from "../domain/store.ts";
import { second } from "../domain/time.ts";
import {
  type AppliedMigration,
  checkedCount,
  hashOf,
  isAdditive,
  type Migration,
  requireAllKnown,
  statementsOf,
} from "../store/applied-migrations.ts";
import { codeOf } from "./faults.ts";
import type { Postgres, Queries } from "./pool.ts";
import { isAnyAlive } from "./shards.ts";

/** The advisory locks of the program. Those of publishing are apart from them; see `positions.ts`. */
export const advisoryLocks = {
  /** Held while migrations are applied, so that only one of several starting processes applies them. */
  migration: 0x6f6e_6169_72,
  /** Held by a copy on its source. */
  copy: 0x6f6e_6163_70,
  /** Held by the process that maintains the parts of the log. */
  parts: 0x6f6e_6170_74,
};

/** Takes a lock until the transaction ends. Returns false when another process has it. */
export async function takeLock(transaction: Queries, lock: number): Promise<boolean> {
  const [row] = await transaction.run<{ is_mine: boolean }>(
    "SELECT pg_try_advisory_xact_lock($1) AS is_mine",
    [lock],
  );
  return row?.is_mine === true;
}

/** All migrations in order; imported as text, so that they are inside the executable. */
export const schemaSteps: readonly Migration[] = [{ name: "0000_start", sql: start }];

/** The table of applied migrations. No other program uses this name. */
const table = "onair_migrations";

/** How long a migration waits for the lock of a table. */
const lockTimeoutMs = 10 * second;

/**
 * Migrates a database to the current schema, in one transaction. `applying` is called with the name of each migration
 * before it begins. Several processes may call this at once; one waits for the other. Throws a `StoreError` as
 * `appliedSteps` does, when another transaction holds a table, and while a server of an earlier version is alive,
 * unless all pending migrations are additive.
 *
 * @param connection a pool of one connection without statement timeout, directly to the server
 */
export async function migrateDatabase(
  connection: Postgres,
  list: readonly Migration[] = schemaSteps,
  applying: (name: string) => void = () => {},
): Promise<void> {
  if ((await appliedSteps(connection, list)) === list.length) return;
  await connection.run("SELECT pg_advisory_lock($1)", [advisoryLocks.migration]);
  try {
    await connection.transact(async (transaction) => {
      await transaction.run(`SET LOCAL lock_timeout = ${lockTimeoutMs}`);
      await transaction.run(
        `CREATE TABLE IF NOT EXISTS ${table} (number integer PRIMARY KEY, name text NOT NULL, hash text NOT NULL)`,
      );
      const applied = await appliedSteps(transaction, list);
      if (!list.slice(applied).every(isAdditive)) await requireAlone(transaction);
      for (const [number, step] of list.entries()) {
        if (number < applied) continue;
        applying(step.name);
        for (const statement of statementsOf(step)) await transaction.run(statement);
        await transaction.run(`INSERT INTO ${table} VALUES ($1, $2, $3)`, [number, step.name, hashOf(step)]);
      }
    });
  } catch (error) {
    if (codeOf(error) !== "55P03") throw error;
    throw new StoreError(
      "Another transaction holds a table that the migration changes. Look for it in pg_stat_activity, end it, and start again.",
    );
  } finally {
    // If this fails, closing the connection releases the lock.
    await connection.run("SELECT pg_advisory_unlock($1)", [advisoryLocks.migration]).catch(() => {});
  }
}

/** Throws a `StoreError` when a server uses the database. None can join until this transaction ends. */
async function requireAlone(transaction: Queries): Promise<void> {
  if (!(await hasTable(transaction, "replicas"))) return;
  await transaction.run("LOCK TABLE replicas IN SHARE MODE");
  if (!(await isAnyAlive(transaction))) return;
  throw new StoreError(
    "A server of an earlier version uses the database, or ended within the last seconds: stop all of them, and start this one again.",
  );
}

export async function hasTable({ run }: Queries, name: string): Promise<boolean> {
  const [found] = await run<{ is_there: boolean }>("SELECT to_regclass($1) IS NOT NULL AS is_there", [name]);
  return found?.is_there === true;
}

/**
 * Returns the number of applied migrations, as `checkedCount` does. Throws for a database of another program. Only
 * reads.
 */
export async function appliedSteps(
  connection: Queries,
  list: readonly Migration[] = schemaSteps,
): Promise<number> {
  if (!(await hasTable(connection, table))) {
    const foreign = await firstTable(connection);
    if (foreign === null) return 0;
    // Another process may have made the tables since the first look.
    if (!(await hasTable(connection, table))) throw ofAnotherProgram(foreign);
  }
  const wayBack = ", or restore a dump from before the upgrade";
  const applied = await connection.run<AppliedMigration>(`SELECT name, hash FROM ${table} ORDER BY number`);
  return checkedCount(list, applied, { what: "The database", wayBack, isMisuse: true });
}

/** Throws a `StoreError` when a newer version has added to a database what a copy by this build would lose. */
export async function requireNoAdditions(connection: Queries, location: string): Promise<void> {
  const applied = await connection.run<{ name: string }>(`SELECT name FROM ${table} ORDER BY number`);
  requireAllKnown(schemaSteps, applied, location);
}

interface FoundTable {
  readonly name: string;
  readonly database: string;
}

/** Returns the first table in the database, other than those of extensions. */
async function firstTable({ run }: Queries): Promise<FoundTable | null> {
  const [found] = await run<FoundTable>(
    `SELECT c.relname AS name, current_database() AS database FROM pg_class c
     WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
       AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')
     ORDER BY c.relname LIMIT 1`,
  );
  return found ?? null;
}

const ofAnotherProgram = ({ database, name }: FoundTable): StoreError =>
  new StoreError(
    `The database ${database} has tables of another program, such as ${name}. Create one for onair alone: createdb --encoding UTF8 --template template0 onair`,
    true,
  );
