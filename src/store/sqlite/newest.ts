import type { Database } from "bun:sqlite";

/** Rows that one call removes at most, so that no commit becomes long. */
const step = 100;

/**
 * Makes a function that keeps the newest rows of a table among those that `where` names, with `?1` in it, and removes
 * the oldest of the others; to be called within a commit, after each row that is added. Gives how many it removed.
 * `where` must be all of an index, whose entries then stand in the order of insertion.
 */
export function newestKeeper(
  db: Database,
  { table, where, keep }: { table: string; where: string; keep: number },
): (value: string) => number {
  const remove = db.prepare<null, [string]>(
    `DELETE FROM ${table} WHERE rowid IN (
       SELECT rowid FROM ${table} WHERE ${where} AND rowid <=
         (SELECT rowid FROM ${table} WHERE ${where} ORDER BY rowid DESC LIMIT 1 OFFSET ${keep})
       ORDER BY rowid LIMIT ${step})`,
  );
  return (value) => remove.run(value).changes;
}
