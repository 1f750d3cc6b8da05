import { and, eq, ne, sql } from "drizzle-orm";
import type { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import type { DeliveryMode } from "../../../domain/applications.ts";
import type { Commit } from "../database/commit.ts";
import { applications } from "../schema/access.ts";

/** A cache of the applications that use the event stream, because the fan-out needs it for each subscriber. */
export interface DeliveryModes {
  of(applicationId: string): DeliveryMode;
  /** Makes a commit for work that changes applications, which invalidates the cache. */
  forgottenBy(commit: Commit): Commit;
}

export function deliveryModes(orm: BunSQLiteDatabase): DeliveryModes {
  const { id, delivery, webhook_url, disabled } = applications;
  const others = orm
    .select({
      id,
      delivery: sql<DeliveryMode>`CASE WHEN ${webhook_url} IS NULL THEN 'stream' ELSE ${delivery} END`,
    })
    .from(applications)
    .where(and(ne(delivery, "webhook"), eq(disabled, false)))
    .prepare();
  let known: Map<string, DeliveryMode> | null = null;
  const forget = () => {
    known = null;
  };
  return {
    of(applicationId) {
      known ??= new Map(others.all().map(({ id, delivery }) => [id, delivery]));
      return known.get(applicationId) ?? "webhook";
    },
    // Invalidated within the transaction, for further work there, and after it, because it may have been rolled back.
    forgottenBy: (commit) => (work) =>
      commit((together) => {
        const result = work(together);
        forget();
        return result;
      }).finally(forget),
  };
}
