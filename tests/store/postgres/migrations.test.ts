import { expect, test } from "bun:test";
import { readDatabaseUrl } from "../../../src/store/postgres/database/connection-url.ts";
import { migrateDatabase, schemaSteps } from "../../../src/store/postgres/database/migrations.ts";
import { openPool, type Postgres } from "../../../src/store/postgres/database/pool.ts";
import { afterThisTest } from "../../support/after-tests.ts";
import { bareDatabase, emptyDatabase, hasPostgres, type TestDatabase } from "../../support/postgres.ts";

/** In a test: a pool on a database that is dropped after it. */
async function ownPool(database: TestDatabase): Promise<Postgres> {
  const pool = openPool(readDatabaseUrl(database.url), { connections: 1 });
  afterThisTest(async () => {
    await pool.close();
    await database.drop();
  });
  return pool;
}

/** Columns, indexes, constraints, functions and triggers, but for the parts of days. */
async function schemaOf(pool: Postgres): Promise<string[]> {
  const rows = await pool.run<{ found: string }>(`
    SELECT 'column ' || c.table_name || '.' || c.column_name || ' ' || c.data_type || ' ' || c.is_nullable || ' ' || coalesce(c.column_default, '') AS found
      FROM information_schema.columns c WHERE c.table_schema = current_schema()
    UNION ALL SELECT 'index ' || indexdef FROM pg_indexes WHERE schemaname = current_schema()
    UNION ALL SELECT 'constraint ' || conrelid::regclass || ' ' || pg_get_constraintdef(oid)
      FROM pg_constraint WHERE connamespace = current_schema()::regnamespace
    UNION ALL SELECT 'function ' || pg_get_functiondef(p.oid) FROM pg_proc p
      WHERE p.pronamespace = current_schema()::regnamespace AND p.prokind = 'f' AND p.prolang <> 12 AND p.prolang <> 13
    UNION ALL SELECT 'trigger ' || pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal`);
  return rows.map(({ found }) => found).sort();
}

const user = { id: 7, username: "maya" };
const application = { id: "01KATHZX5M9S3E6R8B2D4F7G1H", name: "Bot" };

/** A row of each, with whatever else its table requires. */
async function insert(pool: Postgres, table: string, row: Readonly<Record<string, unknown>>): Promise<void> {
  const required = await pool.run<{ name: string; type: string }>(
    `SELECT column_name AS name, data_type AS type FROM information_schema.columns
     WHERE table_schema = current_schema() AND table_name = $1 AND is_nullable = 'NO' AND column_default IS NULL AND is_identity = 'NO' AND is_generated = 'NEVER'`,
    [table],
  );
  const filled = Object.fromEntries(required.map(({ name, type }) => [name, row[name] ?? sampleOf(type)]));
  const names = Object.keys(filled);
  await pool.run(
    `INSERT INTO ${table} (${names.join(", ")}) VALUES (${names.map((_, i) => `$${i + 1}`).join(", ")})`,
    Object.values(filled),
  );
}

function sampleOf(type: string): unknown {
  if (/int|numeric|double/.test(type)) return 1;
  if (type === "boolean") return false;
  if (type === "bytea") return Buffer.from([1]);
  return /json/.test(type) ? "{}" : type === "ARRAY" ? "{}" : "1";
}

/**
 * Before that users had no column for the search, which cannot be made where there are some: no version was released
 * so.
 */
const searchStep = schemaSteps.findIndex(({ name }) => name === "0004_search");

test.skipIf(!hasPostgres)(
  "from any migration on, with data, the rest gives the same database, and keeps the data",
  async () => {
    const whole = await schemaOf(await ownPool(await emptyDatabase()));
    for (const last of schemaSteps.keys()) {
      const pool = await ownPool(await bareDatabase("STRATEGY file_copy"));
      await migrateDatabase(pool, schemaSteps.slice(0, last + 1));
      const hasUsers = last >= searchStep;
      if (hasUsers) await insert(pool, "users", user);
      if (hasUsers) await insert(pool, "user_search", { user_id: user.id });
      await insert(pool, "applications", application);
      await migrateDatabase(pool);
      expect(await schemaOf(pool)).toEqual(whole);
      expect(await pool.run("SELECT id::int, username FROM users")).toEqual(hasUsers ? [user] : []);
      expect(await pool.run("SELECT user_id::int, popularity::int FROM user_search")).toEqual(
        hasUsers ? [{ user_id: user.id, popularity: 1 }] : [],
      );
      expect(await pool.run("SELECT id, name FROM applications")).toEqual([application]);
    }
  },
  240_000,
);
