import { and, asc, desc, inArray, lt, lte, type SQL, sql } from "drizzle-orm";
import type { PgColumn, PgTable } from "drizzle-orm/pg-core";
import { type Dialect, execute, type Orm, type Work } from "./dialect.ts";

/** Rows that one call removes at most, so that no transaction becomes long. */
const step = 100;

/**
 * Makes what keeps the newest rows of a table among those that `where` names, with the placeholder `owner` in it, and
 * removes the oldest of the others. To be called after each row that is added: where several may be made at once, not in
 * the same transaction, so that the last one sees all. `made`: the order in which they were made. Gives how many it removed.
 */
export function newestKeeper(
  { prepared }: Dialect,
  name: string,
  { table, made, where, keep }: { table: PgTable; made: PgColumn; where: SQL | undefined; keep: number },
): (orm: Orm, owner: string) => Work<number> {
  const remove = prepared(name, (orm) => {
    const rows = (order: SQL) => orm.select({ made }).from(table).where(where).orderBy(order);
    const [first, last] = [rows(asc(made)).limit(1), rows(desc(made)).limit(1)];
    // To find this one, all that are kept are read: so only where there can be others.
    const newestOfOthers = rows(desc(made)).limit(1).offset(keep);
    const end = sql`CASE WHEN ${last} - ${first} >= ${sql.raw(`${keep}`)} THEN ${newestOfOthers} END`;
    const oldest = orm
      .select({ made })
      .from(table)
      .where(and(where, lte(made, end)))
      .orderBy(asc(made))
      .limit(step);
    return orm
      .delete(table)
      .where(and(where, inArray(made, oldest)))
      .returning({ made });
  });
  return function* (orm, owner) {
    return (yield* execute(remove(orm, { owner }))).length;
  };
}

/** Rows that one call of `removeOld` removes at most. */
const oldAtOnce = 500;

/** Removes rows of a table that were made before a time; true: none is left. */
export function* removeOld(
  orm: Orm,
  { table, seq, at }: { table: PgTable; seq: PgColumn; at: PgColumn },
  before: number,
): Work<boolean> {
  const old = orm.select({ seq }).from(table).where(lt(at, before)).limit(oldAtOnce);
  const removed = yield* execute(orm.delete(table).where(inArray(seq, old)).returning({ seq }));
  return removed.length < oldAtOnce;
}
