import { and, between, desc, eq, gt, inArray, isNull, lte, ne, type SQL, sql } from "drizzle-orm";
import { invalidField } from "../../domain/errors.ts";
import { newId } from "../../domain/ids.ts";
import { hour, isoTime } from "../../domain/time.ts";
import {
  type AnsweredLogin,
  appTokensKept,
  type ConsentStore,
  codeLifetimeMs,
  type Exchanged,
  graceEnded,
  judgeCode,
  judgeRefresh,
  type LoginRequestStore,
  loginAnswered,
  type NewTokens,
  noLoginRequest,
  type RequestedGrant,
  refreshGraceMs,
  refreshTokenLifetimeMs,
  refreshTokensAnHour,
  type Scope,
  type ScopeName,
  scopesNamed,
  scopesWithin,
  sessionFamily,
  type TokenStore,
  tokenId,
  userTokenLifetimeMs,
} from "../../domain/tokens.ts";
import { type Dialect, execute, lockOwner, type Orm, type Tables, type Work } from "./dialect.ts";
import {
  endedAtOnce,
  newestKeeper,
  removeMostOfApplication,
  removeMostOfUser,
  removeTokensOf,
} from "./removal.ts";
import { removeSubscriptions } from "./subscriptions.ts";

/** The tokens that descend from one authorization code. */
interface Family {
  readonly familyId: string;
  readonly applicationId: string;
  readonly userId: number;
  readonly scopes: readonly ScopeName[];
}

/** The most expired rows removed in one transaction. */
const expiredAtOnce = 500;

/** The most uses of tokens that are stored in one transaction. */
const usesAtOnce = 200;

/** The result of an exchange, or the id of a family that must be revoked because its code or token was used before. */
type Settled = Exchanged | { readonly ended: string };

