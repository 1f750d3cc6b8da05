import { and, eq, gt, inArray, sql } from "drizzle-orm";
import { invalidField } from "../../domain/errors.ts";
import { newId } from "../../domain/ids.ts";
import { isoTime } from "../../domain/time.ts";
import {
  type AnsweredLogin,
  type ConsentStore,
  codeLifetimeMs,
  type LoginRequestStore,
  loginAnswered,
  noLoginRequest,
  type Scope,
  scopesWithin,
} from "../../domain/tokens.ts";
import { type Dialect, execute, type Orm, type Tables, type Work } from "./dialect.ts";
import { removeMostOfUser, removeTokensOf } from "./removal.ts";
import { removeSubscriptions } from "./subscriptions.ts";

export function loginRequestStore(db: Dialect): LoginRequestStore {
  const { applications, users, loginRequests, authorizationCodes } = db.tables;
  const redeemed = {
    applicationId: loginRequests.application_id,
    redirectUri: loginRequests.redirect_uri,
    scopes: loginRequests.scopes,
    state: loginRequests.state,
    codeChallenge: loginRequests.code_challenge,
    answer: loginRequests.answer,
  };
  /** Stores an authorization code if the user consented, and the consent if it is to be remembered. */
  function* keepCode(orm: Orm, login: AnsweredLogin, codeHash: Uint8Array, now: number): Work<void> {
    const { answer, applicationId, redirectUri, scopes: requested, codeChallenge } = login;
    if (!("userId" in answer)) return;
    const { userId, scopes, remember } = answer;
    yield* execute(
      orm.insert(authorizationCodes).values({
        hash: Buffer.from(codeHash),
        application_id: applicationId,
        user_id: userId,
        scopes: scopesWithin(requested, scopes),
        redirect_uri: redirectUri,
        code_challenge: codeChallenge,
        family_id: newId(),
        expires_at: now + codeLifetimeMs,
      }),
    );
    if (remember) yield* rememberConsent(db.tables, orm, { userId, applicationId }, scopes, isoTime(now));
  }

  return {
    isAnswered: async (challengeHash) => {
      const isIt = eq(loginRequests.challenge_hash, Buffer.from(challengeHash));
      return (
        (await db.orm.select({ at: loginRequests.expires_at }).from(loginRequests).where(isIt)).length > 0
      );
    },
    answer: (request, answer, hashes) =>
      db.transact(function* (orm) {
        const userId = "userId" in answer ? answer.userId : null;
        // Locks the application before the user, in the order in which their removal takes these locks.
        for (const [table, id, error] of [
          [applications, request.applicationId, noLoginRequest],
          [users, userId, unknownUser],
        ] as const) {
          if (id === null) continue;
          const owner = orm.select({ id: table.id }).from(table).where(eq(table.id, id));
          if ((yield* execute(db.lock(owner, "key share"))).length === 0) throw error();
        }
        const added = orm
          .insert(loginRequests)
          .values({
            challenge_hash: Buffer.from(hashes.challenge),
            verifier_hash: Buffer.from(hashes.verifier),
            browser_hash: Buffer.from(request.browserHash),
            application_id: request.applicationId,
            user_id: userId,
            redirect_uri: request.redirectUri,
            scopes: request.scopes,
            state: request.state,
            code_challenge: request.codeChallenge,
            answer,
            expires_at: request.expiresAt,
          })
          .onConflictDoNothing({ target: loginRequests.challenge_hash })
          .returning({ at: loginRequests.expires_at });
        if ((yield* execute(added)).length === 0) throw loginAnswered();
      }),
    redeem: (verifierHash, browserHashes, codeHash, now) =>
      db.transact(function* (orm) {
        const isIt = and(
          eq(loginRequests.verifier_hash, Buffer.from(verifierHash)),
          inArray(
            loginRequests.browser_hash,
            browserHashes.map((hash) => Buffer.from(hash)),
          ),
          gt(loginRequests.expires_at, now),
        );
        yield* db.lockOwners(orm, loginRequests, isIt);
        const [login] = yield* execute(
          orm.update(loginRequests).set({ verifier_hash: null }).where(isIt).returning(redeemed),
        );
        if (!login) return null;
        yield* keepCode(orm, login, codeHash, now);
        return login;
      }),
  };
}

const unknownUser = () => invalidField("body", "user_id", "is not a known user");

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
function* rememberConsent(
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
