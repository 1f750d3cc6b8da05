import { bearer } from "@elysiajs/bearer";
import { LRUCache } from "lru-cache";
import { DomainError } from "../../domain/errors.ts";
import type { Share } from "../../domain/replicas.ts";
import type { Store } from "../../domain/store.ts";
import { minute, second } from "../../domain/time.ts";
import { mistakenSecret, type Scope, secretHash, type TokenUse, tokenUseMs } from "../../domain/tokens.ts";
import { type Caller, clientNetworkOf, type RateLimitState, type RequestContext } from "./context.ts";
import type { PlatformJwtReader } from "./platform-jwt.ts";

/*
 * Access to the public API: the caller of a token, what a route requires of the caller, and rate limits.
 */

/** A name that no caller can send. */
const unguessable = crypto.randomUUID();

/** The bearer plugin, limited to the header: a token in a URL or a body may be logged (RFC 6750, section 5.3). */
export const headerBearer = () =>
  bearer({ extract: { header: "Bearer", query: unguessable, body: unguessable } });

/**
 * Returns the token of an `Authorization: Bearer …` header (RFC 6750, section 2.1); null for other schemes.
 * @param bearer the result of `@elysiajs/bearer`, which accepts any scheme that begins with `Bearer` in exactly this
 * case
 */
export function tokenOf(bearer: string | undefined, authorization: string | undefined): string | null {
  if (authorization === undefined || authorization.charCodeAt(6) !== 0x20) return null;
  if (bearer !== undefined) return bearer.trim();
  // The scheme is compared without regard to case (RFC 9110, section 11.1).
  return /^bearer /i.test(authorization) ? authorization.slice(7).trim() : null;
}

/** Whether a request has a bearer token, as opposed to credentials for a proxy, such as Basic. */
export function hasBearer({ headers }: Request): boolean {
  return tokenOf(undefined, headers.get("authorization") ?? undefined) !== null;
}

/** The size of the cache of callers. */
const maxCachedCallers = 50_000;

/** How long a verified JWT of the platform is cached. */
const jwtCacheMs = minute;

interface CacheEntry {
  readonly caller: Caller;
  /** When the entry expires, in milliseconds since the epoch. */
  readonly expiresAt: number;
  /** `changes.count` before the caller was read; the entry is valid until the count changes. */
  readonly validAt: number;
  /** When a use of the token is noted again. */
  noteAt: number;
}

/** How long uses of tokens are gathered before they are stored. */
const gatherUsesMs = second;

/** When the next use of a token is noted. @param lastUsedAt the stored use */
const nextUse = (lastUsedAt: number | null | undefined): number => (lastUsedAt ?? -tokenUseMs) + tokenUseMs;

const keyOf = (token: string) => Bun.CryptoHasher.hash("sha256", token, "base64");

/**
 * Authenticates callers by On Air's own tokens or, with `readJwt`, by those of the platform. Valid tokens are cached by
 * their SHA-256: no token is kept in memory, and the comparison has no timing side channel. Every change that is noted
 * in `changes` invalidates the cache.
 */
