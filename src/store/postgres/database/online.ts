import { minute, second } from "../../../domain/time.ts";
import { StoreError } from "../../faults.ts";
import { codeOf } from "./faults.ts";
import type { Postgres, Queries } from "./pool.ts";

/*
 * How tables are changed while others read and write them.
 */

/** Who waits for the lock of a whole table has all others wait behind it: so for moments only, and then again. */
const lockTimeoutMs = second / 2;
const triedForMs = 5 * minute;

/**
 * A transaction that changes tables. It ends where it waits for a lock for half a second, and is tried again, for five
 * minutes; then it throws a `StoreError`, as a transaction of somebody else must hold the table.
 */
export async function inMoments(
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
 * Runs a statement of such a migration; what was cut off before is begun anew. An index on a table in parts, which
 * PostgreSQL can only make while nobody writes, is made on each part, as those that come later have it.
 */
export async function runConcurrently(connection: Postgres, statement: string): Promise<void> {
  const [, unique = "", name = "", table = "", columns = ""] = making.exec(statement) ?? [];
  if (name === "") return void (await connection.run(statement));
  const [found] = await connection.run<{ is_in_parts: boolean }>(
    "SELECT relkind = 'p' AS is_in_parts FROM pg_class WHERE oid = to_regclass($1)",
    [table],
  );
  if (!found?.is_in_parts) return makeIndex(connection, unique, name, table, columns);
  await inMoments(connection, name, ({ run }) =>
    run(`CREATE ${unique}INDEX IF NOT EXISTS "${name}" ON ONLY "${table}" ${columns}`),
  );
  const parts = await connection.run<{ name: string }>(
    `SELECT c.relname AS name FROM pg_inherits p JOIN pg_class c ON c.oid = p.inhrelid
     WHERE p.inhparent = to_regclass($1) AND NOT EXISTS (
       SELECT FROM pg_inherits i JOIN pg_index x ON x.indexrelid = i.inhrelid
       WHERE i.inhparent = to_regclass($2) AND x.indrelid = c.oid)`,
    [table, name],
  );
  for (const { name: part } of parts) {
    const its = `${part}_${name}`;
    await makeIndex(connection, unique, its, part, columns);
    await inMoments(connection, name, ({ run }) => run(`ALTER INDEX "${name}" ATTACH PARTITION "${its}"`));
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
