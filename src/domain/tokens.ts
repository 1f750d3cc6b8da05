import { day, hour, minute, second } from "./time.ts";

export const scopes = ["users:read", "events:subscribe"] as const;
export type Scope = (typeof scopes)[number];

/** Other spellings that are taken as the same scope. */
const aliases = { "user:read": "users:read" } as const satisfies Readonly<Record<string, Scope>>;

/** A scope as applications may name it. It is kept and answered under the same name, for libraries that compare. */
export type ScopeName = Scope | keyof typeof aliases;

export const appTokenLifetimeMs = 60 * day;
/** So many tokens of an application itself are good, the newest: a program that gets one for each request has no more. */
export const appTokensKept = 1_000;
export const userTokenLifetimeMs = 2 * hour;
export const refreshTokenLifetimeMs = 30 * day;
export const codeLifetimeMs = 10 * minute;
/** For so long the platform may take to log its user in and to ask for consent. */
export const loginLifetimeMs = 30 * minute;
/** For so long a refresh token that was used still works, for programs that lost the answer or refresh twice at once. */
export const refreshGraceMs = 60 * second;

/** Who may do what: an application, on behalf of a user where `userId` is set. */
export interface Grant {
  readonly applicationId: string;
  readonly userId: number | null;
  readonly scopes: readonly Scope[];
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
  /** Of a JWT of the platform, which is not kept here and cannot be revoked. */
  readonly isJwt?: true;
}

/** A grant with its scopes as they were asked for. */
export interface AskedGrant extends Omit<Grant, "scopes"> {
  readonly scopes: readonly ScopeName[];
}

/** Reads a scope parameter (RFC 6749, section 3.3), each name once. null: it names one that does not exist. */
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

/** The scopes that are named, each once. */
export function scopesNamed(names: readonly ScopeName[]): readonly Scope[] {
  return [...new Set(names.map(scopeNamed))];
}

/** Those of the names whose scopes are allowed. */
export function scopesWithin(names: readonly ScopeName[], allowed: readonly Scope[]): readonly ScopeName[] {
  return names.filter((name) => allowed.includes(scopeNamed(name)));
}

/** Access and refresh token, authorization code, login challenge and verifier, browser, client secret, operator key. */
type SecretPrefix = `onair_${"at" | "rt" | "ac" | "lc" | "lv" | "br" | "cs" | "admin"}_`;

/** 256 random bits behind a prefix by which a leaked secret is recognised: `onair_at_…`. */
export function newSecret(prefix: SecretPrefix): string {
  return prefix + Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64url");
}

/** What is kept of a secret. Plain SHA-256 suffices, because the secret has 256 random bits. */
export function secretHash(secret: string): Buffer {
  return new Bun.CryptoHasher("sha256").update(secret).digest();
}
