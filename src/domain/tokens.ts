import { DomainError } from "./errors.ts";
import { day, hour, minute, second } from "./time.ts";

export const scopes = ["users:read", "events:subscribe"] as const;
export type Scope = (typeof scopes)[number];

/** Alternative spellings of a scope. */
const aliases = { "user:read": "users:read" } as const satisfies Readonly<Record<string, Scope>>;

/** A scope as applications may spell it. It is stored and answered as spelled, for libraries that compare it. */
export type ScopeName = Scope | keyof typeof aliases;

/** How long a token of an application itself is valid. */
export const appTokenLifetimeMs = 60 * day;
/**
 * The number of an application's newest tokens of its own that stay valid. It bounds programs that request a token
 * for each call.
 */
export const appTokensKept = 1_000;
/** How long an access token of a user is valid. */
export const userTokenLifetimeMs = 2 * hour;
/** How long an unused refresh token is valid. */
export const refreshTokenLifetimeMs = 30 * day;
/** How long an authorization code is valid. */
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
export interface RequestedGrant extends Omit<Grant, "scopes"> {
  readonly scopes: readonly ScopeName[];
}

/** A grant whose access token is made now. */
interface NewGrant extends RequestedGrant {
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
}

/** The grant of a stored access token. */
interface StoredGrant extends Grant {
  /** A use that is at most an hour older than the last use; null before the first. */
  readonly lastUsedAt: number | null;
}

/** An access token, without the token itself. */
interface ListedToken extends StoredGrant {
  /** Identifies the token among those of its application; see `tokenId`. */
  readonly id: string;
  /** null for a token without a user. */
  readonly username: string | null;
  /** Whether it is a session of the portal. */
  readonly isOfPortal: boolean;
  readonly createdAt: number;
}

const tokenIdBytes = 12;

/** The id of a token: the first bytes of its hash, from which the token cannot be found. */
export function tokenId(hash: Uint8Array): string {
  return Buffer.from(hash.subarray(0, tokenIdBytes)).toString("hex");
}

/** The form of `tokenId`. */
export const tokenIdPattern = `^[0-9a-f]{${2 * tokenIdBytes}}$`;

/** How long after a noted use of a token the next use is noted. */
export const tokenUseMs = hour;

/** Parses a scope parameter (RFC 6749, section 3.3) without repetitions; null when a scope is unknown. */
export function parseScopeNames(text: string): readonly ScopeName[] | null {
  const words = new Set(text.split(" ").filter((part) => part !== ""));
  const names = [...words].filter(isScopeName);
  return names.length === words.size ? names : null;
}

/** Parses a scope parameter into scopes without repetitions; null when a scope is unknown. */
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

/** What the secrets of each kind are for, by their prefix. */
const purposes = {
  onair_at_: "an access token, for the public API",
  onair_rt_: "a refresh token, which POST /oauth/token exchanges for an access token",
  onair_cs_: "a client secret, which POST /oauth/token exchanges for an access token",
  onair_admin_: "an operator key, for the admin API and the console",
  whsec_: "a webhook secret, with which a receiver verifies deliveries",
} as const;

/**
 * Says what a refused secret is for, because the kinds are easily mixed up; null for one of the expected kind, and for
 * one of no known kind.
 * @param needed what is needed in its place, as a sentence
 */
export function mistakenSecret(
  secret: string,
  expected: keyof typeof purposes,
  needed: string,
): string | null {
  const found = Object.entries(purposes).find(([prefix]) => secret.startsWith(prefix));
  return found && found[0] !== expected ? `This is ${found[1]}; ${needed}` : null;
}

/** The stored hash of a secret. Plain SHA-256 suffices for 256 random bits. */
export function secretHash(secret: string): Buffer {
  return Bun.CryptoHasher.hash("sha256", secret);
}

