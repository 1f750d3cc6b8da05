import { day, hour, minute, second } from "./time.ts";

export const scopes = ["users:read", "events:subscribe"] as const;
export type Scope = (typeof scopes)[number];

/** Alternative spellings of a scope. */
const aliases = { "user:read": "users:read" } as const satisfies Readonly<Record<string, Scope>>;

/** A scope as applications may spell it. It is stored and answered as spelled, for libraries that compare it. */
export type ScopeName = Scope | keyof typeof aliases;

export const appTokenLifetimeMs = 60 * day;
/**
 * The number of an application's own tokens that stay valid, the newest ones. It bounds programs that request a token
 * for each call.
 */
export const appTokensKept = 1_000;
export const userTokenLifetimeMs = 2 * hour;
export const refreshTokenLifetimeMs = 30 * day;
export const codeLifetimeMs = 10 * minute;
/** The time limit of the platform's login and consent. */
export const loginLifetimeMs = 30 * minute;
/** How long a used refresh token still works, for programs that lost the answer or refresh twice at once. */
export const refreshGraceMs = 60 * second;
/**
 * The most refresh tokens per sign-in and hour. Each is stored until it expires, so that its reuse is detected; this
 * limit bounds their number.
 */
export const refreshTokensAnHour = 60;

/** The access that a token gives: an application with scopes, on behalf of a user when `userId` is set. */
export interface Grant {
  readonly applicationId: string;
  readonly userId: number | null;
  readonly scopes: readonly Scope[];
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
  /** Set for a JWT of the platform, which is not stored and cannot be revoked. */
  readonly isJwt?: true;
}

/** A grant with its scopes in the requested spelling. */
export interface AskedGrant extends Omit<Grant, "scopes"> {
  readonly scopes: readonly ScopeName[];
}

/** Parses a scope parameter (RFC 6749, section 3.3) without repetitions; null when a scope is unknown. */
export function parseScopeNames(text: string): readonly ScopeName[] | null {
  const words = new Set(text.split(" ").filter((part) => part !== ""));
  const names = [...words].filter(isScopeName);
  return names.length === words.size ? names : null;
}

/** The same, as scopes. */
export function parseScopes(text: string): readonly Scope[] | null {
  const names = parseScopeNames(text);
  return names && scopesNamed(names);
}

function isAlias(word: string): word is keyof typeof aliases {
  return Object.hasOwn(aliases, word);
}

function isScopeName(word: string): word is ScopeName {
  return scopes.some((scope) => scope === word) || isAlias(word);
}

function scopeNamed(name: ScopeName): Scope {
  return isAlias(name) ? aliases[name] : name;
}

/** The scopes of these names, without repetitions. */
export function scopesNamed(names: readonly ScopeName[]): readonly Scope[] {
  return [...new Set(names.map(scopeNamed))];
}

/** The names whose scopes are in `allowed`. */
export function scopesWithin(names: readonly ScopeName[], allowed: readonly Scope[]): readonly ScopeName[] {
  return names.filter((name) => allowed.includes(scopeNamed(name)));
}

/**
 * The family of an application's sessions of the portal, which end when its client secret is rotated or its owner
 * changes.
 */
export function sessionFamily(applicationId: string): string {
  return `sessions of ${applicationId}`;
}

/**
 * Access and refresh token, authorization code, login verifier, browser, client secret, operator key, session of the
 * console, sign-in to the portal.
 */
type SecretPrefix = `onair_${"at" | "rt" | "ac" | "lv" | "br" | "cs" | "admin" | "os" | "po"}_`;

/** A new secret: 256 random bits after a prefix that identifies a leaked secret: `onair_at_…`. */
export function newSecret(prefix: SecretPrefix): string {
  return prefix + Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64url");
}

/** The stored hash of a secret. Plain SHA-256 suffices for 256 random bits. */
export function secretHash(secret: string): Buffer {
  return Bun.CryptoHasher.hash("sha256", secret);
}
