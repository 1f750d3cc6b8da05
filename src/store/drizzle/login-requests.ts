import { and, eq, gt, isNotNull, sql } from "drizzle-orm";
import { checkAnswerable, loginLimits } from "../../domain/authorizations.ts";
import { invalidFields } from "../../domain/errors.ts";
import { newId } from "../../domain/ids.ts";
import { isoTime } from "../../domain/time.ts";
import { codeLifetimeMs, scopesWithin } from "../../domain/tokens.ts";
import type { AnsweredLogin, LoginRequestStore } from "../login-requests.ts";
import { rememberConsent } from "./consents.ts";
import { type Dialect, execute, type Orm, type Work } from "./dialect.ts";
import { newestKeeper } from "./removal.ts";

export function loginRequestStore(db: Dialect): LoginRequestStore {
  const { loginRequests, authorizationCodes } = db.tables;
  const shown = {
    applicationId: loginRequests.application_id,
    redirectUri: loginRequests.redirect_uri,
    scopes: loginRequests.scopes,
    state: loginRequests.state,
    codeChallenge: loginRequests.code_challenge,
    expiresAt: loginRequests.expires_at,
  };
  const kept = { table: loginRequests, made: db.made(loginRequests) };
  const keepOfClient = newestKeeper(db, "logins_of_client", {
    ...kept,
    where: eq(loginRequests.client, sql.placeholder("owner")),
    keep: loginLimits.openPerClient,
  });
  const keepOfApplication = newestKeeper(db, "logins_of_application", {
    ...kept,
    where: eq(loginRequests.application_id, sql.placeholder("owner")),
    keep: loginLimits.openPerApplication,
  });
  const isLive = (challengeHash: Uint8Array, now: number) =>
    and(eq(loginRequests.challenge_hash, Buffer.from(challengeHash)), gt(loginRequests.expires_at, now));

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
    create: (challengeHash, browserHash, request, client) =>
      db.runEach(function* (orm) {
        yield* execute(
          orm.insert(loginRequests).values({
            challenge_hash: Buffer.from(challengeHash),
            browser_hash: Buffer.from(browserHash),
            client,
            application_id: request.applicationId,
            redirect_uri: request.redirectUri,
            scopes: request.scopes,
            state: request.state,
            code_challenge: request.codeChallenge,
            expires_at: request.expiresAt,
          }),
        );
        yield* keepOfClient(orm, client);
        yield* keepOfApplication(orm, request.applicationId);
      }),
    find: async (hash, now) =>
      (await db.orm.select(shown).from(loginRequests).where(isLive(hash, now)))[0] ?? null,
    answer: (hash, answer, verifierHash, now) => {
      const kept = db.transact(function* (orm) {
        const query = orm.select({ answer: loginRequests.answer }).from(loginRequests);
        const [request] = yield* execute(db.lock(query.where(isLive(hash, now)), "update"));
        checkAnswerable(request);
        const userId = "userId" in answer ? answer.userId : null;
        yield* execute(
          orm
            .update(loginRequests)
            .set({ answer, verifier_hash: Buffer.from(verifierHash), user_id: userId })
            .where(isLive(hash, now)),
        );
      });
      return kept.catch((error) => {
        if (!db.isForeignKeyViolation(error)) throw error;
        throw invalidFields([{ in: "body", field: "user_id", message: "is not a known user" }]);
      });
    },
    redeem: (verifierHash, browserHash, codeHash, now) =>
      db.transact(function* (orm) {
        const isIt = and(
          eq(loginRequests.verifier_hash, Buffer.from(verifierHash)),
          eq(loginRequests.browser_hash, Buffer.from(browserHash)),
          gt(loginRequests.expires_at, now),
          isNotNull(loginRequests.answer),
        );
        yield* db.lockOwners(orm, loginRequests, isIt);
        const [taken] = yield* execute(
          orm
            .delete(loginRequests)
            .where(isIt)
            .returning({ ...shown, answer: loginRequests.answer }),
        );
        if (!taken?.answer) return null;
        const login = { ...taken, answer: taken.answer };
        yield* keepCode(orm, login, codeHash, now);
        return login;
      }),
  };
}