export function authenticator(
  store: Pick<Store, "tokens" | "applications">,
  now: () => number,
  readJwt: PlatformJwtReader | null = null,
  changes = new Changes(),
) {
  const cache = new LRUCache<string, CacheEntry>({ max: maxCachedCallers });

  let uses: TokenUse[] = [];
  let timer: Timer | null = null;
  let storing = Promise.resolve();
  /** Stores the noted uses, and resolves when they are stored. */
  const storeUses = (): Promise<void> => {
    if (timer) clearTimeout(timer);
    timer = null;
    const gathered = uses;
    uses = [];
    // A failed write, as on a full disk, must not fail a request. The next use is noted an hour later.
    if (gathered.length > 0) storing = storing.then(() => store.tokens.noteUses(gathered)).catch(() => {});
    return storing;
  };
  const noteUse = (hash: Uint8Array | null, at: number): void => {
    if (hash === null) return;
    uses.push({ hash, at });
    timer ??= setTimeout(() => void storeUses(), gatherUsesMs).unref();
  };
  /** Notes a use of the caller's token, at most once an hour. */
  const use = (entry: CacheEntry, at: number): void => {
    if (entry.noteAt > at) return;
    entry.noteAt = at + tokenUseMs;
    noteUse(entry.caller.tokenHash, at);
  };

  const known = (key: string): Caller | null => {
    const found = cache.get(key);
    if (!found) return null;
    const at = now();
    if (found.expiresAt <= at || found.validAt !== changes.count) return null;
    use(found, at);
    return found.caller;
  };

  const load = async (token: string, key: string): Promise<Caller | null> => {
    const validAt = changes.count;
    const hash = secretHash(token);
    const grant = await store.tokens.find(hash);
    const application = grant && (await store.applications.find(grant.applicationId));
    const own = grant && application && !application.disabled ? { grant, application } : null;
    const found = own ?? (await readJwt?.(token)) ?? null;
    if (!found || found.grant.expiresAt <= now()) return null;
    const caller = withinApplication(found, found.grant.isJwt ? null : hash);
    const { expiresAt } = found.grant;
    const cachedUntil = own ? expiresAt : Math.min(expiresAt, now() + jwtCacheMs);
    // If a change was noted while the caller was read, the entry is already outdated, and the next request reads it
    // again.
    const noteAt = Math.max(nextUse(grant?.lastUsedAt), cache.peek(key)?.noteAt ?? 0);
    const entry = { caller, expiresAt: cachedUntil, validAt, noteAt };
    cache.set(key, entry);
    use(entry, now());
    return caller;
  };

  return {
    /** Returns the cached caller of a token; null if `authenticate` must read it from the store. */
    known: (token: string): Caller | null => known(keyOf(token)),
    /** Whether the token was valid when it was last authenticated, regardless of later changes. */
    wasValid: (token: string): boolean => cache.has(keyOf(token)),
    /** Returns the caller of a token. Throws `invalid_token`. */
    async authenticate(token: string): Promise<Caller> {
      const key = keyOf(token);
      const caller = known(key) ?? (await load(token, key));
      if (caller) return caller;
      cache.delete(key);
      const mistaken = mistakenSecret(token, "onair_at_", "the public API needs an access token");
      throw new DomainError("invalid_token", mistaken ?? "The access token is unknown, revoked or expired");
    },
    /** Stores the last uses of tokens. Called before the store is closed. */
    storeUses,
    /** Resolves to whether an authenticated caller is still valid. Used by long-lived streams. */
    async isInForce({ grant, application, tokenHash }: Caller): Promise<boolean> {
      const at = now();
      if (grant.expiresAt <= at) return false;
      const current = await store.applications.find(application.id);
      if (!current || current.disabled) return false;
      if (tokenHash === null) return true;
      const stored = await store.tokens.find(tokenHash);
      if (stored && nextUse(stored.lastUsedAt) <= at) noteUse(tokenHash, at);
      return stored !== null;
    },
    /** The number of changes so far. A caller that was found before a change may no longer be valid. */
    get changeCount(): number {
      return changes.count;
    },
  };
}

export type Authenticator = ReturnType<typeof authenticator>;

/** Limits a grant to the scopes that its application still has. */
function withinApplication(
  { grant, application }: Omit<Caller, "tokenHash">,
  tokenHash: Uint8Array | null,
): Caller {
  const scopes = grant.scopes.filter((scope) => application.scopes.includes(scope));
  return { grant: { ...grant, scopes }, application, tokenHash };
}

/** Counts changes, so that a cache can tell whether an entry is older than the last change. */
export class Changes {
  #count = 0;
  /** The time until which cached data may be used, by `performance.now()`. */
  #usableUntil = Number.POSITIVE_INFINITY;

  /** Called after a change is stored and before it is acknowledged. */
  note(): void {
    this.#count++;
  }

  /** Allows caches to be used until `time`. Called regularly while notifications of other replicas arrive. */
  useUntil(time: number): void {
    this.#usableUntil = time;
  }

  /** Whether the changes of other replicas are known. */
  get isCurrent(): boolean {
    return this.#usableUntil === Number.POSITIVE_INFINITY || performance.now() <= this.#usableUntil;
  }

