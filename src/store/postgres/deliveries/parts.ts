import { codeOf } from "../database/faults.ts";
import { hasTable } from "../database/migrations.ts";
import type { Postgres, Queries } from "../database/pool.ts";

/** The numbers of one part: enough for a busy day, and few enough for millions of parts. */
const partSize = 2 ** 28;
/**
 * The most rows copied when a part is replaced, because writers wait meanwhile. With more rows, it is replaced later.
 */
const mostKept = 50_000;

type Parted = "deliveries" | "events";

export const firstOfPart = (part: number) => part * partSize;

/** Returns the part of a number. */
export const partOf = (seq: number) => Math.floor(seq / partSize);

/** Returns the part of the numbers that are given now. */
export async function currentPart(queries: Queries): Promise<number> {
  const [row] = await queries.run<{ last: number }>(
    "SELECT last_value::float8 AS last FROM delivery_numbers",
  );
  return partOf(row?.last ?? 0);
}

/** Creates a part of both tables, if it does not exist. Writers do not wait for this. */
export async function makePart(transaction: Queries, part: number): Promise<void> {
  const bounds = `FOR VALUES FROM (${firstOfPart(part)}) TO (${firstOfPart(part + 1)})`;
  for (const table of ["deliveries", "events"] as const) {
    if (await hasPart(transaction, table, part)) continue;
    await transaction.run(`CREATE TABLE ${table}_${part} (LIKE ${table} INCLUDING ALL)`);
    await transaction.run(`ALTER TABLE ${table} ATTACH PARTITION ${table}_${part} ${bounds}`);
  }
}

export const hasPart = (queries: Queries, table: Parted, part: number): Promise<boolean> =>
  hasTable(queries, `${table}_${part}`);

/**
 * Replaces a part of a table by a copy with only some of its rows, or drops it if there are none. Returns false when
 * too many rows are to be kept, or the lock of the table was not free in time.
 *
 * @param kept the condition on a row `r` that is kept; it must be indexed
 * @param before runs in the transaction of the replacement, before writers wait for it
 */
export async function keepOfPart(
  pool: Postgres,
  table: Parted,
  part: number,
  kept: string,
  before: (transaction: Queries) => Promise<void> = async () => {},
): Promise<boolean> {
  const [name, copy] = [`${table}_${part}`, `${table}_${part}_kept`];
  const bounds = `FOR VALUES FROM (${firstOfPart(part)}) TO (${firstOfPart(part + 1)})`;
  const [counted] = await pool.run<{ kept: number }>(
    `SELECT count(*)::float8 AS kept FROM (SELECT FROM ${name} r WHERE ${kept} LIMIT ${mostKept + 1}) AS rows_kept`,
  );
  if ((counted?.kept ?? 0) > mostKept) return false;
  try {
    return await pool.transact(async (transaction) => {
      await before(transaction);
      await transaction.run("SET LOCAL lock_timeout = '200ms'");
      await transaction.run(`CREATE TABLE ${copy} (LIKE ${table} INCLUDING ALL)`);
      // All writes go through the partitioned table, so this lock keeps them from the part.
      await transaction.run(`LOCK TABLE ONLY ${table} IN ACCESS EXCLUSIVE MODE`);
      await transaction.run(`INSERT INTO ${copy} SELECT * FROM ${name} r WHERE ${kept}`);
      const [any] = await transaction.run(`SELECT FROM ${copy} LIMIT 1`);
      await transaction.run(`ALTER TABLE ${table} DETACH PARTITION ${name}`);
      await transaction.run(`DROP TABLE ${name}`);
      if (!any) await transaction.run(`DROP TABLE ${copy}`);
      else {
        await transaction.run(`ALTER TABLE ${copy} RENAME TO ${name}`);
        await transaction.run(`ALTER TABLE ${table} ATTACH PARTITION ${name} ${bounds}`);
      }
      return true;
    });
  } catch (error) {
    if (codeOf(error) === "55P03") return false;
    throw error;
  }
}