/** Access tokens, refresh tokens and authorization codes, identified by the hashes of their secrets. */
export interface TokenStore {
  /**
   * Stores a new access token. An application keeps only its newest `appTokensKept` tokens without a user. Resolves to
   * whether older ones were removed.
   *
   * @param familyId the family that the token is revoked with; see `sessionFamily`
   */
  create(hash: Uint8Array, grant: NewGrant, familyId?: string): Promise<boolean>;
  find(hash: Uint8Array): Promise<StoredGrant | null>;
  /** Stores the last uses of tokens, in milliseconds since the epoch. */
  noteUses(uses: readonly TokenUse[]): Promise<void>;
  /**
   * A valid access or refresh token; null for any other. A refresh token stays valid for a grace period after its use.
   */
  inspect(hash: Uint8Array, now: number): Promise<TokenRecord | null>;
  /** Exchanges an authorization code for the first tokens of its family. */
  redeemCode(
    hash: Uint8Array,
    presented: CodePresentation,
    tokens: NewTokens,
    now: number,
  ): Promise<Exchanged>;
  /**
   * Exchanges a refresh token for new tokens. The first exchange of a token ends the grace of its parent, and its
   * siblings with their access tokens. `scopes` are those of the access token; null for all of the refresh token.
   */
  refresh(
    hash: Uint8Array,
    wanted: { readonly applicationId: string; readonly scopes: readonly ScopeName[] | null },
    tokens: NewTokens,
    now: number,
  ): Promise<Exchanged>;
  /** Revokes an access token, or a refresh token and its family. `foreign`: the token is another application's. */
  revoke(hash: Uint8Array, applicationId: string): Promise<"revoked" | "unknown" | "foreign">;
  /** The valid access tokens of an application, ordered by expiry. */
  ofApplication(applicationId: string, now: number, limit: number): Promise<ListedToken[]>;
  /**
   * Revokes the access token of an application with this `tokenId`. That of a user is revoked with all tokens of the
   * same sign-in. Resolves to whether there was one.
   */
  removeById(applicationId: string, id: string): Promise<boolean>;
  /**
   * Removes the access tokens, refresh tokens and codes of an application. Resolves to the number of access tokens.
   * There may be very many, so this takes several transactions, refresh tokens first because they could get new access
   * tokens. If it is interrupted, the remaining tokens stay valid until it is called again.
   */
  removeOfApplication(applicationId: string): Promise<number>;
  /** Removes some expired tokens, codes and login requests. Resolves to true when none is left. */
  removeExpired(now: number): Promise<boolean>;
}