  /**
   * The number of calls of `note`. While the changes of other replicas are not known, it differs on each call, so that
   * no cache entry is valid.
   */
  get count(): number {
    if (!this.isCurrent) this.#count++;
    return this.#count;
  }
}

/** A check of the caller by a route. Throws `insufficient_scope`. */
export type Requirement = (caller: Caller) => void;

/** Requires a token with a scope. */
export function needsScope(scope: Scope): Requirement {
  return (caller) => {
    if (!caller.grant.scopes.includes(scope)) throw missingScopes([scope]);
  };
}

/** Requires an application that uses the event stream. Also throws `stream_disabled`. */
export function needsStream(caller: Caller): void {
  needsScope("events:subscribe")(caller);
  if (caller.application.delivery !== "webhook") return;
  const message =
    "This application receives events only by webhook; set its delivery to stream or both with PATCH /public/v1/application";
  throw new DomainError("stream_disabled", message);
}

/** Requires a token of a user, with any scopes. */
export function needsUser({ grant }: Caller): void {
  if (grant.userId !== null) return;
  const message =
    "This needs a token of a user who has signed in; this one belongs to the application itself";
  throw new DomainError("insufficient_scope", message);
}

/** The purpose for which a route requires a token of the application itself. */
export type ApplicationPurpose = "reads" | "reads subscriptions" | "changes";

/**
 * Requires a token of the application itself. Changes require every scope of the application, so that a token with
 * fewer scopes cannot extend its own access. Reading subscriptions also requires `events:subscribe`.
 */
export function needsApplication(purpose: ApplicationPurpose): Requirement {
  return (caller) => {
    const { grant, application } = caller;
    if (grant.userId !== null) {
      const message =
        "This needs a token of the application itself (client_credentials); this one belongs to a user";
      throw new DomainError("insufficient_scope", message);
    }
    const missing = application.scopes.filter((scope) => !grant.scopes.includes(scope));
    if (purpose === "changes" && missing.length > 0) throw missingScopes(application.scopes);
    if (purpose === "reads subscriptions") needsScope("events:subscribe")(caller);
  };
}

function missingScopes(needed: readonly Scope[]): DomainError {
  const [some, scope] = [needed.join(" and "), needed.join(" ")];
  const what = needed.length === 1 ? `the scope ${some}` : `the scopes ${some}`;
  return new DomainError("insufficient_scope", `This needs a token with ${what}`, { scope });
}

/**
 * Throws `rate_limited` if a request exceeds a limit.
 * @param state the result of `take`
 * @param what the limited items, if they are not the requests that the response headers count
 */
export function requireWithinLimit(state: RateLimitState | null, what?: string): void {
  if (state === null || state.allowed) return;
  const { limit, retryAfterSeconds } = state;
  const many = what === undefined ? "requests" : `${what} (at most ${limit} a minute)`;
  const seconds = retryAfterSeconds === 1 ? "1 second" : `${retryAfterSeconds} seconds`;
  throw new DomainError("rate_limited", `Too many ${many}; try again in ${seconds}`, { retryAfterSeconds });
}

/** The key of a bucket, and its requests per minute; 0 means no limit. */
export type LimitedBy = readonly [key: string, limit: number];

interface Bucket {
  /** Requests taken and not yet refilled, so that a changed limit applies from the next request on. */
  taken: number;
  /** The time of the last request, in milliseconds since the epoch. */
  at: number;
  /** The limit at that time; 0 before the first request. */
  limit: number;
}

/**
 * The number of buckets in memory. The least recently used bucket is dropped. A bucket is full
 * again after a minute without requests.
 */
const maxBuckets = 65_536;

/**
 * With replicas, the part of a limit by which their common usage may exceed it before they have reported it to each
 * other. The excess must be refilled before the next request is allowed.
 */
const mostDebt = 0.25;

/** Reports the requests that were counted here to other servers with the same limits. */
export interface UsageReport {
  /** Counts a request, or with -1 a request that was given back. */
  count(key: string, limit: number, requests: 1 | -1): void;
}

/**
 * Token buckets by key: `limit` requests at once, refilled evenly over a minute.
 * @param shares reports the usage to other replicas; null if there are none
 */
