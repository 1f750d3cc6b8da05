import { and, eq, gt, inArray } from "drizzle-orm";
import { loginAnswered, noLoginRequest } from "../../domain/authorizations.ts";
import { invalidFields } from "../../domain/errors.ts";
import { newId } from "../../domain/ids.ts";
import { isoTime } from "../../domain/time.ts";
import { codeLifetimeMs, scopesWithin } from "../../domain/tokens.ts";
import type { AnsweredLogin, LoginRequestStore } from "../login-requests.ts";
import { rememberConsent } from "./consents.ts";
import { type Dialect, execute, type Orm, type Work } from "./dialect.ts";

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
    const { answer, applicationId, redirectUri, scopes: asked, codeChallenge } = login;
    if (!("userId" in answer)) return;
    const { userId, scopes, remember } = answer;
    yield* execute(
      orm.insert(authorizationCodes).values({
        hash: Buffer.from(codeHash),
        application_id: applicationId,
        user_id: userId,
        scopes: scopesWithin(asked, scopes),
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

const unknownUser = () => invalidFields([{ in: "body", field: "user_id", message: "is not a known user" }]);
