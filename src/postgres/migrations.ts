import start from "../../drizzle/postgres/0000_start.sql" with { type: "text" };
import { StoreError } from "../domain/store.ts";
import { second } from "../domain/time.ts";
import {
  type AppliedMigration,
  checkedCount,
  hashOf,
  type Migration,
  statementsOf,
} from "../store/applied-migrations.ts";
import { isAnyAlive, leaseMs } from "./membership.ts";
import { isConcurrent, runConcurrently, withLockTimeout } from "./online.ts";
import type { Postgres, Queries } from "./pool.ts";

/** The advisory locks of the program. Those of publishing are apart from them; see `deliveries/positions.ts`. */
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

/**
 * A migration. If its SQL contains `CONCURRENTLY`, its statements run one by one outside of a transaction, and run
 * again after an interruption. Otherwise they run in one transaction, which is rolled back and retried when it has to
 * wait for a lock.
 */
export interface SchemaStep extends Migration {
  /**
   * Whether earlier versions can still use the database, because the migration only adds data that they need not know.
   * If not, the migration requires that no replica runs, and earlier versions refuse the database afterwards.
   */
  readonly isCompatible?: boolean;
}

/** All migrations in order; imported as text, so that they are inside the executable. */
export const schemaSteps: readonly SchemaStep[] = [{ name: "0000_start", sql: start }];

/** The lock is polled: waiting in a statement would hold a snapshot, which blocks CREATE INDEX CONCURRENTLY. */
const lockAgainMs = 50;
/** Longer than the lease of a replica that was killed. */
const longestLeaseMs = leaseMs + second;

/** The table of applied migrations. No other program uses this name. */
const table = "onair_migrations";

/**
 * Migrates a database to the current schema, step by step, while other connections use it. `applying` is called with
 * the name of each step before it begins. Several processes may call this at once; one waits for the other. Throws a
 * `StoreError` as `appliedSteps` does, and when a step has to wait too long.
 *
 * @param connection a pool of one connection without statement timeout, directly to the server
 */
export async function migrateDatabase(
  connection: Postgres,
  list: readonly SchemaStep[] = schemaSteps,
  applying: (name: string) => void = () => {},
): Promise<void> {
  if ((await appliedSteps(connection, list)) >= list.length) return;
  while (!(await isLocked(connection))) await Bun.sleep(lockAgainMs);
  try {
    await connection.run(
      `CREATE TABLE IF NOT EXISTS ${table} (number integer PRIMARY KEY, name text NOT NULL, hash text NOT NULL)`,
    );
    await connection.run(
      `ALTER TABLE ${table} ADD COLUMN IF NOT EXISTS compatible boolean NOT NULL DEFAULT false`,
    );
    const applied = await appliedSteps(connection, list);
    for (const [number, step] of list.entries()) {
      if (number < applied) continue;
      applying(step.name);
      await apply(connection, number, step);
    }
  } finally {
    // If this fails, closing the connection releases the lock.
    await connection.run("SELECT pg_advisory_unlock($1)", [advisoryLocks.migration]).catch(() => {});
  }
}

async function isLocked(connection: Queries): Promise<boolean> {
  const [row] = await connection.run<{ is_locked: boolean }>("SELECT pg_try_advisory_lock($1) AS is_locked", [
    advisoryLocks.migration,
  ]);
  return row?.is_locked === true;
}

async function apply(connection: Postgres, number: number, step: SchemaStep): Promise<void> {
  const { name, sql, isCompatible = false } = step;
  const statements = statementsOf(step);
  const note = ({ run }: Queries) =>
    run(`INSERT INTO ${table} VALUES ($1, $2, $3, $4)`, [number, name, hashOf(step), isCompatible]);
  if (isConcurrent(sql)) {
    for (const statement of statements) await runConcurrently(connection, statement);
    await note(connection);
    return;
  }
  if (!isCompatible) await untilAlone(connection);
  await withLockTimeout(connection, name, async (transaction) => {
    if (!isCompatible) await requireAlone(transaction, name);
    for (const statement of statements) await transaction.run(statement);
    await note(transaction);
  });
}

/** Waits until no replica is alive, for as long as the lease of a killed one lasts. */
async function untilAlone(connection: Queries): Promise<void> {
  const until = performance.now() + longestLeaseMs;
  const hasReplicas = await hasTable(connection, "replicas");
  while (hasReplicas && performance.now() < until && (await isAnyAlive(connection))) {
    await Bun.sleep(lockAgainMs);
  }
}

/**
 * Throws a `StoreError` when replicas run, because they do not know the step. None can join until this transaction
 * ends.
 */
async function requireAlone(transaction: Queries, name: string): Promise<void> {
  if (!(await hasTable(transaction, "replicas"))) return;
  await transaction.run("LOCK TABLE replicas IN SHARE MODE");
  if (!(await isAnyAlive(transaction))) return;
  throw new StoreError(
    `Replicas of an earlier version use the database, and cannot continue after the migration ${name}. Stop them, and start this one again.`,
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
  list: readonly SchemaStep[] = schemaSteps,
): Promise<number> {
  if (!(await hasTable(connection, table))) {
    await requireEmpty(connection);
    return 0;
  }
  const applied = await connection.run<AppliedMigration>(
    `SELECT name, hash, coalesce((to_jsonb(m) ->> 'compatible')::boolean, false) AS "isCompatible"
     FROM ${table} m ORDER BY number`,
  );
  return checkedCount(list, applied, { what: "The database", wayBack: "", isMisuse: true });
}

/** Throws a `StoreError` when there are tables, other than those of extensions. */
async function requireEmpty(connection: Queries): Promise<void> {
  const [foreign] = await connection.run<{ name: string; database: string }>(
    `SELECT c.relname AS name, current_database() AS database FROM pg_class c
     WHERE to_regclass($1) IS NULL AND c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
       AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')
     ORDER BY c.relname LIMIT 1`,
    // The table may have been created since by another process.
    [table],
  );
  if (!foreign) return;
  throw new StoreError(
    `The database ${foreign.database} has tables of another program, such as ${foreign.name}. Create one for onair alone: createdb --encoding UTF8 --template template0 onair`,
    true,
  );
}