export function rateLimiter(now: () => number, shares: UsageReport | null = null) {
  const fullest = shares ? 1 + mostDebt : 1;
  const buckets = new LRUCache<string, Bucket>({ max: maxBuckets });

  /** Returns the bucket of `key`, refilled up to now. */
  const bucketOf = (key: string, limit: number): Bucket => {
    const at = now();
    const known = buckets.get(key);
    const bucket = known ?? { taken: 0, at, limit: 0 };
    if (!known) buckets.set(key, bucket);
    bucket.taken = takenAt(bucket, limit, at);
    bucket.at = at;
    return bucket;
  };

  /** Takes one request from the bucket of `key`. Returns null for a `limit` of 0, which means no limit. */
  const take = (key: string, limit: number): RateLimitState | null => {
    if (limit === 0) return null;
    const perMs = limit / 60_000;
    const bucket = bucketOf(key, limit);
    const most = bucket.limit === limit ? limit * fullest : limit;
    const left = Math.min(most, bucket.taken);
    const allowed = left <= limit - 1;
    const taken = allowed ? left + 1 : left;
    bucket.taken = taken;
    bucket.limit = limit;
    if (allowed) shares?.count(key, limit, 1);
    return {
      allowed,
      limit,
      remaining: Math.max(0, Math.floor(limit - taken)),
      resetSeconds: Math.ceil(taken / perMs / 1000),
      retryAfterSeconds: allowed ? 0 : Math.max(1, Math.ceil((taken + 1 - limit) / perMs / 1000)),
    };
  };

  /** Puts back one request that was taken with the same `key` and `limit`. */
  const giveBack = (key: string, limit: number): void => {
    const bucket = limit === 0 ? undefined : buckets.get(key);
    if (!bucket) return;
    bucket.taken = Math.max(0, bucket.taken - 1);
    shares?.count(key, limit, -1);
  };

  return {
    take,
    giveBack,
    /**
     * Takes one request from each of several buckets, or from none if one of them is empty. Returns the state of the
     * empty one, else of the one with the least left; null if none has a limit.
     */
    takeEach(several: readonly LimitedBy[]): RateLimitState | null {
      let least: RateLimitState | null = null;
      for (const [i, [key, limit]] of several.entries()) {
        const state = take(key, limit);
        if (state === null) continue;
        if (!state.allowed) {
          for (const [taken, ofTaken] of several.slice(0, i)) giveBack(taken, ofTaken);
          return state;
        }
        if (least === null || state.remaining < least.remaining) least = state;
      }
      return least;
    },
    /** Returns the current state of the bucket of `key` without taking from it; null for a `limit` of 0. */
    peek(key: string, limit: number): Pick<RateLimitState, "limit" | "remaining"> | null {
      if (limit === 0) return null;
      const bucket = buckets.peek(key);
      const taken = bucket ? Math.min(limit, takenAt(bucket, limit, now())) : 0;
      return { limit, remaining: Math.floor(limit - taken) };
    },
    /** Counts requests that another replica reported; a negative count gives back. */
    takenByReplica([key, limit, count]: Share): void {
      const bucket = bucketOf(key, limit);
      bucket.taken = Math.min(limit * fullest, Math.max(0, bucket.taken + count));
      bucket.limit = limit;
    },
  };
}

/** Returns the number of requests that are not yet refilled at a time. */
function takenAt({ taken, at: last }: Bucket, limit: number, at: number): number {
  return Math.max(0, taken - Math.max(0, at - last) * (limit / 60_000));
}

export type RateLimiter = ReturnType<typeof rateLimiter>;

/** The dependencies of the public API's access checks. */
export interface Access {
  readonly authenticator: Authenticator;
  readonly limiter: RateLimiter;
  /**
   * Requests per minute for each application without its own limit, and for each address (IPv6: /64); 0 means no
   * limit.
   */
  readonly defaultRateLimit: number;
}

/** Admits a request within the rate limit of its address. Throws `rate_limited`. */
export function admitAnyone({ limiter, defaultRateLimit }: Access, requestContext: RequestContext): void {
  requestContext.isAdmitted = true;
  requestContext.rateLimit = limiter.take(clientNetworkOf(requestContext), defaultRateLimit);
  requireWithinLimit(requestContext.rateLimit);
}

