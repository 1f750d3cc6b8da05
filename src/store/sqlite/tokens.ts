import { and, eq, gt, inArray, isNull, lte, sql } from "drizzle-orm";
import type { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import { judgeCode, judgeRefresh } from "../../domain/authorizations.ts";
import {
  appTokensKept,
  refreshTokenLifetimeMs,
  type ScopeName,
  scopesNamed,
  scopesWithin,
  userTokenLifetimeMs,
} from "../../domain/tokens.ts";
import type { Exchanged, NewTokens, TokenStore } from "../tokens.ts";
import type { Commit } from "./database/commit.ts";
import { newestKeeper } from "./newest.ts";
import { authorizationCodes, loginRequests, refreshTokens, tokens } from "./schema/access.ts";

/** On whose behalf tokens are given, and with what. */
interface Family {
  readonly id: string;
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
/** So many are removed in one commit, at most. */
const expiredAtOnce = 500;

export function tokenStore(orm: BunSQLiteDatabase, commit: Commit): TokenStore {
  const find = orm
    .select({
      applicationId: tokens.application_id,
      userId: tokens.user_id,
      scopes: tokens.scopes,
      expiresAt: tokens.expires_at,
    })
    .from(tokens)
    .where(eq(tokens.hash, sql.placeholder("hash")))
    .limit(1)
    .prepare();
  const findRefresh = orm
    .select({
      applicationId: refreshTokens.application_id,
      userId: refreshTokens.user_id,
      scopes: refreshTokens.scopes,
      familyId: refreshTokens.family_id,
      expiresAt: refreshTokens.expires_at,
      rotatedAt: refreshTokens.rotated_at,
    })
    .from(refreshTokens)
    .where(eq(refreshTokens.hash, sql.placeholder("hash")))
    .limit(1)
    .prepare();
  const findCode = orm
    .select({
      applicationId: authorizationCodes.application_id,
      userId: authorizationCodes.user_id,
      scopes: authorizationCodes.scopes,
      redirectUri: authorizationCodes.redirect_uri,
      codeChallenge: authorizationCodes.code_challenge,
      familyId: authorizationCodes.family_id,
      expiresAt: authorizationCodes.expires_at,
      usedAt: authorizationCodes.used_at,
    })
    .from(authorizationCodes)
    .where(eq(authorizationCodes.hash, sql.placeholder("hash")))
    .limit(1)
    .prepare();

  const keepNewest = newestKeeper(orm, {
    table: tokens,
    where: and(eq(tokens.application_id, sql.placeholder("owner")), isNull(tokens.user_id)),
    keep: appTokensKept,
  });

  /** The new refresh token has all scopes of its family, whatever the access token has (RFC 6749, section 6). */
  const issue = (family: Family, scopes: readonly ScopeName[], hashes: NewTokens, now: number): Exchanged => {
    const common = { application_id: family.applicationId, user_id: family.userId, family_id: family.id };
    const expiresAt = now + userTokenLifetimeMs;
    orm
      .insert(tokens)
      .values({ ...common, hash: Buffer.from(hashes.accessHash), scopes, expires_at: expiresAt })
      .run();
    orm
      .insert(refreshTokens)
      .values({
        ...common,
        hash: Buffer.from(hashes.refreshHash),
        scopes: family.scopes,
        expires_at: now + refreshTokenLifetimeMs,
      })
      .run();
    return { grant: { applicationId: family.applicationId, userId: family.userId, scopes, expiresAt } };
  };

  const revokeFamily = (id: string) => {
    orm.delete(tokens).where(eq(tokens.family_id, id)).run();
    orm.delete(refreshTokens).where(eq(refreshTokens.family_id, id)).run();
  };

  return {
    create: (hash, grant, familyId) =>
      commit(() => {
        orm
          .insert(tokens)
          .values({
            hash: Buffer.from(hash),
            application_id: grant.applicationId,
            user_id: grant.userId,
            scopes: grant.scopes,
            expires_at: grant.expiresAt,
            family_id: familyId ?? null,
          })
          .run();
        return grant.userId === null && keepNewest(grant.applicationId) > 0;
      }),
    find: async (hash) => {
      const found = find.get({ hash });
      return found ? { ...found, scopes: scopesNamed(found.scopes) } : null;
    },
    inspect: async (hash, now) => {
      const access = find.get({ hash });
      if (access) return access.expiresAt > now ? { kind: "access_token", ...access } : null;
      const refresh = findRefresh.get({ hash });
      if (!refresh || judgeRefresh(refresh, refresh.applicationId, now) !== "good") return null;
      const { applicationId, userId, scopes, expiresAt } = refresh;
      return { kind: "refresh_token", applicationId, userId, scopes, expiresAt };
    },
    redeemCode: (hash, given, hashes, now) =>
      commit(() => {
        const code = findCode.get({ hash }) ?? null;
        const verdict = judgeCode(code, given, now);
        if (!code || verdict === "invalid") return { refused: "invalid" };
        if (verdict === "reused") {
          revokeFamily(code.familyId);
          return { refused: "reused" };
        }
        orm
          .update(authorizationCodes)
          .set({ used_at: now })
          .where(eq(authorizationCodes.hash, Buffer.from(hash)))
          .run();
        return issue({ ...code, id: code.familyId }, code.scopes, hashes, now);
      }),
    refresh: (hash, { applicationId, scopes }, hashes, now) =>
      commit(() => {
        const token = findRefresh.get({ hash }) ?? null;
        const verdict = judgeRefresh(token, applicationId, now);
        if (!token || verdict === "invalid") return { refused: "invalid" };
        if (verdict === "reused") {
          revokeFamily(token.familyId);
          return { refused: "reused" };
        }
        if (scopes && scopesWithin(scopes, scopesNamed(token.scopes)).length < scopes.length) {
          return { refused: "exceeded" };
        }
        if (token.rotatedAt === null) {
          orm
            .update(refreshTokens)
            .set({ rotated_at: now })
            .where(eq(refreshTokens.hash, Buffer.from(hash)))
            .run();
        }
        return issue({ ...token, id: token.familyId }, scopes ?? token.scopes, hashes, now);
      }),
    revoke: (hash, applicationId) =>
      commit(() => {
        const access = find.get({ hash });
        const refresh = access ? undefined : findRefresh.get({ hash });
        const token = access ?? refresh;
        if (!token) return "unknown";
        if (token.applicationId !== applicationId) return "foreign";
        if (refresh) revokeFamily(refresh.familyId);
        else
          orm
            .delete(tokens)
            .where(eq(tokens.hash, Buffer.from(hash)))
            .run();
        return "revoked";
      }),
    ofApplication: async (applicationId, now, limit) =>
      orm
        .select({ userId: tokens.user_id, scopes: tokens.scopes, expiresAt: tokens.expires_at })
        .from(tokens)
        .where(and(eq(tokens.application_id, applicationId), gt(tokens.expires_at, now)))
        .orderBy(tokens.expires_at)
        .limit(limit)
        .all()
        .map((token) => ({ applicationId, ...token, scopes: scopesNamed(token.scopes) })),
    removeOfApplication: (applicationId) =>
      commit(() => {
        for (const table of [refreshTokens, authorizationCodes]) {
          orm.delete(table).where(eq(table.application_id, applicationId)).run();
        }
        const removed = orm.delete(tokens).where(eq(tokens.application_id, applicationId));
        return removed.returning({ at: tokens.expires_at }).all().length;
      }),
    removeExpired: (now) =>
      commit(() => {
        let left = expiredAtOnce;
        for (const [table, key] of expiring) {
          const expired = orm.select({ key }).from(table).where(lte(table.expires_at, now)).limit(left);
          const gone = orm.delete(table).where(inArray(key, expired)).returning({ at: table.expires_at });
          left -= gone.all().length;
          if (left === 0) return false;
        }
        return true;
      }),
  };
}

/** Ends all codes and tokens that an application has of a user; to be called within a commit. */
export function removeTokensOf(orm: BunSQLiteDatabase, userId: number, applicationId: string): void {
  for (const table of [tokens, refreshTokens, authorizationCodes, loginRequests]) {
    orm
      .delete(table)
      .where(and(eq(table.user_id, userId), eq(table.application_id, applicationId)))
      .run();
  }
}