export function tokenStore(db: Dialect): TokenStore {
  const { applications, tokens, refreshTokens, authorizationCodes, loginRequests, users } = db.tables;
  const access = {
    applicationId: tokens.application_id,
    userId: tokens.user_id,
    scopes: tokens.scopes,
    expiresAt: tokens.expires_at,
    lastUsedAt: tokens.last_used_at,
  };
  const listed = {
    ...access,
    hash: tokens.hash,
    createdAt: tokens.created_at,
    familyId: tokens.family_id,
    username: users.username,
  };
  const refresh = {
    hash: refreshTokens.hash,
    parentHash: refreshTokens.parent_hash,
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
  /** All tables whose rows expire, with their keys. */
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

  /** Issues tokens. The refresh token keeps all scopes, even if the access token has fewer (RFC 6749, section 6). */
  function* issue(
    orm: Orm,
    { familyId, applicationId, userId, scopes: all }: Family,
    { scopes, parentHash }: { readonly scopes: readonly ScopeName[]; readonly parentHash: Buffer | null },
    hashes: NewTokens,
    now: number,
  ): Work<RequestedGrant> {
    const common = { application_id: applicationId, user_id: userId, family_id: familyId };
    const expiresAt = now + userTokenLifetimeMs;
    const refreshHash = Buffer.from(hashes.refreshHash);
    yield* execute(
      orm.insert(tokens).values({
        ...common,
        hash: Buffer.from(hashes.accessHash),
        scopes,
        expires_at: expiresAt,
        refresh_hash: refreshHash,
        created_at: now,
      }),
    );
    yield* execute(
      orm.insert(refreshTokens).values({
        ...common,
        hash: refreshHash,
        parent_hash: parentHash,
        scopes: all,
        expires_at: now + refreshTokenLifetimeMs,
      }),
    );
    return { applicationId, userId, scopes, expiresAt };
  }

  /**
   * Locks a refresh token with its parent and siblings, and returns the siblings; null when it does not exist. Parents
   * are locked before children, and children in a fixed order, so that exchanges at once cannot deadlock.
   */
  function* lockSiblings(orm: Orm, hash: Uint8Array) {
    const isIt = eq(refreshTokens.hash, Buffer.from(hash));
    const [known] = yield* execute(refreshToken(orm, hash));
    if (!known) return null;
    yield* db.lockOwners(orm, refreshTokens, isIt);
    const rows = (which: SQL | undefined) =>
      execute(
        db.lock(orm.select(refresh).from(refreshTokens).where(which).orderBy(refreshTokens.hash), "update"),
      );
    const { familyId, parentHash, expiresAt } = known;
    if (parentHash === null) return { token: (yield* rows(isIt))[0] ?? null, others: [] };
    yield* rows(eq(refreshTokens.hash, parentHash));
    // Siblings are issued within the grace of their parent. The limits of their expiry are for the index.
    const [earliest, latest] = [expiresAt - refreshGraceMs, expiresAt + refreshGraceMs];
    const children = yield* rows(
      and(
        eq(refreshTokens.family_id, familyId),
        between(refreshTokens.expires_at, earliest, latest),
        eq(refreshTokens.parent_hash, parentHash),
      ),
    );
    const isRequested = (row: (typeof children)[number]) => row.hash.equals(hash);
    return { token: children.find(isRequested) ?? null, others: children.filter((row) => !isRequested(row)) };
  }

  /** Ends the grace of a refresh token's parent, and its siblings with their access tokens. */
  function* endOthers(
    orm: Orm,
    { parentHash, familyId }: { readonly parentHash: Buffer | null; readonly familyId: string },
    others: readonly { readonly hash: Buffer }[],
  ): Work<boolean> {
    if (parentHash === null) return false;
    const siblings = others.map(({ hash }) => hash);
    const ended = inArray(refreshTokens.hash, [parentHash, ...siblings]);
    yield* execute(orm.update(refreshTokens).set({ rotated_at: graceEnded }).where(ended));
    if (siblings.length === 0) return false;
    const isTheirs = and(eq(tokens.family_id, familyId), inArray(tokens.refresh_hash, siblings));
    yield* execute(orm.delete(tokens).where(isTheirs));
    return true;
  }

  /** Returns how many milliseconds a family has to wait for its next refresh; 0 when it need not wait. */
  function* refreshWait(orm: Orm, familyId: string, now: number): Work<number> {
    const { expires_at, family_id } = refreshTokens;
    const newest = orm.select({ expires_at }).from(refreshTokens).where(eq(family_id, familyId));
    const [earliest] = yield* execute(
      newest
        .orderBy(desc(expires_at))
        .limit(1)
        .offset(refreshTokensAnHour - 1),
    );
    if (!earliest) return 0;
    const madeAt = earliest.expires_at - refreshTokenLifetimeMs;
    return Math.min(hour, Math.max(0, madeAt + hour - now));
  }

  /**
   * Removes some tokens of a family. Returns true when none is left. The token of the request (`named`) is removed
   * last, so that the request can be repeated if it is interrupted.
   */
  function* endSome(orm: Orm, familyId: string, named: Uint8Array): Work<boolean> {
    for (const table of [tokens, refreshTokens]) {
      const { hash, family_id, expires_at } = table;
      const isOther = and(eq(family_id, familyId), ne(hash, Buffer.from(named)));
      // The newest first, because most of the others are already exchanged and no longer valid.
      const others = orm.select({ hash }).from(table).where(isOther).orderBy(desc(expires_at));
      const some = others.limit(endedAtOnce);
      const gone = yield* execute(orm.delete(table).where(inArray(hash, some)).returning({ hash }));
      if (gone.length === endedAtOnce) return false;
    }
    const { family_id, hash } = refreshTokens;
    const removal = () => orm.delete(refreshTokens).where(eq(family_id, familyId)).returning({ hash });
    // Repeated, because a refresh in progress may commit a new token while this waits for the lock of the old token.
    while ((yield* execute(removal())).length > 0);
    yield* execute(orm.delete(tokens).where(eq(tokens.family_id, familyId)));
    return true;
  }

  /** Revokes a family, in several short transactions. */
  async function endFamily(familyId: string, named: Uint8Array): Promise<void> {
    while (!(await db.transact((orm) => endSome(orm, familyId, named))));
  }

  async function exchanged(settled: Settled, hash: Uint8Array): Promise<Exchanged> {
    if (!("ended" in settled)) return settled;
    await endFamily(settled.ended, hash);
    return { refused: "reused" };
  }

  return {
    create: (hash, grant, familyId) =>
      db.runEach(function* (orm) {
        yield* execute(
          orm.insert(tokens).values({
            hash: Buffer.from(hash),
            application_id: grant.applicationId,
            user_id: grant.userId,
            scopes: grant.scopes,
            expires_at: grant.expiresAt,
            family_id: familyId ?? null,
            created_at: grant.createdAt,
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
    async redeemCode(hash, presented, hashes, now) {
      const settled = await db.transact(function* (orm): Work<Settled> {
        const isIt = eq(authorizationCodes.hash, Buffer.from(hash));
        yield* db.lockOwners(orm, authorizationCodes, isIt);
        const query = orm.select(code).from(authorizationCodes).where(isIt);
        const [found = null] = yield* execute(db.lock(query, "update"));
        const verdict = judgeCode(found, presented, now);
        if (!found || verdict === "invalid") return { refused: "invalid" };
        if (verdict === "reused") return { ended: found.familyId };
        yield* execute(orm.update(authorizationCodes).set({ used_at: now }).where(isIt));
        const first = { scopes: found.scopes, parentHash: null };
        return { grant: yield* issue(orm, found, first, hashes, now), endedOthers: false };
      });
      return exchanged(settled, hash);
    },
    async refresh(hash, { applicationId, scopes }, hashes, now) {
      const settled = await db.transact(function* (orm): Work<Settled> {
        const { token = null, others = [] } = (yield* lockSiblings(orm, hash)) ?? {};
        const verdict = judgeRefresh(token, applicationId, now);
        if (!token || verdict === "invalid") return { refused: "invalid" };
        if (verdict === "reused") return { ended: token.familyId };
        if (scopes && scopesWithin(scopes, scopesNamed(token.scopes)).length < scopes.length) {
          return { refused: "exceeded" };
        }
        const retryAfterMs = yield* refreshWait(orm, token.familyId, now);
        if (retryAfterMs > 0) return { refused: "limited", retryAfterMs };
        let endedOthers = false;
        if (token.rotatedAt === null) {
          const isIt = eq(refreshTokens.hash, token.hash);
          yield* execute(orm.update(refreshTokens).set({ rotated_at: now }).where(isIt));
          endedOthers = yield* endOthers(orm, token, others);
        }
        const next = { scopes: scopes ?? token.scopes, parentHash: token.hash };
        return { grant: yield* issue(orm, token, next, hashes, now), endedOthers };
      });
      return exchanged(settled, hash);
    },
    async revoke(hash, applicationId) {
      const settled = await db.transact(function* (orm) {
        const isIt = eq(tokens.hash, Buffer.from(hash));
        const query = orm.select(access).from(tokens).where(isIt);
        const [found] = yield* execute(db.lock(query, "update"));
        const [refresh] = found ? [] : yield* execute(refreshToken(orm, hash));
        const token = found ?? refresh;
        if (!token) return "unknown";
        if (token.applicationId !== applicationId) return "foreign";
        if (refresh) return { ended: refresh.familyId };
        yield* execute(orm.delete(tokens).where(isIt));
        return "revoked";
      });
      if (typeof settled === "string") return settled;
      await endFamily(settled.ended, hash);
      return "revoked";
    },
    async ofApplication(applicationId, now, limit) {
      const found = await db.orm
        .select(listed)
        .from(tokens)
        .leftJoin(users, eq(users.id, tokens.user_id))
        .where(and(eq(tokens.application_id, applicationId), gt(tokens.expires_at, now)))
        .orderBy(tokens.expires_at, tokens.hash)
        .limit(limit);
      return found.map(({ hash, familyId, scopes, ...token }) => ({
        ...token,
        id: tokenId(hash),
        isOfPortal: familyId === sessionFamily(applicationId),
        scopes: scopesNamed(scopes),
      }));
    },
    async removeById(applicationId, id) {
      const filled = (rest: string) => Buffer.from(id.padEnd(64, rest), "hex");
      const hasId = between(tokens.hash, filled("00"), filled("ff"));
      const isIt = and(eq(tokens.application_id, applicationId), hasId);
      const [found] = await db.orm
        .select({ hash: tokens.hash, familyId: tokens.family_id, userId: tokens.user_id })
        .from(tokens)
        .where(isIt)
        .limit(1);
      if (!found) return false;
      // A session of the portal ends alone; the others of its family are sessions of other browsers.
      if (found.userId !== null && found.familyId !== null) {
        await endFamily(found.familyId, found.hash);
        return true;
      }
      const removed = await db.transact(function* (orm) {
        const removal = orm.delete(tokens).where(eq(tokens.hash, found.hash));
        const returned = removal.returning({ at: tokens.expires_at });
        return yield* execute(returned);
      });
      return removed.length > 0;
    },
    async noteUses(uses) {
      // Always in the same order, so that two processes cannot deadlock.
      const inOrder = [...uses].sort((a, b) => Buffer.compare(a.hash, b.hash));
      for (let i = 0; i < inOrder.length; i += usesAtOnce) {
        await db.transact(function* (orm) {
          for (const { hash, at } of inOrder.slice(i, i + usesAtOnce)) {
            const isUsed = eq(tokens.hash, Buffer.from(hash));
            yield* execute(orm.update(tokens).set({ last_used_at: at }).where(isUsed));
          }
        });
      }
    },
    async removeOfApplication(applicationId) {
      const count = await removeMostOfApplication(db, applicationId);
      const others = await db.transact(function* (orm) {
        // This lock waits for exchanges of a code or token in progress, so that their new tokens are removed as well.
        yield* lockOwner(db, orm, applications, applicationId, "update");
        for (const table of [refreshTokens, authorizationCodes]) {
          yield* execute(orm.delete(table).where(eq(table.application_id, applicationId)));
        }
        const removed = orm.delete(tokens).where(eq(tokens.application_id, applicationId));
        return (yield* execute(removed.returning({ at: tokens.expires_at }))).length;
      });
      return count + others;
    },
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
          if (!(yield* lockOwner(db, orm, table, id, "key share"))) throw error();
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
  const { orm, tables, transact, prepared } = db;
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
        yield* lockOwner(db, orm, applications, applicationId, "key share");
        yield* lockOwner(db, orm, users, userId, "update");
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
