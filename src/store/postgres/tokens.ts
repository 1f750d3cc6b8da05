import { and, eq, gt, inArray, isNull, lte, type SQL, sql } from "drizzle-orm";
import type { PgColumn } from "drizzle-orm/pg-core";
import { judgeCode, judgeRefresh } from "../../domain/authorizations.ts";
import { once } from "../../domain/lazily.ts";
import {
  appTokensKept,
  refreshTokenLifetimeMs,
  type ScopeName,
  scopesNamed,
  scopesWithin,
  userTokenLifetimeMs,
} from "../../domain/tokens.ts";
import type { Exchanged, NewTokens, TokenStore } from "../tokens.ts";
import type { Postgres, Queries } from "./database/pool.ts";
import { keepNewest } from "./newest.ts";
import { applications, authorizationCodes, loginRequests, refreshTokens, tokens } from "./schema/access.ts";
import { users } from "./schema/platform.ts";

/** On whose behalf tokens are given, and with what. */
interface Family {
  readonly familyId: string;
  readonly applicationId: string;
  readonly userId: number;
  readonly scopes: readonly ScopeName[];
}

/** Everything that expires, with its key. */
const expiring = [
  [tokens, tokens.hash],
  [refreshTokens, refreshTokens.hash],
  [authorizationCodes, authorizationCodes.hash],
  [loginRequests, loginRequests.challenge_hash],
] as const;
/** So many are removed in one transaction, at most. */
const expiredAtOnce = 500;

const access = {
  applicationId: tokens.application_id,
  userId: tokens.user_id,
  scopes: tokens.scopes,
  expiresAt: tokens.expires_at,
};
const refresh = {
  applicationId: refreshTokens.application_id,
  userId: refreshTokens.user_id,
  scopes: refreshTokens.scopes,
  familyId: refreshTokens.family_id,
  expiresAt: refreshTokens.expires_at,
  rotatedAt: refreshTokens.rotated_at,
};
const code = {
  applicationId: authorizationCodes.application_id,
  userId: authorizationCodes.user_id,
  scopes: authorizationCodes.scopes,
  redirectUri: authorizationCodes.redirect_uri,
  codeChallenge: authorizationCodes.code_challenge,
  familyId: authorizationCodes.family_id,
  expiresAt: authorizationCodes.expires_at,
  usedAt: authorizationCodes.used_at,
};

export function tokenStore(db: Postgres): TokenStore {
  const { orm } = db;
  const byHash = once(() =>
    orm
      .select(access)
      .from(tokens)
      .where(eq(tokens.hash, sql.placeholder("hash")))
      .prepare("token"),
  );
  const find = async (hash: Uint8Array) => (await byHash().execute({ hash: Buffer.from(hash) }))[0] ?? null;

  return {
    async create(hash, grant, familyId) {
      await orm.insert(tokens).values({
        hash: Buffer.from(hash),
        application_id: grant.applicationId,
        user_id: grant.userId,
        scopes: grant.scopes,
        expires_at: grant.expiresAt,
        family_id: familyId ?? null,
      });
      if (grant.userId !== null) return false;
      const where = and(eq(tokens.application_id, grant.applicationId), isNull(tokens.user_id));
      const kept = { table: tokens, made: tokens.made, where, keep: appTokensKept };
      return (await keepNewest(db, kept)) > 0;
    },
    async find(hash) {
      const found = await find(hash);
      return found && { ...found, scopes: scopesNamed(found.scopes) };
    },
    async inspect(hash, now) {
      const found = await find(hash);
      if (found) return found.expiresAt > now ? { kind: "access_token", ...found } : null;
      const refresh = await refreshToken(db, hash);
      if (!refresh || judgeRefresh(refresh, refresh.applicationId, now) !== "good") return null;
      const { applicationId, userId, scopes, expiresAt } = refresh;
      return { kind: "refresh_token", applicationId, userId, scopes, expiresAt };
    },
    redeemCode: (hash, given, hashes, now) =>
      db.transact(async (transaction) => {
        const isIt = eq(authorizationCodes.hash, Buffer.from(hash));
        await keepOwners(transaction, authorizationCodes, isIt);
        const [found = null] = await transaction.orm
          .select(code)
          .from(authorizationCodes)
          .where(isIt)
          .for("update");
        const verdict = judgeCode(found, given, now);
        if (!found || verdict === "invalid") return { refused: "invalid" };
        if (verdict === "reused") {
          await revokeFamily(transaction, found.familyId);
          return { refused: "reused" };
        }
        await transaction.orm.update(authorizationCodes).set({ used_at: now }).where(isIt);
        return issue(transaction, found, found.scopes, hashes, now);
      }),
    refresh: (hash, { applicationId, scopes }, hashes, now) =>
      db.transact(async (transaction) => {
        const isIt = eq(refreshTokens.hash, Buffer.from(hash));
        await keepOwners(transaction, refreshTokens, isIt);
        const token = await refreshToken(transaction, hash, "update");
        const verdict = judgeRefresh(token, applicationId, now);
        if (!token || verdict === "invalid") return { refused: "invalid" };
        if (verdict === "reused") {
          await revokeFamily(transaction, token.familyId);
          return { refused: "reused" };
        }
        if (scopes && scopesWithin(scopes, scopesNamed(token.scopes)).length < scopes.length) {
          return { refused: "exceeded" };
        }
        if (token.rotatedAt === null) {
          await transaction.orm.update(refreshTokens).set({ rotated_at: now }).where(isIt);
        }
        return issue(transaction, token, scopes ?? token.scopes, hashes, now);
      }),
    revoke: (hash, applicationId) =>
      db.transact(async (transaction) => {
        const { orm } = transaction;
        const isIt = eq(tokens.hash, Buffer.from(hash));
        const [found] = await orm.select(access).from(tokens).where(isIt).for("update");
        const refresh = found ? null : await refreshToken(transaction, hash, "update");
        const token = found ?? refresh;
        if (!token) return "unknown";
        if (token.applicationId !== applicationId) return "foreign";
        if (refresh) await revokeFamily(transaction, refresh.familyId);
        else await orm.delete(tokens).where(isIt);
        return "revoked";
      }),
    async ofApplication(applicationId, now, limit) {
      const found = await orm
        .select({ userId: tokens.user_id, scopes: tokens.scopes, expiresAt: tokens.expires_at })
        .from(tokens)
        .where(and(eq(tokens.application_id, applicationId), gt(tokens.expires_at, now)))
        .orderBy(tokens.expires_at)
        .limit(limit);
      return found.map((token) => ({ applicationId, ...token, scopes: scopesNamed(token.scopes) }));
    },
    removeOfApplication: (applicationId) =>
      db.transact(async ({ orm }) => {
        for (const table of [refreshTokens, authorizationCodes]) {
          await orm.delete(table).where(eq(table.application_id, applicationId));
        }
        const removed = orm.delete(tokens).where(eq(tokens.application_id, applicationId));
        return (await removed.returning({ at: tokens.expires_at })).length;
      }),
    removeExpired: (now) =>
      db.transact(async ({ orm }) => {
        let left = expiredAtOnce;
        for (const [table, key] of expiring) {
          const isExpired = lte(table.expires_at, now);
          const expired = orm
            .select({ key })
            .from(table)
            .where(isExpired)
            .limit(left)
            .for("update", { skipLocked: true });
          const gone = orm.delete(table).where(inArray(key, expired)).returning({ at: table.expires_at });
          left -= (await gone).length;
          if (left === 0) return false;
        }
        return true;
      }),
  };
}

