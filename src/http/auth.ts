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

/** A caller whose token was good. */
export interface Caller {
  readonly grant: Grant;
  readonly application: Application;
}

const maxCached = 50_000;

/**
 * Callers by the SHA-256 of their token. Its first 53 bits find one and all of it is compared, in constant time; as a
 * string the hash would cost twice as much, most of it for the collector. All are forgotten with every change.
 */
class RememberedCallers {
  /** The count of changes up to which they were good. */
  #goodAt = 0;
  readonly #callers = new Map<number, { readonly digest: Uint32Array; caller: Caller; until: number }>();
  /** The digest of the token in question. */
  readonly #digest = new Uint32Array(8);
  readonly #bytes = new Uint8Array(this.#digest.buffer);

  constructor(readonly changes: Changes) {}

  /** null also for one that was remembered until an earlier time than `now`. */
  get(token: string, now: number): Caller | null {
    const { count } = this.changes;
    if (count !== this.#goodAt) {
      this.#callers.clear();
      this.#goodAt = count;
    }
    const found = this.#callers.get(this.#keyOf(token));
    if (!found || found.until <= now) return null;
    let difference = 0;
    for (let i = 0; i < 8; i++) difference |= (found.digest[i] ?? 0) ^ (this.#digest[i] ?? 0);
    return difference === 0 ? found.caller : null;
  }

  /** @param loadedAt the count of changes before the caller was looked up */
  put(token: string, caller: Caller, until: number, loadedAt: number): void {
    if (loadedAt !== this.#goodAt) return;
    if (this.#callers.size >= maxCached) this.#callers.clear();
    const key = this.#keyOf(token);
    this.#callers.set(key, { digest: this.#digest.slice(), caller, until });
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
    /** The caller of a request; throws `missing_token` or `invalid_token`. */
    async authenticate(request: Request): Promise<Caller> {
      const token = bearerToken(request);
      if (token === null) {
        throw new DomainError("missing_token", "This needs an access token: Authorization: Bearer <token>");
      }
      const caller = known.get(token, now()) ?? (await load(token));
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
