import { StoreError } from "../domain/store.ts";
import { minute, second } from "../domain/time.ts";
import { codeOf } from "./faults.ts";
import type { Postgres, Queries } from "./pool.ts";

/*
 * Schema changes while other connections read and write the tables.
 */

/** All other statements queue behind one that waits for a table lock. So it gives up early and tries again. */
const lockTimeoutMs = second / 2;
const triedForMs = 5 * minute;

/**
 * Runs a transaction that changes tables. It is rolled back when it waits half a second for a lock, and retried for
 * five minutes. Throws a `StoreError` after that, because another transaction holds the table.
 */
export async function withLockTimeout(
  connection: Postgres,
  name: string,
  work: (transaction: Queries) => Promise<unknown>,
): Promise<void> {
  const until = performance.now() + triedForMs;
  for (;;) {
    try {
      await connection.transact(async (transaction) => {
        await transaction.run(`SET LOCAL lock_timeout = ${lockTimeoutMs}`);
        await work(transaction);
      });
      return;
    } catch (error) {
      if (codeOf(error) !== "55P03") throw error;
    }
    if (performance.now() > until) {
      throw new StoreError(
        `A transaction holds a table that the migration ${name} changes. Look for it in pg_stat_activity, end it, and start again.`,
      );
    }
    await Bun.sleep(lockTimeoutMs * (0.5 + Math.random()));
  }
}

/** Whether a migration runs outside of a transaction. */
export function isConcurrent(sql: string): boolean {
  return /\bCONCURRENTLY\b/.test(sql);
}

const making = /^CREATE (UNIQUE )?INDEX CONCURRENTLY (?:IF NOT EXISTS )?"(\w+)" ON "(\w+)" (.+)$/s;

/**
 * Runs a statement of such a migration, and begins again what an earlier run left unfinished. PostgreSQL cannot create
 * an index on a partitioned table concurrently, so it is created on each partition and attached.
 */
export async function runConcurrently(connection: Postgres, statement: string): Promise<void> {
  const [, unique = "", name = "", table = "", columns = ""] = making.exec(statement) ?? [];
  if (name === "") return void (await connection.run(statement));
  const [found] = await connection.run<{ is_in_parts: boolean }>(
    "SELECT relkind = 'p' AS is_in_parts FROM pg_class WHERE oid = to_regclass($1)",
    [table],
  );
  if (!found?.is_in_parts) return makeIndex(connection, unique, name, table, columns);
  await withLockTimeout(connection, name, ({ run }) =>
    run(`CREATE ${unique}INDEX IF NOT EXISTS "${name}" ON ONLY "${table}" ${columns}`),
  );
  for (;;) {
    // Read one by one, because an earlier version may drop or replace a part meanwhile.
    const [part] = await connection.run<{ name: string }>(
      `SELECT c.relname AS name FROM pg_inherits p JOIN pg_class c ON c.oid = p.inhrelid
       WHERE p.inhparent = to_regclass($1) AND NOT EXISTS (
         SELECT FROM pg_inherits i JOIN pg_index x ON x.indexrelid = i.inhrelid
         WHERE i.inhparent = to_regclass($2) AND x.indrelid = c.oid)
       ORDER BY c.oid LIMIT 1`,
      [table, name],
    );
    if (!part) return;
    const index = `${part.name}_${name}`;
    await makeIndex(connection, unique, index, part.name, columns);
    await withLockTimeout(connection, name, ({ run }) =>
      run(`ALTER INDEX "${name}" ATTACH PARTITION "${index}"`),
    );
  }
}

async function makeIndex(
  { run }: Queries,
  unique: string,
  name: string,
  table: string,
  columns: string,
): Promise<void> {
  const [made] = await run<{ is_valid: boolean }>(
    "SELECT indisvalid AS is_valid FROM pg_index WHERE indexrelid = to_regclass($1)",
    [name],
  );
  if (made?.is_valid) return;
  if (made) await run(`DROP INDEX CONCURRENTLY "${name}"`);
  await run(`CREATE ${unique}INDEX CONCURRENTLY "${name}" ON "${table}" ${columns}`);
}
