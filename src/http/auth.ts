import type { Application } from "../domain/applications.ts";
import { DomainError } from "../domain/errors.ts";
import { minute } from "../domain/time.ts";
import { type Grant, type Scope, secretHash } from "../domain/tokens.ts";
import type { Store } from "../store/store.ts";
import { Changes } from "./changes.ts";
import { type Asked, clientNetworkOf, type Exchange } from "./exchange.ts";
import type { PlatformJwtReader } from "./platform-jwt.ts";
import type { Budget, RateLimiter } from "./rate-limit.ts";

/** The token of an `Authorization: Bearer …` header (RFC 6750, section 2.1), null without that scheme. */
export function bearerToken(request: Asked): string | null {
  const header = request.headers.get("authorization");
  if (header === null || header.charCodeAt(6) !== 0x20) return null;
  // The usual spelling first: the comparison without regard to case takes a tenth of a microsecond.
  const isBearer = header.startsWith("Bearer") || header.slice(0, 6).toLowerCase() === "bearer";
  return isBearer ? header.slice(7).trim() : null;
}

/** The hash under which the token of an admitted request is kept; null for a JWT of the platform, which is not. */
export function keptTokenOf({ grant, request }: Exchange): Uint8Array | null {
  const token = bearerToken(request);
  return grant === null || grant.isJwt || token === null ? null : secretHash(token);
}

/** A caller whose token was good. */
export interface Caller {
  readonly grant: Grant;
  readonly application: Application;
}

const maxCached = 50_000;

/** A caller as of a count of changes. */
interface Remembered {
  readonly digest: Uint32Array;
  readonly caller: Caller;
  readonly until: number;
  readonly goodAt: number;
}

/**
 * Callers by the SHA-256 of their token. Its first 53 bits find one and all of it is compared, in constant time; as a
 * string the hash would cost twice as much, most of it for the collector. With every change they are only those who were
 * good once, and have to be looked up again.
 */
class RememberedCallers {
  readonly #callers = new Map<number, Remembered>();
  /** The digest of the token in question. */
  readonly #digest = new Uint32Array(8);
  readonly #bytes = new Uint8Array(this.#digest.buffer);

  constructor(readonly changes: Changes) {}

  /** null also for one that was remembered until an earlier time than `now`, or before a change. */
  get(token: string, now: number): Caller | null {
    const found = this.#find(token);
    return found && found.until > now && found.goodAt === this.changes.count ? found.caller : null;
  }

  /** Whether a token was good, whatever has changed since. */
  has(token: string): boolean {
    return this.#find(token) !== null;
  }

