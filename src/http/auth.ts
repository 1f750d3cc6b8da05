import { LRUCache } from "lru-cache";
import type { Application } from "../domain/applications.ts";
import { DomainError } from "../domain/errors.ts";
import { minute } from "../domain/time.ts";
import { type Grant, type Scope, secretHash } from "../domain/tokens.ts";
import type { Store } from "../store/store.ts";
import { Changes } from "./changes.ts";
import { clientNetworkOf, type Exchange } from "./exchange.ts";
import type { PlatformJwtReader } from "./platform-jwt.ts";
import type { Budget, RateLimiter } from "./rate-limit.ts";

/** The token of an `Authorization: Bearer …` header (RFC 6750, section 2.1), null without that scheme. */
export function bearerToken(request: Request): string | null {
  const header = request.headers.get("authorization");
  if (header === null || header.charCodeAt(6) !== 0x20) return null;
  // The usual spelling first: the comparison without regard to case takes a tenth of a microsecond.
  const isBearer = header.startsWith("Bearer") || header.slice(0, 6).toLowerCase() === "bearer";
  return isBearer ? header.slice(7).trim() : null;
}

/** A caller whose token was good. */
export interface Caller {
  readonly grant: Grant;
  readonly application: Application;
}

/** Callers that are remembered. */
const mostRemembered = 50_000;

/** For so long a JWT of the platform is believed without another look at the platform's keys. */
const jwtMemoryMs = minute;

interface Remembered {
  readonly caller: Caller;
  /** Remembered until then, in milliseconds since the epoch. */
  readonly until: number;
}

/**
 * Finds out who calls, by a token of ours or, with `readJwt`, of the platform. Good tokens are remembered by their
 * SHA-256, so that no token is kept, and a comparison gives nothing of one away, until something is noted in
 * `changes`, as `notedStore` does.
 */
export function authenticator(
  store: Pick<Store, "tokens" | "applications">,
  now: () => number,
  readJwt: PlatformJwtReader | null = null,
  changes = new Changes(),
) {
  const known = new LRUCache<string, Remembered>({ max: mostRemembered });
  /** The count of changes up to which those in `known` were good. */
  let goodAt = 0;

  const remembered = (hash: Uint8Array): Caller | null => {
    if (goodAt !== changes.count) {
      known.clear();
      goodAt = changes.count;
    }
    const found = known.get(keyOf(hash));
    return found && found.until > now() ? found.caller : null;
  };

  const load = async (token: string, hash: Uint8Array): Promise<Caller | null> => {
    const before = changes.count;
    const grant = await store.tokens.find(hash);
    const application = grant && (await store.applications.find(grant.applicationId));
    const own = grant && application && !application.disabled ? { grant, application } : null;
    const found = own ?? (await readJwt?.(token)) ?? null;
    const caller = found && withinApplication(found);
    if (!caller || caller.grant.expiresAt <= now()) return caller;
    const { expiresAt } = caller.grant;
    const until = own ? expiresAt : Math.min(expiresAt, now() + jwtMemoryMs);
    // A token that was revoked during the look-up is not remembered.
    if (goodAt === before && changes.count === before) known.set(keyOf(hash), { caller, until });
    return caller;
  };

  return {
    /** The caller of a request; throws `missing_token` or `invalid_token`. */
    async authenticate(request: Request): Promise<Caller> {
      const token = bearerToken(request);
      if (token === null) {
        throw new DomainError("missing_token", "This needs an access token: Authorization: Bearer <token>");
      }
      const hash = secretHash(token);
      const caller = remembered(hash) ?? (await load(token, hash));
      if (!caller || caller.grant.expiresAt <= now()) {
        throw new DomainError("invalid_token", "The access token is unknown, revoked or expired");
      }
      return caller;
    },
    /** How many changes were noted: callers that were found good before one may be so no more. */
    get changeCount(): number {
      return changes.count;
    },
  };
}

const keyOf = (hash: Uint8Array) => hash.toBase64();

/** What was taken from the application is taken from its tokens, too. */
function withinApplication({ grant, application }: Caller): Caller {
  const scopes = grant.scopes.filter((scope) => application.scopes.includes(scope));
  return { grant: { ...grant, scopes }, application };
}

export type Authenticator = ReturnType<typeof authenticator>;

/** The gate in front of the routes of the public API. */
export interface Access {
  readonly authenticator: Authenticator;
  readonly limiter: RateLimiter;
  /** Requests a minute for each application that has no limit of its own, and for each address (IPv6: /64); 0 is no limit. */
  readonly defaultRateLimit: number;
}

/**
 * Lets a request in or throws, in the order 401, 429, 403. Routes without a scope are open to everyone and limited
 * by address, and so is whoever sends a bad token.
 */
export async function admit(
  access: Access,
  exchange: Exchange,
  request: Request,
  scope: Scope | null,
): Promise<void> {
  const { authenticator, limiter, defaultRateLimit } = access;
  const take = (key: string, limit: number) => {
    exchange.budget = limiter.take(key, limit);
  };
  if (scope === null) take(clientNetworkOf(exchange), defaultRateLimit);
  else {
    try {
      const { grant, application } = await authenticator.authenticate(request);
      exchange.grant = grant;
      take(application.id, application.rate_limit ?? defaultRateLimit);
    } catch (error) {
      take(clientNetworkOf(exchange), defaultRateLimit);
      if (exchange.budget?.allowed !== false) throw error;
    }
  }
  if (exchange.budget?.allowed === false) throw rateLimited(exchange.budget);
  if (scope !== null && !exchange.grant?.scopes.includes(scope)) {
    throw new DomainError("insufficient_scope", `This needs a token with the scope ${scope}`, { scope });
  }
}

export function rateLimited({ retryAfterSeconds }: Budget): DomainError {
  const message = `Too many requests; try again in ${retryAfterSeconds} seconds`;
  return new DomainError("rate_limited", message, { retryAfterSeconds });
}
