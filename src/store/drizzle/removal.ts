import { and, asc, desc, eq, inArray, lt, lte, type SQL, sql } from "drizzle-orm";
import type { PgColumn, PgTable } from "drizzle-orm/pg-core";
import { type Dialect, execute, type Orm, type Tables, type Work } from "./dialect.ts";

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

/** So many tokens are removed in one transaction, at most, where there may be many. */
export const endedAtOnce = 500;

/**
 * Removes the tokens of an application, in transactions of which none is long, and gives how many access tokens there were.
 * Those that are made or changed meanwhile may be left: the transaction that ends all of them comes after this.
 */
export async function removeMostOfApplication(db: Dialect, id: string): Promise<number> {
  const { tokens, refreshTokens } = db.tables;
  // Those first by which others can be had.
  await removeInTurns(db, refreshTokens, eq(refreshTokens.application_id, id));
  return removeInTurns(db, tokens, eq(tokens.application_id, id));
}

/** The same of a user, or of what one application has of it; the newest first, as most of the others do not work any more. */
export async function removeMostOfUser(db: Dialect, userId: number, applicationId?: string): Promise<void> {
  for (const table of [db.tables.refreshTokens, db.tables.tokens]) {
    const isOfApplication = applicationId === undefined ? undefined : eq(table.application_id, applicationId);
    const isTheirs = and(eq(table.user_id, userId), isOfApplication);
    await removeInTurns(db, table, isTheirs, desc(db.rowId));
  }
}

async function removeInTurns(
  db: Dialect,
  table: Tables["tokens" | "refreshTokens"],
  isIt: SQL | undefined,
  ...order: readonly SQL[]
): Promise<number> {
  const { hash } = table;
  let count = 0;
  let removed: number;
  do {
    removed = await db.transact(function* (orm) {
      const query = orm.select({ hash }).from(table).where(isIt);
      const some = db.lock(query.orderBy(...order).limit(endedAtOnce), "update", { skipLocked: true });
      return (yield* execute(orm.delete(table).where(inArray(hash, some)).returning({ hash }))).length;
    });
    count += removed;
  } while (removed === endedAtOnce);
  return count;
}

/** Ends all codes and tokens that an application has of a user, inside a transaction. */
export function* removeTokensOf(
  { tokens, refreshTokens, authorizationCodes, loginRequests }: Tables,
  orm: Orm,
  userId: number,
  applicationId: string,
): Work<void> {
  for (const table of [tokens, refreshTokens, authorizationCodes, loginRequests]) {
    const isTheirs = and(eq(table.user_id, userId), eq(table.application_id, applicationId));
    yield* execute(orm.delete(table).where(isTheirs));
  }
}
