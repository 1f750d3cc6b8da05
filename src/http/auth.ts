import { LRUCache } from "lru-cache";
import { DomainError } from "../domain/errors.ts";
import { minute } from "../domain/time.ts";
import { type Scope, secretHash } from "../domain/tokens.ts";
import type { Store } from "../store/store.ts";
import type { Caller } from "./caller.ts";
import { Changes } from "./changes.ts";
import type { PlatformJwtReader } from "./platform-jwt.ts";
import type { RateLimiter, RateLimitState } from "./rate-limit.ts";
import { clientNetworkOf, type RequestContext } from "./request-context.ts";

/**
 * The token of an `Authorization: Bearer …` header (RFC 6750, section 2.1), null without that scheme.
 * @param bearer what `@elysiajs/bearer` found, which takes any scheme that begins with `Bearer`, and no other spelling
 */
export function tokenOf(bearer: string | undefined, authorization: string | undefined): string | null {
  if (authorization === undefined || authorization.charCodeAt(6) !== 0x20) return null;
  if (bearer !== undefined) return bearer.trim();
  // The scheme is compared without regard to case (RFC 9110, section 11.1).
  return /^bearer /i.test(authorization) ? authorization.slice(7).trim() : null;
}

/** Callers that are remembered. */
const mostRemembered = 50_000;

/** For so long a JWT of the platform is believed without another look at the platform's keys. */
const jwtMemoryMs = minute;

interface Remembered {
  readonly caller: Caller;
  /** Remembered until then, in milliseconds since the epoch. */
  readonly until: number;
  /** The count of changes before the caller was looked up. */
  readonly goodAt: number;
}

const keyOf = (hash: Uint8Array) => hash.toBase64();

/**
 * Finds out who calls, by a token of ours or, with `readJwt`, of the platform. Good tokens are remembered by their
 * SHA-256, so that no token is kept and a comparison gives nothing of one away, until something is noted in `changes`,
 * as `notedStore` does.
 */
export function authenticator(
  store: Pick<Store, "tokens" | "applications">,
  now: () => number,
  readJwt: PlatformJwtReader | null = null,
  changes = new Changes(),
) {
  const remembered = new LRUCache<string, Remembered>({ max: mostRemembered });

  const known = (hash: Uint8Array): Caller | null => {
    const found = remembered.get(keyOf(hash));
    return found && found.until > now() && found.goodAt === changes.count ? found.caller : null;
  };

  const load = async (token: string, hash: Uint8Array): Promise<Caller | null> => {
    const goodAt = changes.count;
    const grant = await store.tokens.find(hash);
    const application = grant && (await store.applications.find(grant.applicationId));
    const own = grant && application && !application.disabled ? { grant, application } : null;
    const found = own ?? (await readJwt?.(token)) ?? null;
    if (!found || found.grant.expiresAt <= now()) return null;
    const caller = withinApplication(found, found.grant.isJwt ? null : hash);
    const { expiresAt } = found.grant;
    const until = own ? expiresAt : Math.min(expiresAt, now() + jwtMemoryMs);
    // A token that was revoked during the look-up is not remembered.
    if (goodAt === changes.count) remembered.set(keyOf(hash), { caller, until, goodAt });
    return caller;
  };

  return {
    /** The caller with a token that is remembered and still good; null: it takes `authenticate` to know. */
    known: (token: string): Caller | null => known(secretHash(token)),
    /** Whether a token was good the last time, whatever has changed since. */
    wasGood: (token: string): boolean => remembered.has(keyOf(secretHash(token))),
    /** The caller with a token; throws `invalid_token`. */
    async authenticate(token: string): Promise<Caller> {
      const hash = secretHash(token);
      const caller = known(hash) ?? (await load(token, hash));
      if (caller) return caller;
      remembered.delete(keyOf(hash));
      throw new DomainError("invalid_token", "The access token is unknown, revoked or expired");
    },
    /** How many changes were noted: callers that were found good before one may be so no more. */
    get changeCount(): number {
      return changes.count;
    },
  };
}

export type Authenticator = ReturnType<typeof authenticator>;

/** What was taken from the application is taken from its tokens, too. */
function withinApplication(
  { grant, application }: Omit<Caller, "tokenHash">,
  tokenHash: Uint8Array | null,
): Caller {
  const scopes = grant.scopes.filter((scope) => application.scopes.includes(scope));
  return { grant: { ...grant, scopes }, application, tokenHash };
}

/** The gate in front of the routes of the public API. */
export interface Access {
  readonly authenticator: Authenticator;
  readonly limiter: RateLimiter;
  /** Requests a minute for each application that has no limit of its own, and for each address (IPv6: /64); 0 is no limit. */
  readonly defaultRateLimit: number;
}

/** Admits a request that is within the limit of its address; else throws `rate_limited`. */
export function admitAnyone({ limiter, defaultRateLimit }: Access, requestContext: RequestContext): void {
  requestContext.isAdmitted = true;
  requestContext.rateLimit = limiter.take(clientNetworkOf(requestContext), defaultRateLimit);
  if (requestContext.rateLimit?.allowed === false) throw rateLimited(requestContext.rateLimit);
}

/**
 * Admits a request of an application or throws, in the order 401, 429, 403. A token that was never good here takes from
 * the address before it is looked up, verified, or a key fetched for it; a good one gives that back and takes from its
 * application.
 */
export async function admit(
  access: Access,
  requestContext: RequestContext,
  token: string | null,
  scope: Scope,
): Promise<Caller> {
  if (token === null) {
    admitAnyone(access, requestContext);
    throw new DomainError("missing_token", "This needs an access token: Authorization: Bearer <token>");
  }
  const { limiter, defaultRateLimit } = access;
  const caller = access.authenticator.known(token) ?? (await lookedUp(access, requestContext, token));
  const { grant, application } = caller;
  requestContext.isAdmitted = true;
  requestContext.grant = grant;
  requestContext.rateLimit = limiter.take(application.id, application.rate_limit ?? defaultRateLimit);
  if (requestContext.rateLimit?.allowed === false) throw rateLimited(requestContext.rateLimit);
  if (!grant.scopes.includes(scope)) {
    throw new DomainError("insufficient_scope", `This needs a token with the scope ${scope}`, { scope });
  }
  return caller;
}

async function lookedUp(access: Access, requestContext: RequestContext, token: string): Promise<Caller> {
  const { authenticator, limiter, defaultRateLimit } = access;
  const wasGood = authenticator.wasGood(token);
  if (!wasGood) admitAnyone(access, requestContext);
  try {
    const caller = await authenticator.authenticate(token);
    if (!wasGood) limiter.giveBack(clientNetworkOf(requestContext), defaultRateLimit);
    return caller;
  } catch (error) {
    if (wasGood) admitAnyone(access, requestContext);
    throw error;
  }
}

export function rateLimited({ retryAfterSeconds }: RateLimitState): DomainError {
  const message = `Too many requests; try again in ${retryAfterSeconds} seconds`;
  return new DomainError("rate_limited", message, { retryAfterSeconds });
}
