import { and, asc, desc, eq, inArray, lt, lte, type SQL, sql } from "drizzle-orm";
import type { PgColumn, PgTable } from "drizzle-orm/pg-core";
import { type Dialect, execute, type Orm, type Tables, type Work } from "./dialect.ts";

/** The most rows that one call removes, so that no transaction becomes long. */
const step = 100;

/**
 * Makes a function that keeps the newest `keep` rows of those that match `where` (with the placeholder `owner`),
 * removes some of the oldest others, and returns their number. Call it after each added row. Where rows may be added
 * concurrently, call it in a later transaction, so that the last call sees all of them.
 *
 * @param made the column of the order of insertion
 */
export function newestKeeper(
  { prepared }: Dialect,
  name: string,
  { table, made, where, keep }: { table: PgTable; made: PgColumn; where: SQL | undefined; keep: number },
): (orm: Orm, owner: string) => Work<number> {
  const remove = prepared(name, (orm) => {
    const rows = (order: SQL) => orm.select({ made }).from(table).where(where).orderBy(order);
    const [first, last] = [rows(asc(made)).limit(1), rows(desc(made)).limit(1)];
    // This reads all rows that are kept, so it runs only if the numbers allow more rows than that.
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

/** The most rows that one call of `removeOld` removes. */
const oldAtOnce = 500;

/** Removes some rows of a table from before a time. Returns true when none of them is left. */
export function* removeOld(
  orm: Orm,
  { table, seq, at }: { table: PgTable; seq: PgColumn; at: PgColumn },
  before: number,
): Work<boolean> {
  const old = orm.select({ seq }).from(table).where(lt(at, before)).limit(oldAtOnce);
  const removed = yield* execute(orm.delete(table).where(inArray(seq, old)).returning({ seq }));
  return removed.length < oldAtOnce;
}

/** The most tokens removed in one transaction. */
export const endedAtOnce = 500;

/**
 * Removes the tokens of an application in several short transactions, and returns the number of access tokens. Tokens
 * that are issued or exchanged meanwhile may be left; the caller removes those in one last transaction.
 */
export async function removeMostOfApplication(db: Dialect, id: string): Promise<number> {
  const { tokens, refreshTokens } = db.tables;
  // Refresh tokens first, because they can be exchanged for access tokens.
  await removeInTurns(db, refreshTokens, eq(refreshTokens.application_id, id));
  return removeInTurns(db, tokens, eq(tokens.application_id, id));
}

/**
 * Removes the tokens of a user, or those of a user for one application, in several short transactions. The newest are
 * removed first, because most of the others are no longer valid.
 */
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

/** Removes all codes, tokens and login requests of an application for a user, inside a transaction. */
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
