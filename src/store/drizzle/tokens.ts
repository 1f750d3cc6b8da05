import { and, eq, gt, inArray, isNull, lte, sql } from "drizzle-orm";
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
import { type Dialect, execute, type Orm, type Tables, type Work } from "./dialect.ts";
import { newestKeeper } from "./newest.ts";

/** On whose behalf tokens are given, and with what. */
interface Family {
  readonly familyId: string;
  readonly applicationId: string;
  readonly userId: number;
  readonly scopes: readonly ScopeName[];
}

/** So many rows that have expired are removed in one transaction, at most. */
const expiredAtOnce = 500;

export function tokenStore(db: Dialect): TokenStore {
  const { applications, tokens, refreshTokens, authorizationCodes, loginRequests } = db.tables;
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
  /** Everything that expires, with its key. */
  const expiring = [
    [tokens, tokens.hash],
    [refreshTokens, refreshTokens.hash],
    [authorizationCodes, authorizationCodes.hash],
    [loginRequests, loginRequests.challenge_hash],
  ] as const;

  const keepNewest = newestKeeper(db, "app_tokens", {
    table: tokens,
    made: db.made(tokens),
    where: and(eq(tokens.application_id, sql.placeholder("owner")), isNull(tokens.user_id)),
    keep: appTokensKept,
  });
  const isHash = eq(tokens.hash, sql.placeholder("hash"));
  const byHash = db.prepared("token", (orm) => orm.select(access).from(tokens).where(isHash));
  const find = async (hash: Uint8Array) => (await byHash(db.orm, { hash: Buffer.from(hash) }))[0] ?? null;
  const refreshToken = (orm: Orm, hash: Uint8Array) =>
    orm
      .select(refresh)
      .from(refreshTokens)
      .where(eq(refreshTokens.hash, Buffer.from(hash)));

  /** The new refresh token has all scopes of its family, whatever the access token has (RFC 6749, section 6). */
  function* issue(
    orm: Orm,
    { familyId, applicationId, userId, scopes: all }: Family,
    scopes: readonly ScopeName[],
    hashes: NewTokens,
    now: number,
  ): Work<Exchanged> {
    const common = { application_id: applicationId, user_id: userId, family_id: familyId };
    const expiresAt = now + userTokenLifetimeMs;
    const accessToken = { ...common, hash: Buffer.from(hashes.accessHash), scopes, expires_at: expiresAt };
    yield* execute(orm.insert(tokens).values(accessToken));
    yield* execute(
      orm.insert(refreshTokens).values({
        ...common,
        hash: Buffer.from(hashes.refreshHash),
        scopes: all,
        expires_at: now + refreshTokenLifetimeMs,
      }),
    );
    return { grant: { applicationId, userId, scopes, expiresAt } };
  }

  function* revokeFamily(orm: Orm, id: string): Work<void> {
    const { family_id, hash } = refreshTokens;
    const removal = () => orm.delete(refreshTokens).where(eq(family_id, id)).returning({ hash });
    // Until none is left: one that is being refreshed at this moment is removed when there is another in its place.
    while ((yield* execute(removal())).length > 0);
    yield* execute(orm.delete(tokens).where(eq(tokens.family_id, id)));
  }

  return {
    create: (hash, grant, familyId) =>
      db.inTurn(function* (orm) {
        yield* execute(
          orm.insert(tokens).values({
            hash: Buffer.from(hash),
            application_id: grant.applicationId,
            user_id: grant.userId,
            scopes: grant.scopes,
            expires_at: grant.expiresAt,
            family_id: familyId ?? null,
          }),
        );
        if (grant.userId !== null) return false;
        return (yield* keepNewest(orm, grant.applicationId)) > 0;
      }),
    async find(hash) {
      const found = await find(hash);
      return found && { ...found, scopes: scopesNamed(found.scopes) };
    },
    async inspect(hash, now) {
      const found = await find(hash);
      if (found) return found.expiresAt > now ? { kind: "access_token", ...found } : null;
      const [refresh] = await refreshToken(db.orm, hash);
      if (!refresh || judgeRefresh(refresh, refresh.applicationId, now) !== "good") return null;
      const { applicationId, userId, scopes, expiresAt } = refresh;
      return { kind: "refresh_token", applicationId, userId, scopes, expiresAt };
    },
    redeemCode: (hash, given, hashes, now) =>
      db.transact(function* (orm) {
        const isIt = eq(authorizationCodes.hash, Buffer.from(hash));
        yield* db.lockOwners(orm, authorizationCodes, isIt);
        const query = orm.select(code).from(authorizationCodes).where(isIt);
        const [found = null] = yield* execute(db.lock(query, "update"));
        const verdict = judgeCode(found, given, now);
        if (!found || verdict === "invalid") return { refused: "invalid" };
        if (verdict === "reused") {
          yield* revokeFamily(orm, found.familyId);
          return { refused: "reused" };
        }
        yield* execute(orm.update(authorizationCodes).set({ used_at: now }).where(isIt));
        return yield* issue(orm, found, found.scopes, hashes, now);
      }),
    refresh: (hash, { applicationId, scopes }, hashes, now) =>
      db.transact(function* (orm) {
        const isIt = eq(refreshTokens.hash, Buffer.from(hash));
        yield* db.lockOwners(orm, refreshTokens, isIt);
        const [token = null] = yield* execute(db.lock(refreshToken(orm, hash), "update"));
        const verdict = judgeRefresh(token, applicationId, now);
        if (!token || verdict === "invalid") return { refused: "invalid" };
        if (verdict === "reused") {
          yield* revokeFamily(orm, token.familyId);
          return { refused: "reused" };
        }
        if (scopes && scopesWithin(scopes, scopesNamed(token.scopes)).length < scopes.length) {
          return { refused: "exceeded" };
        }
        if (token.rotatedAt === null) {
          yield* execute(orm.update(refreshTokens).set({ rotated_at: now }).where(isIt));
        }
        return yield* issue(orm, token, scopes ?? token.scopes, hashes, now);
      }),
    revoke: (hash, applicationId) =>
      db.transact(function* (orm) {
        const isIt = eq(tokens.hash, Buffer.from(hash));
        const query = orm.select(access).from(tokens).where(isIt);
        const [found] = yield* execute(db.lock(query, "update"));
        const [refresh] = found ? [] : yield* execute(db.lock(refreshToken(orm, hash), "update"));
        const token = found ?? refresh;
        if (!token) return "unknown";
        if (token.applicationId !== applicationId) return "foreign";
        if (refresh) yield* revokeFamily(orm, refresh.familyId);
        else yield* execute(orm.delete(tokens).where(isIt));
        return "revoked";
      }),
    async ofApplication(applicationId, now, limit) {
      const found = await db.orm
        .select(access)
        .from(tokens)
        .where(and(eq(tokens.application_id, applicationId), gt(tokens.expires_at, now)))
        .orderBy(tokens.expires_at)
        .limit(limit);
      return found.map((token) => ({ ...token, scopes: scopesNamed(token.scopes) }));
    },
    removeOfApplication: (applicationId) =>
      db.transact(function* (orm) {
        // What is being made in the place of a code or token is there before they are removed, or is not made.
        const application = orm.select({ id: applications.id }).from(applications);
        yield* execute(db.lock(application.where(eq(applications.id, applicationId)), "update"));
        for (const table of [refreshTokens, authorizationCodes]) {
          yield* execute(orm.delete(table).where(eq(table.application_id, applicationId)));
        }
        const removed = orm.delete(tokens).where(eq(tokens.application_id, applicationId));
        return (yield* execute(removed.returning({ at: tokens.expires_at }))).length;
      }),
    removeExpired: (now) =>
      db.transact(function* (orm) {
        let left = expiredAtOnce;
        for (const [table, key] of expiring) {
          const query = orm.select({ key }).from(table).where(lte(table.expires_at, now)).limit(left);
          const expired = db.lock(query, "update", { skipLocked: true });
          const gone = orm.delete(table).where(inArray(key, expired)).returning({ at: table.expires_at });
          left -= (yield* execute(gone)).length;
          if (left === 0) return false;
        }
        return true;
      }),
  };
}

/** Ends all codes and tokens that an application has of a user, inside a transaction. */
export function* removeTokensOf(
  { tokens, refreshTokens, authorizationCodes, loginRequests }: Tables,
  orm: Orm,
  userId: number,
  applicationId: string,
): Work<void> {
  for (const table of [tokens, refreshTokens, authorizationCodes, loginRequests]) {
    const isTheirs = and(eq(table.user_id, userId), eq(table.application_id, applicationId));
    yield* execute(orm.delete(table).where(isTheirs));
  }
}