/**
 * Admits a request with a token, or throws in the order 401, 429. A token that is not in the cache is counted against
 * the limit of the address before it is looked up or verified. If it is valid, that is given back, and the request is
 * counted against the limit of its application.
 */
export function admit(
  access: Access,
  requestContext: RequestContext,
  token: string | null,
): Caller | Promise<Caller> {
  if (token === null) {
    admitAnyone(access, requestContext);
    throw new DomainError("missing_token", "This needs an access token: Authorization: Bearer <token>");
  }
  const admitted = (caller: Caller) => {
    admitCaller(access, requestContext, caller);
    return caller;
  };
  const known = access.authenticator.known(token);
  return known ? admitted(known) : findCaller(access, requestContext, token).then(admitted);
}

/**
 * Admits a request to a route that needs no token: with a valid token within the limit of its application, else within
 * that of its address. If the token cannot be looked up, the request counts as a request without a token.
 */
export async function admitWithOrWithout(access: Access, requestContext: RequestContext): Promise<void> {
  const authorization = requestContext.request.headers.get("authorization") ?? undefined;
  const token = tokenOf(undefined, authorization);
  if (token === null) return admitAnyone(access, requestContext);
  const found = access.authenticator.known(token) ?? findCaller(access, requestContext, token);
  const caller = await Promise.resolve(found).catch((error) => {
    if (requestContext.rateLimit?.allowed === false) throw error;
    return null;
  });
  if (caller) admitCaller(access, requestContext, caller);
}

/**
 * Returns the limits by which a request of a caller counts. A user has at most half of the application's limit, so that
 * one of them cannot use it up for the others and the application itself. The portal has a bucket of its own, so that
 * the developer of a busy application can look after it.
 */
function limitsOf(
  { defaultRateLimit }: Access,
  { grant: { userId }, application: { id, rate_limit } }: Caller,
  isFromPortal: boolean,
): readonly LimitedBy[] {
  const limit = rate_limit ?? defaultRateLimit;
  if (isFromPortal) return [[`portal of ${id}`, limit]];
  if (userId === null) return [[id, limit]];
  const share = limit === 0 ? 0 : Math.max(1, Math.floor(limit / 2));
  return [
    [`user ${userId} of ${id}`, share],
    [id, limit],
  ];
}

/** Counts a request against the limits of its caller. Throws `rate_limited`. */
function admitCaller(access: Access, requestContext: RequestContext, caller: Caller): void {
  requestContext.isAdmitted = true;
  requestContext.caller = caller;
  const limits = limitsOf(access, caller, requestContext.isFromPortal);
  requestContext.rateLimit = access.limiter.takeEach(limits);
  requireWithinLimit(requestContext.rateLimit);
}

/** Returns the current caller of a token that was valid before. A refused token counts against the address. */
async function admitAgain(access: Access, requestContext: RequestContext, token: string): Promise<Caller> {
  try {
    return await access.authenticator.authenticate(token);
  } catch (error) {
    admitAnyone(access, requestContext);
    throw error;
  }
}

/**
 * Admits a request again after a change that came while it was read. It takes from the limits as they are now, in place
 * of the former limits, so that the answer shows one state.
 */
export async function admitChanged(
  access: Access,
  requestContext: RequestContext,
  token: string,
): Promise<Caller> {
  const { caller: former, isFromPortal } = requestContext;
  const caller = await admitAgain(access, requestContext, token);
  if (former)
    for (const [key, limit] of limitsOf(access, former, isFromPortal)) access.limiter.giveBack(key, limit);
  admitCaller(access, requestContext, caller);
  return caller;
}

async function findCaller(access: Access, requestContext: RequestContext, token: string): Promise<Caller> {
  const { authenticator, limiter, defaultRateLimit } = access;
  const wasValid = authenticator.wasValid(token);
  if (wasValid) return admitAgain(access, requestContext, token);
  admitAnyone(access, requestContext);
  const caller = await authenticator.authenticate(token);
  limiter.giveBack(clientNetworkOf(requestContext), defaultRateLimit);
  return caller;
}
