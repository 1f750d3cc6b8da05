import { and, eq, gt, isNotNull } from "drizzle-orm";
import { checkAnswerable, loginLimits } from "../../domain/authorizations.ts";
import { invalidFields } from "../../domain/errors.ts";
import { newId } from "../../domain/ids.ts";
import { isoTime } from "../../domain/time.ts";
import { codeLifetimeMs, scopesWithin } from "../../domain/tokens.ts";
import type { AnsweredLogin, LoginRequestStore } from "../login-requests.ts";
import { rememberConsent } from "./consents.ts";
import { isForeignKeyViolation } from "./database/faults.ts";
import type { Postgres, Queries } from "./database/pool.ts";
import { keepNewest } from "./newest.ts";
import { authorizationCodes, loginRequests } from "./schema/access.ts";
import { keepOwners } from "./tokens.ts";

const shown = {
  applicationId: loginRequests.application_id,
  redirectUri: loginRequests.redirect_uri,
  scopes: loginRequests.scopes,
  state: loginRequests.state,
  codeChallenge: loginRequests.code_challenge,
  expiresAt: loginRequests.expires_at,
};

const isLive = (challengeHash: Uint8Array, now: number) =>
  and(eq(loginRequests.challenge_hash, Buffer.from(challengeHash)), gt(loginRequests.expires_at, now));

export function loginRequestStore(db: Postgres): LoginRequestStore {
  return {
    async create(challengeHash, browserHash, request, client) {
      await db.orm.insert(loginRequests).values({
        challenge_hash: Buffer.from(challengeHash),
        browser_hash: Buffer.from(browserHash),
        client,
        application_id: request.applicationId,
        redirect_uri: request.redirectUri,
        scopes: request.scopes,
        state: request.state,
        code_challenge: request.codeChallenge,
        expires_at: request.expiresAt,
      });
      const { openPerClient, openPerApplication } = loginLimits;
      const kept = { table: loginRequests, made: loginRequests.made };
      const ofClient = eq(loginRequests.client, client);
      const ofApplication = eq(loginRequests.application_id, request.applicationId);
      await Promise.all([
        keepNewest(db, { ...kept, where: ofClient, keep: openPerClient }),
        keepNewest(db, { ...kept, where: ofApplication, keep: openPerApplication }),
      ]);
    },
    find: async (hash, now) =>
      (await db.orm.select(shown).from(loginRequests).where(isLive(hash, now)))[0] ?? null,
    async answer(hash, answer, verifierHash, now) {
      const kept = db.transact(async ({ orm }) => {
        const [request] = await orm
          .select({ answer: loginRequests.answer })
          .from(loginRequests)
          .where(isLive(hash, now))
          .for("update");
        checkAnswerable(request);
        const userId = "userId" in answer ? answer.userId : null;
        await orm
          .update(loginRequests)
          .set({ answer, verifier_hash: Buffer.from(verifierHash), user_id: userId })
          .where(eq(loginRequests.challenge_hash, Buffer.from(hash)));
      });
      return kept.catch((error) => {
        if (!isForeignKeyViolation(error)) throw error;
        throw invalidFields([{ in: "body", field: "user_id", message: "is not a known user" }]);
      });
    },
    redeem: (verifierHash, browserHash, codeHash, now) =>
      db.transact(async (transaction) => {
        const isIt = and(
          eq(loginRequests.verifier_hash, Buffer.from(verifierHash)),
          eq(loginRequests.browser_hash, Buffer.from(browserHash)),
          gt(loginRequests.expires_at, now),
          isNotNull(loginRequests.answer),
        );
        await keepOwners(transaction, loginRequests, isIt);
        const [taken] = await transaction.orm
          .delete(loginRequests)
          .where(isIt)
          .returning({ ...shown, answer: loginRequests.answer });
        if (!taken?.answer) return null;
        const login = { ...taken, answer: taken.answer };
        await keepCode(transaction, login, codeHash, now);
        return login;
      }),
  };
}

/** Where the user consented. */
async function keepCode(
  transaction: Queries,
  { answer, applicationId, redirectUri, scopes: asked, codeChallenge }: AnsweredLogin,
  codeHash: Uint8Array,
  now: number,
): Promise<void> {
  if (!("userId" in answer)) return;
  const { userId, scopes, remember } = answer;
  await transaction.orm.insert(authorizationCodes).values({
    hash: Buffer.from(codeHash),
    application_id: applicationId,
    user_id: userId,
    scopes: scopesWithin(asked, scopes),
    redirect_uri: redirectUri,
    code_challenge: codeChallenge,
    family_id: newId(),
    expires_at: now + codeLifetimeMs,
  });
  if (remember) await rememberConsent(transaction, userId, applicationId, scopes, isoTime(now));
}