  /** @param goodAt the count of changes before the caller was looked up */
  put(token: string, caller: Caller, until: number, goodAt: number): void {
    if (goodAt !== this.changes.count) return;
    if (this.#callers.size >= maxCached) this.#callers.clear();
    const key = this.#keyOf(token);
    this.#callers.set(key, { digest: this.#digest.slice(), caller, until, goodAt });
  }

  forget(token: string): void {
    this.#callers.delete(this.#keyOf(token));
  }

  #find(token: string): Remembered | null {
    const found = this.#callers.get(this.#keyOf(token));
    if (!found) return null;
    let difference = 0;
    for (let i = 0; i < 8; i++) difference |= (found.digest[i] ?? 0) ^ (this.#digest[i] ?? 0);
    return difference === 0 ? found : null;
  }

  #keyOf(token: string): number {
    Bun.SHA256.hash(token, this.#bytes);
    return (this.#digest[0] ?? 0) * 2 ** 21 + ((this.#digest[1] ?? 0) >>> 11);
  }
}

/** For so long a JWT of the platform is believed without another look at the platform's keys. */
const jwtMemoryMs = minute;

/**
 * Finds out who calls, by a token of ours or, with `readJwt`, of the platform. Good tokens are remembered by their
 * hash, so that neither the token is kept nor the comparison gives its bytes away, until something is noted in `changes`,
 * as `notedStore` does.
 */
export function authenticator(
  store: Pick<Store, "tokens" | "applications">,
  now: () => number,
  readJwt: PlatformJwtReader | null = null,
  changes = new Changes(),
) {
  const known = new RememberedCallers(changes);

  const load = async (token: string): Promise<Caller | null> => {
    const before = changes.count;
    const grant = await store.tokens.find(secretHash(token));
    const application = grant && (await store.applications.find(grant.applicationId));
    const own = grant && application && !application.disabled ? { grant, application } : null;
    const found = own ?? (await readJwt?.(token)) ?? null;
    const caller = found && withinApplication(found);
    if (!caller || caller.grant.expiresAt <= now()) return caller;
    const { expiresAt } = caller.grant;
    // What was revoked while it was looked up is not remembered.
    known.put(token, caller, own ? expiresAt : Math.min(expiresAt, now() + jwtMemoryMs), before);
    return caller;
  };

  return {
    /** The caller of a request whose token is remembered and still good; null: it takes `authenticate` to know. */
    known(request: Asked): Caller | null {
      const token = bearerToken(request);
      return token === null ? null : known.get(token, now());
    },
    /** Whether the token of a request was good the last time, whatever has changed since. */
    wasGood(request: Asked): boolean {
      const token = bearerToken(request);
      return token !== null && known.has(token);
    },
    /** The caller of a request; throws `missing_token` or `invalid_token`. */
    async authenticate(request: Request): Promise<Caller> {
      const token = bearerToken(request);
      if (token === null) {
        throw new DomainError("missing_token", "This needs an access token: Authorization: Bearer <token>");
      }
      const caller = known.get(token, now()) ?? (await load(token));
      if (!caller || caller.grant.expiresAt <= now()) {
        known.forget(token);
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

/** Lets in whoever is within the limit of the address; else throws `rate_limited`. */
export function admitAnyone({ limiter, defaultRateLimit }: Access, exchange: Exchange): void {
  exchange.isAdmitted = true;
  exchange.budget = limiter.take(clientNetworkOf(exchange), defaultRateLimit);
  if (exchange.budget?.allowed === false) throw rateLimited(exchange.budget);
}

/**
 * Lets a request of an application in or throws, in the order 401, 429, 403. A token that was never good here takes from
 * the address before it is looked up, verified, or a key fetched for it; a good one gives that back and takes from its
 * application.
 */
export async function admit(
  access: Access,
  exchange: Exchange,
  request: Request,
  scope: Scope,
): Promise<void> {
  exchange.isAdmitted = true;
  const { limiter, defaultRateLimit } = access;
  const { grant, application } =
    access.authenticator.known(request) ?? (await lookedUp(access, exchange, request));
  exchange.grant = grant;
  exchange.budget = limiter.take(application.id, application.rate_limit ?? defaultRateLimit);
  if (exchange.budget?.allowed === false) throw rateLimited(exchange.budget);
  if (!grant.scopes.includes(scope)) {
    throw new DomainError("insufficient_scope", `This needs a token with the scope ${scope}`, { scope });
  }
}

async function lookedUp(access: Access, exchange: Exchange, request: Request): Promise<Caller> {
  const { authenticator, limiter, defaultRateLimit } = access;
  const wasGood = authenticator.wasGood(request);
  if (!wasGood) admitAnyone(access, exchange);
  try {
    const caller = await authenticator.authenticate(request);
    if (!wasGood) limiter.giveBack(clientNetworkOf(exchange), defaultRateLimit);
    return caller;
  } catch (error) {
    if (wasGood) admitAnyone(access, exchange);
    throw error;
  }
}

export function rateLimited({ retryAfterSeconds }: Budget): DomainError {
  const message = `Too many requests; try again in ${retryAfterSeconds} seconds`;
  return new DomainError("rate_limited", message, { retryAfterSeconds });
}