/**
 * Before a row is locked for which others are made in its place: locks its owner, which can be removed only after
 * the transaction then, as they are locked first by those that remove them.
 */
export async function keepOwners(
  { orm }: Queries,
  table: typeof authorizationCodes | typeof refreshTokens | typeof loginRequests,
  isIt: SQL | undefined,
): Promise<void> {
  const of = (owner: PgColumn) => orm.select({ owner }).from(table).where(isIt);
  const [{ id: app }, { id: user }] = [applications, users];
  await Promise.all([
    orm
      .select({ app })
      .from(applications)
      .where(inArray(app, of(table.application_id)))
      .for("key share"),
    orm
      .select({ user })
      .from(users)
      .where(inArray(user, of(table.user_id)))
      .for("key share"),
  ]);
}

async function refreshToken({ orm }: Pick<Queries, "orm">, hash: Uint8Array, lock?: "update") {
  const query = orm
    .select(refresh)
    .from(refreshTokens)
    .where(eq(refreshTokens.hash, Buffer.from(hash)));
  const [found = null] = await (lock ? query.for(lock) : query);
  return found;
}

/** The new refresh token has all scopes of its family, whatever the access token has (RFC 6749, section 6). */
async function issue(
  { orm }: Queries,
  { familyId, applicationId, userId, scopes: all }: Family,
  scopes: readonly ScopeName[],
  hashes: NewTokens,
  now: number,
): Promise<Exchanged> {
  const common = { application_id: applicationId, user_id: userId, family_id: familyId };
  const expiresAt = now + userTokenLifetimeMs;
  const accessToken = { ...common, hash: Buffer.from(hashes.accessHash), scopes, expires_at: expiresAt };
  await orm.insert(tokens).values(accessToken);
  await orm.insert(refreshTokens).values({
    ...common,
    hash: Buffer.from(hashes.refreshHash),
    scopes: all,
    expires_at: now + refreshTokenLifetimeMs,
  });
  return { grant: { applicationId, userId, scopes, expiresAt } };
}

async function revokeFamily({ orm }: Queries, id: string): Promise<void> {
  await orm.delete(tokens).where(eq(tokens.family_id, id));
  await orm.delete(refreshTokens).where(eq(refreshTokens.family_id, id));
}

/** Ends all codes and tokens that an application has of a user. */
export async function removeTokensOf({ orm }: Queries, userId: number, applicationId: string): Promise<void> {
  for (const table of [tokens, refreshTokens, authorizationCodes, loginRequests]) {
    await orm.delete(table).where(and(eq(table.user_id, userId), eq(table.application_id, applicationId)));
  }
}
