import { and, asc, desc, inArray, lte, type SQL } from "drizzle-orm";
import type { PgColumn, PgTable } from "drizzle-orm/pg-core";
import type { Queries } from "./database/pool.ts";

/** Rows that one call removes at most, so that no transaction becomes long. */
const step = 100;

/**
 * Keeps the newest rows of a table among those that `where` names, and removes the oldest of the others. To be called
 * after each row that is committed, not in the same transaction: of several that are made at once, the last one sees all.
 * `made`: the order in which they were made. Gives how many it removed.
 */
export async function keepNewest(
  { orm }: Queries,
  { table, made, where, keep }: { table: PgTable; made: PgColumn; where: SQL | undefined; keep: number },
): Promise<number> {
  const newestOfOthers = orm
    .select({ made })
    .from(table)
    .where(where)
    .orderBy(desc(made))
    .limit(1)
    .offset(keep);
  const oldest = orm
    .select({ made })
    .from(table)
    .where(and(where, lte(made, newestOfOthers)))
    .orderBy(asc(made))
    .limit(step);
  const removed = await orm
    .delete(table)
    .where(and(where, inArray(made, oldest)))
    .returning({ made });
  return removed.length;
}
