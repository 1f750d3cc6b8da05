import { and, asc, desc, inArray, lte, type SQL, sql } from "drizzle-orm";
import type { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import type { SQLiteTable } from "drizzle-orm/sqlite-core";

/** Rows that one call removes at most, so that no commit becomes long. */
const step = 100;

const rowid = sql<number>`rowid`;

/**
 * Makes a function that keeps the newest rows of a table among those that `where` names, with the placeholder `owner` in
 * it, and removes the oldest of the others; to be called within a commit, after each row that is added. Gives how many it
 * removed. `where` must be all of an index, whose entries then stand in the order of insertion.
 */
export function newestKeeper(
  orm: BunSQLiteDatabase,
  { table, where, keep }: { table: SQLiteTable; where: SQL | undefined; keep: number },
): (owner: string) => number {
  const newestOfOthers = orm
    .select({ rowid })
    .from(table)
    .where(where)
    .orderBy(desc(rowid))
    .limit(1)
    .offset(keep);
  const oldest = orm
    .select({ rowid })
    .from(table)
    .where(and(where, lte(rowid, newestOfOthers)))
    .orderBy(asc(rowid))
    .limit(step);
  const remove = orm.delete(table).where(inArray(rowid, oldest)).returning({ rowid }).prepare();
  return (owner) => remove.all({ owner }).length;
}
