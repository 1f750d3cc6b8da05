import start from "../../../../drizzle/postgres/0000_start.sql" with { type: "text" };
import deliveries from "../../../../drizzle/postgres/0001_deliveries.sql" with { type: "text" };
import notices from "../../../../drizzle/postgres/0002_notices.sql" with { type: "text" };
import audit from "../../../../drizzle/postgres/0003_audit.sql" with { type: "text" };
import search from "../../../../drizzle/postgres/0004_search.sql" with { type: "text" };
import statistics from "../../../../drizzle/postgres/0005_statistics.sql" with { type: "text" };
import replicas from "../../../../drizzle/postgres/0006_replicas.sql" with { type: "text" };
import replicaChanges from "../../../../drizzle/postgres/0007_replica_changes.sql" with { type: "text" };
import { StoreError } from "../../faults.ts";
import type { Postgres, Queries } from "./pool.ts";

interface SchemaStep {
  readonly name: string;
  readonly sql: string;
}

/** All migrations in order; imported as text, so that they are inside the executable. */
export const schemaSteps: readonly SchemaStep[] = [
  { name: "0000_start", sql: start },
  { name: "0001_deliveries", sql: deliveries },
  { name: "0002_notices", sql: notices },
  { name: "0003_audit", sql: audit },
  { name: "0004_search", sql: search },
  { name: "0005_statistics", sql: statistics },
  { name: "0006_replicas", sql: replicas },
  { name: "0007_replica_changes", sql: replicaChanges },
];

/** Held while migrations are applied, so that of several processes which start at once only one applies them. */
const migrationLock = 0x6f6e_6169_72;

/** The table that tells what was applied: a name that other programs do not use. */
const table = "onair_migrations";

const hash = (sql: string) => new Bun.CryptoHasher("sha256").update(sql).digest("hex");

/**
 * Brings a database to the newest form, all steps in one transaction; `applying` is called with the name of each before
 * it begins. Several processes may do so at once, and wait for each other: the pool is one without a deadline. Throws a `StoreError` as `appliedSteps` does.
 */
export async function migrateDatabase(
  pool: Postgres,
  list: readonly SchemaStep[] = schemaSteps,
  applying: (name: string) => void = () => {},
): Promise<void> {
  if ((await appliedSteps(pool, list)) === list.length) return;
  await pool.transact(async (transaction) => {
    await transaction.run("SELECT pg_advisory_xact_lock($1)", [migrationLock]);
    await transaction.run(
      `CREATE TABLE IF NOT EXISTS ${table} (number integer PRIMARY KEY, name text NOT NULL, hash text NOT NULL)`,
    );
    const applied = await appliedSteps(transaction, list);
    for (const [number, { name, sql }] of list.entries()) {
      if (number < applied) continue;
      applying(name);
      // drizzle-kit names the schema, which may be another one here.
      for (const statement of sql.replaceAll('"public".', "").split("--> statement-breakpoint")) {
        if (statement.trim()) await transaction.run(statement);
      }
      await transaction.run(`INSERT INTO ${table} VALUES ($1, $2, $3)`, [number, name, hash(sql)]);
    }
  });
}

/**
 * How many of the migrations were applied to a database. Throws a `StoreError` when it knows a migration that this list
 * does not (a newer version wrote it), or knows one in another wording, or is another program's. Only reads.
 */
export async function appliedSteps(
  connection: Queries,
  list: readonly SchemaStep[] = schemaSteps,
): Promise<number> {
  const [found] = await connection.run<{ is_ours: boolean }>(
    "SELECT to_regclass($1) IS NOT NULL AS is_ours",
    [table],
  );
  if (!found?.is_ours) {
    await requireEmpty(connection);
    return 0;
  }
  const applied = await connection.run<{ name: string; hash: string }>(
    `SELECT name, hash FROM ${table} ORDER BY number`,
  );
  for (const [i, done] of applied.entries()) {
    const known = list[i];
    if (!known) {
      throw new StoreError(
        `The database was written by a newer version of onair (its migration ${done.name} is unknown here). Use that version.`,
        true,
      );
    }
    if (known.name !== done.name || hash(known.sql) !== done.hash) {
      throw new StoreError(
        `The database was written by another build of onair: its migration ${done.name} is not the one known here. Use the build that wrote it.`,
        true,
      );
    }
  }
  return applied.length;
}

/** Throws a `StoreError` where there are tables, other than those of extensions. */
async function requireEmpty(connection: Queries): Promise<void> {
  const [foreign] = await connection.run<{ name: string; database: string }>(
    `SELECT c.relname AS name, current_database() AS database FROM pg_class c
     WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
       AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')
     ORDER BY c.relname LIMIT 1`,
  );
  if (!foreign) return;
  throw new StoreError(
    `The database ${foreign.database} has tables of another program, such as ${foreign.name}. Make one for onair alone: createdb --encoding UTF8 --template template0 onair`,
    true,
  );
}
