import { and, eq } from "drizzle-orm";
import type { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import type { Scope } from "../../domain/tokens.ts";
import type { ConsentStore } from "../consents.ts";
import type { Commit } from "./database/commit.ts";
import { applications, consents } from "./schema/access.ts";
import { subscriptionRemover } from "./subscriptions.ts";
import { removeTokensOf } from "./tokens.ts";

export function consentStore(orm: BunSQLiteDatabase, commit: Commit): ConsentStore {
  const removeSubscriptions = subscriptionRemover(orm);
  return {
    ofUser: async (userId) =>
      orm
        .select({
          application_id: consents.application_id,
          application_name: applications.name,
          scopes: consents.scopes,
          created_at: consents.created_at,
          updated_at: consents.updated_at,
        })
        .from(consents)
        .innerJoin(applications, eq(applications.id, consents.application_id))
        .where(eq(consents.user_id, userId))
        .orderBy(consents.application_id)
        .all(),
    revoke: (userId, applicationId, now) =>
      commit(() => {
        orm
          .delete(consents)
          .where(and(eq(consents.user_id, userId), eq(consents.application_id, applicationId)))
          .run();
        removeTokensOf(orm, userId, applicationId);
        return removeSubscriptions.ofBroadcaster(applicationId, userId, now);
      }),
  };
}

/** Adds scopes to what a user has allowed an application; to be called within a commit. */
export function rememberConsent(
  orm: BunSQLiteDatabase,
  userId: number,
  applicationId: string,
  scopes: readonly Scope[],
  now: string,
): void {
  const isIt = and(eq(consents.user_id, userId), eq(consents.application_id, applicationId));
  const known = orm.select({ scopes: consents.scopes }).from(consents).where(isIt).limit(1).get();
  const all = [...new Set([...(known?.scopes ?? []), ...scopes])];
  orm
    .insert(consents)
    .values({
      user_id: userId,
      application_id: applicationId,
      scopes: all,
      created_at: now,
      updated_at: now,
    })
    .onConflictDoUpdate({
      target: [consents.user_id, consents.application_id],
      set: { scopes: all, updated_at: now },
    })
    .run();
}