/** A use of an access token. */
export interface TokenUse {
  readonly hash: Uint8Array;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** Hashes of the tokens that a client gets for a code or a refresh token. */
export interface NewTokens {
  readonly accessHash: Uint8Array;
  readonly refreshHash: Uint8Array;
}

/**
 * The result of an exchange. Reasons for a refusal: the code or token is `invalid`; it was used before (`reused`), and
 * its family is now revoked; it does not have all of the wanted scopes (`exceeded`); its family was refreshed too often
 * (`limited`), and the token stays valid.
 */
export type Exchanged =
  /** `endedOthers`: other access tokens are revoked. */
  | { readonly grant: RequestedGrant; readonly endedOthers: boolean }
  | { readonly refused: "invalid" | "reused" | "exceeded" }
  | { readonly refused: "limited"; readonly retryAfterMs: number };

/** A valid token with its kind. */
export interface TokenRecord extends RequestedGrant {
  readonly kind: "access_token" | "refresh_token";
}

/** A login in progress: the browser is at the platform's login and consent page. */
export interface LoginRequest {
  readonly applicationId: string;
  readonly redirectUri: string;
  readonly scopes: readonly ScopeName[];
  readonly state: string | null;
  /** PKCE with S256 (RFC 7636, section 4.2). */
  readonly codeChallenge: string;
  /** Hash of the secret in the cookie by which the browser is recognized when it returns. */
  readonly browserHash: Uint8Array;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

export const loginLimits = {
  maxStateBytes: 2048,
  /** In characters: state and redirect URI of up to 2,048 bytes each and some 250 other bytes, in base64. */
  maxChallengeLength: 6000,
} as const;

/** Errors with which the platform may reject a login request (RFC 6749, section 4.1.2.1). */
export const rejections = ["access_denied", "temporarily_unavailable", "server_error"] as const;

/** The platform's answer: the user and the granted scopes, or an error. */
export type LoginAnswer =
  | { readonly userId: number; readonly scopes: readonly Scope[]; readonly remember: boolean }
  | { readonly error: (typeof rejections)[number]; readonly errorDescription: string | null };

/** The error for a challenge that is not valid, has expired, or whose application is removed. */
export const noLoginRequest = () =>
  new DomainError("not_found", "There is no login request with this challenge, or it has expired");

/** The error for a login request that has an answer. */
export const loginAnswered = () =>
  new DomainError("conflict", "This login request has already been accepted or rejected");

/** The stored consent of a user, which later requests of the application reuse. */
interface Consent {
  readonly application_id: string;
  readonly application_name: string;
  readonly scopes: readonly Scope[];
  readonly created_at: string;
  readonly updated_at: string;
}

/** A stored authorization code. */
interface AuthorizationCode {
  readonly applicationId: string;
  readonly redirectUri: string;
  readonly codeChallenge: string;
  readonly expiresAt: number;
  readonly usedAt: number | null;
}

/** The parameters that a client sends with a code. */
interface CodePresentation {
  readonly applicationId: string;
  /** null when absent. */
  readonly redirectUri: string | null;
  readonly codeVerifier: string;
}

/**
 * Whether a code may be exchanged. `reused` requires that all else in the request is valid: only then are the code's
 * tokens revoked (RFC 6749, section 4.1.2), so that a stolen code without its verifier revokes nothing.
 */
export function judgeCode(
  code: AuthorizationCode | null,
  presented: CodePresentation,
  now: number,
): "good" | "invalid" | "reused" {
  if (!code || code.applicationId !== presented.applicationId || code.expiresAt <= now) return "invalid";
  // OAuth 2.1 needs no redirect_uri here; a given one must be that of the authorization request (RFC 6749, section
  // 4.1.3).
  if (presented.redirectUri !== null && presented.redirectUri !== code.redirectUri) return "invalid";
  if (!isCodeVerifier(presented.codeVerifier)) return "invalid";
  if (codeChallenge(presented.codeVerifier) !== code.codeChallenge) return "invalid";
  return code.usedAt === null ? "good" : "reused";
}

/** Whether a verifier is long enough to resist guessing from its challenge (RFC 7636, section 4.1). */
export function isCodeVerifier(text: string): boolean {
  return text.length >= 43 && text.length <= 128 && !/[^A-Za-z0-9\-._~]/.test(text);
}

/** The S256 challenge of a verifier (RFC 7636, section 4.2). */
export function codeChallenge(verifier: string): string {
  return new Bun.CryptoHasher("sha256").update(verifier).digest("base64url");
}

/** A stored refresh token. */
interface RefreshToken {
  readonly applicationId: string;
  readonly scopes: readonly ScopeName[];
  readonly expiresAt: number;
  /** When it was first used, and so replaced; `graceEnded` for a token that must not be used. */
  readonly rotatedAt: number | null;
}

/**
 * The `rotatedAt` that leaves no grace. When the first child of a refresh token is itself exchanged, that token and its
 * other children get it: from then on, they are only in the hands of a thief, or of the client while a thief has used
 * the child.
 */
export const graceEnded = 0;

/** Whether a refresh token may be used. `reused`: used after its grace has ended, so it may be stolen. */
export function judgeRefresh(
  token: RefreshToken | null,
  applicationId: string,
  now: number,
): "good" | "invalid" | "reused" {
  if (!token || token.applicationId !== applicationId || token.expiresAt <= now) return "invalid";
  return token.rotatedAt === null || now - token.rotatedAt < refreshGraceMs ? "good" : "reused";
}

/**
 * Sign-ins that the platform has answered. Before that, a sign-in is only in its challenge. A row is kept until its
 * challenge expires, so that each challenge is answered once.
 */
export interface LoginRequestStore {
  /** Whether a challenge has an answer. */
  isAnswered(challengeHash: Uint8Array): Promise<boolean>;
  /**
   * Stores a request with the platform's answer. Rejects with `conflict` when the challenge has an answer, with
   * `not_found` when the application does not exist, and with `invalid_parameter` when the user does not exist.
   */
  answer(
    request: LoginRequest,
    answer: LoginAnswer,
    hashes: { readonly challenge: Uint8Array; readonly verifier: Uint8Array },
  ): Promise<void>;
  /**
   * Returns the request of a verifier, once and only to its own browser; null to any other. If the user consented, this
   * stores an authorization code with `codeHash`, and the consent if it is to be remembered.
   *
   * @param browserHashes the hashes of the browser's cookies
   */
  redeem(
    verifierHash: Uint8Array,
    browserHashes: readonly Uint8Array[],
    codeHash: Uint8Array,
    now: number,
  ): Promise<AnsweredLogin | null>;
}

/** A login request with the platform's answer. */
export interface AnsweredLogin extends Omit<LoginRequest, "browserHash" | "expiresAt"> {
  readonly answer: LoginAnswer;
}

/** The scopes that users have granted to applications. */
export interface ConsentStore {
  ofUser(userId: number): Promise<Consent[]>;
  /**
   * Ends everything that the application has been granted by the user: consent, codes, tokens and subscriptions.
   * Resolves to the ids of the subscriptions.
   */
  revoke(userId: number, applicationId: string, now: number): Promise<string[]>;
}
