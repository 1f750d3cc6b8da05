import { and, eq, sql } from "drizzle-orm";
import { once } from "../../domain/lazily.ts";
import type { Scope } from "../../domain/tokens.ts";
import type { ConsentStore } from "../consents.ts";
import type { Postgres, Queries } from "./database/pool.ts";
import { applications, consents } from "./schema/access.ts";
import { subscriptions } from "./schema/subscriptions.ts";
import { removeSubscriptions } from "./subscriptions.ts";
import { removeTokensOf } from "./tokens.ts";

export function consentStore(db: Postgres): ConsentStore {
  const ofUser = once(() =>
    db.orm
      .select({
        application_id: consents.application_id,
        application_name: applications.name,
        scopes: consents.scopes,
        created_at: consents.created_at,
        updated_at: consents.updated_at,
      })
      .from(consents)
      .innerJoin(applications, eq(applications.id, consents.application_id))
      .where(eq(consents.user_id, sql.placeholder("user")))
      .orderBy(consents.application_id)
      .prepare("consents"),
  );
  return {
    ofUser: async (user) => ofUser().execute({ user }),
    revoke: (userId, applicationId, now) =>
      db.transact(async (transaction) => {
        const isTheirs = and(eq(consents.user_id, userId), eq(consents.application_id, applicationId));
        await transaction.orm.delete(consents).where(isTheirs);
        await removeTokensOf(transaction, userId, applicationId);
        const ofThem = eq(subscriptions.broadcaster_user_id, userId);
        return removeSubscriptions(transaction, applicationId, ofThem, now);
      }),
  };
}

/** Adds scopes to what a user has allowed an application. */
export async function rememberConsent(
  { orm }: Queries,
  userId: number,
  applicationId: string,
  scopes: readonly Scope[],
  now: string,
): Promise<void> {
  // In the order in which they were first given.
  const all = sql`ARRAY(
    SELECT scope FROM unnest(${consents.scopes} || excluded.scopes) WITH ORDINALITY AS one(scope, n)
    GROUP BY scope ORDER BY min(n))`;
  await orm
    .insert(consents)
    .values({ user_id: userId, application_id: applicationId, scopes, created_at: now, updated_at: now })
    .onConflictDoUpdate({
      target: [consents.user_id, consents.application_id],
      set: { scopes: all, updated_at: now },
    });
}
