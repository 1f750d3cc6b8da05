import { and, desc, eq, inArray, type SQL } from "drizzle-orm";
import { type Dialect, execute, type Orm, type Tables, type Work } from "./dialect.ts";

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
