import { and, eq, gt, isNotNull, sql } from "drizzle-orm";
import type { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import { checkAnswerable, type LoginAnswer, loginLimits } from "../../domain/authorizations.ts";
import { invalidFields } from "../../domain/errors.ts";
import { newId } from "../../domain/ids.ts";
import { isoTime } from "../../domain/time.ts";
import { codeLifetimeMs, scopesWithin } from "../../domain/tokens.ts";
import type { AnsweredLogin, LoginRequestStore } from "../login-requests.ts";
import { rememberConsent } from "./consents.ts";
import type { Commit } from "./database/commit.ts";
import { isForeignKeyViolation } from "./database/faults.ts";
import { newestKeeper } from "./newest.ts";
import { authorizationCodes, loginRequests } from "./schema/access.ts";

export function loginRequestStore(orm: BunSQLiteDatabase, commit: Commit): LoginRequestStore {
  const { openPerApplication, openPerClient } = loginLimits;
  const keepers = {
    ofApplication: newestKeeper(orm, {
      table: loginRequests,
      where: eq(loginRequests.application_id, sql.placeholder("owner")),
      keep: openPerApplication,
    }),
    ofClient: newestKeeper(orm, {
      table: loginRequests,
      where: eq(loginRequests.client, sql.placeholder("owner")),
      keep: openPerClient,
    }),
  };
  const shown = {
    applicationId: loginRequests.application_id,
    redirectUri: loginRequests.redirect_uri,
    scopes: loginRequests.scopes,
    state: loginRequests.state,
    codeChallenge: loginRequests.code_challenge,
    expiresAt: loginRequests.expires_at,
  };
  const isLive = gt(loginRequests.expires_at, sql.placeholder("now"));
  const find = orm
    .select(shown)
    .from(loginRequests)
    .where(and(eq(loginRequests.challenge_hash, sql.placeholder("hash")), isLive))
    .limit(1)
    .prepare();

  const keepAnswer = (hash: Uint8Array, answer: LoginAnswer, verifierHash: Uint8Array, now: number) => {
    const row = { hash: Buffer.from(hash), now };
    const answered = orm
      .select({ answer: loginRequests.answer })
      .from(loginRequests)
      .where(and(eq(loginRequests.challenge_hash, row.hash), gt(loginRequests.expires_at, now)))
      .limit(1)
      .get();
    checkAnswerable(answered);
    const userId = "userId" in answer ? answer.userId : null;
    orm
      .update(loginRequests)
      .set({ answer, verifier_hash: Buffer.from(verifierHash), user_id: userId })
      .where(eq(loginRequests.challenge_hash, row.hash))
      .run();
  };

  const consented = (login: AnsweredLogin, codeHash: Uint8Array, now: number) => {
    const { answer, applicationId } = login;
    if (!("userId" in answer)) return;
    const { userId, scopes, remember } = answer;
    orm
      .insert(authorizationCodes)
      .values({
        hash: Buffer.from(codeHash),
        application_id: applicationId,
        user_id: userId,
        scopes: scopesWithin(login.scopes, scopes),
        redirect_uri: login.redirectUri,
        code_challenge: login.codeChallenge,
        family_id: newId(),
        expires_at: now + codeLifetimeMs,
      })
      .run();
    if (remember) rememberConsent(orm, userId, applicationId, scopes, isoTime(now));
  };

  return {
    create: (challengeHash, browserHash, request, client) =>
      commit(() => {
        orm
          .insert(loginRequests)
          .values({
            challenge_hash: Buffer.from(challengeHash),
            browser_hash: Buffer.from(browserHash),
            client,
            application_id: request.applicationId,
            redirect_uri: request.redirectUri,
            scopes: request.scopes,
            state: request.state,
            code_challenge: request.codeChallenge,
            expires_at: request.expiresAt,
          })
          .run();
        keepers.ofClient(client);
        keepers.ofApplication(request.applicationId);
      }),
    find: async (hash, now) => find.get({ hash, now }) ?? null,
    answer: (hash, answer, verifierHash, now) =>
      commit(() => {
        try {
          keepAnswer(hash, answer, verifierHash, now);
        } catch (error) {
          if (!isForeignKeyViolation(error)) throw error;
          throw invalidFields([{ in: "body", field: "user_id", message: "is not a known user" }]);
        }
      }),
    redeem: (verifierHash, browserHash, codeHash, now) =>
      commit(() => {
        const taken = orm
          .delete(loginRequests)
          .where(
            and(
              eq(loginRequests.verifier_hash, Buffer.from(verifierHash)),
              eq(loginRequests.browser_hash, Buffer.from(browserHash)),
              gt(loginRequests.expires_at, now),
              isNotNull(loginRequests.answer),
            ),
          )
          .returning({ ...shown, answer: loginRequests.answer })
          .get();
        if (!taken?.answer) return null;
        const login = { ...taken, answer: taken.answer };
        consented(login, codeHash, now);
        return login;
      }),
  };
}
