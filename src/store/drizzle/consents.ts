import { and, eq, sql } from "drizzle-orm";
import type { Scope } from "../../domain/tokens.ts";
import type { ConsentStore } from "../consents.ts";
import { type Dialect, execute, type Orm, type Tables, type Work } from "./dialect.ts";
import { removeMostOfUser, removeTokensOf } from "./removal.ts";
import { removeSubscriptions } from "./subscriptions.ts";

export function consentStore(db: Dialect): ConsentStore {
  const { orm, tables, transact, prepared, lock } = db;
  const { applications, consents, users } = tables;
  const ofUser = prepared("consents", (orm) =>
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
      .where(eq(consents.user_id, sql.placeholder("user")))
      .orderBy(consents.application_id),
  );
  return {
    ofUser: async (user) => ofUser(orm, { user }),
    async revoke(userId, applicationId, now) {
      // The consent is removed last: if this is interrupted, the user still sees it and can revoke it again.
      await removeMostOfUser(db, userId, applicationId);
      return transact(function* (orm) {
        // These locks wait for exchanges of a code or token in progress, so that their new tokens are removed as well.
        const application = orm.select({ id: applications.id }).from(applications);
        yield* execute(lock(application.where(eq(applications.id, applicationId)), "key share"));
        const user = orm.select({ id: users.id }).from(users).where(eq(users.id, userId));
        yield* execute(lock(user, "update"));
        const isIt = and(eq(consents.user_id, userId), eq(consents.application_id, applicationId));
        yield* execute(orm.delete(consents).where(isIt));
        yield* removeTokensOf(tables, orm, userId, applicationId);
        const { id, app_id, broadcaster_user_id } = tables.subscriptions;
        const isTheirs = and(eq(app_id, applicationId), eq(broadcaster_user_id, userId));
        const removal = orm.delete(tables.subscriptions).where(isTheirs).returning({ id });
        return yield* removeSubscriptions(db, orm, applicationId, removal, now);
      });
    },
  };
}

/** Adds scopes to what a user has allowed an application, inside a transaction. */
export function* rememberConsent(
  { consents }: Tables,
  orm: Orm,
  { userId, applicationId }: { readonly userId: number; readonly applicationId: string },
  scopes: readonly Scope[],
  now: string,
): Work<void> {
  const key = { user_id: userId, application_id: applicationId };
  const isIt = and(eq(consents.user_id, userId), eq(consents.application_id, applicationId));
  // Locks the row, whether new or known. If it is being revoked at the same time, this creates it again.
  const put = orm.insert(consents).values({ ...key, scopes: [], created_at: now, updated_at: now });
  const target = [consents.user_id, consents.application_id];
  const locked = put.onConflictDoUpdate({ target, set: key }).returning({ scopes: consents.scopes });
  const [known] = yield* execute(locked);
  const all = [...new Set([...(known?.scopes ?? []), ...scopes])];
  yield* execute(orm.update(consents).set({ scopes: all, updated_at: now }).where(isIt));
}
