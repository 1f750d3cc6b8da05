import { refreshGraceMs, type Scope, type ScopeName } from "./tokens.ts";

/** A browser that was sent to the platform to log in and to consent, until it comes back with the answer. */
export interface LoginRequest {
  readonly applicationId: string;
  readonly redirectUri: string;
  readonly scopes: readonly ScopeName[];
  readonly state: string | null;
  /** PKCE with S256 (RFC 7636, section 4.2). */
  readonly codeChallenge: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** What a login request may take, and how many may be open: one can be made with a public `client_id` alone. */
export const loginLimits = {
  maxStateBytes: 2048,
  /** Beyond these limits the oldest end, so that a new login is always possible. */
  openPerApplication: 10_000,
  /** Of an IPv4 address or a /64 of IPv6, with all applications. */
  openPerClient: 1_000,
} as const;

/** Errors that the platform may answer a login request with (RFC 6749, section 4.1.2.1). */
export const rejections = ["access_denied", "temporarily_unavailable", "server_error"] as const;

/** What the platform answered: who logged in and what they allow, or why there is no code. */
export type LoginAnswer =
  | { readonly userId: number; readonly scopes: readonly Scope[]; readonly remember: boolean }
  | { readonly error: (typeof rejections)[number]; readonly errorDescription: string | null };

/** What a user has allowed an application, for the next time it asks. */
export interface Consent {
  readonly application_id: string;
  readonly application_name: string;
  readonly scopes: readonly Scope[];
  readonly created_at: string;
  readonly updated_at: string;
}

/** An authorization code as it is kept, until it ends. */
interface AuthorizationCode {
  readonly applicationId: string;
  readonly redirectUri: string;
  readonly codeChallenge: string;
  readonly expiresAt: number;
  readonly usedAt: number | null;
}

/** What a client brings together with a code. */
export interface CodePresentation {
  readonly applicationId: string;
  /** null: not given. */
  readonly redirectUri: string | null;
  readonly codeVerifier: string;
}

/**
 * Whether a code may be exchanged. `reused` only for a request that is good in all else: only then are the code's
 * tokens to be revoked (RFC 6749, section 4.1.2), so that whoever saw a code but lacks its verifier ends nothing.
 */
export function judgeCode(
  code: AuthorizationCode | null,
  given: CodePresentation,
  now: number,
): "good" | "invalid" | "reused" {
  if (!code || code.applicationId !== given.applicationId || code.expiresAt <= now) return "invalid";
  // OAuth 2.1 has no redirect_uri here; one that is given must be that of the request (RFC 6749, section 4.1.3).
  if (given.redirectUri !== null && given.redirectUri !== code.redirectUri) return "invalid";
  if (!isCodeVerifier(given.codeVerifier)) return "invalid";
  if (codeChallenge(given.codeVerifier) !== code.codeChallenge) return "invalid";
  return code.usedAt === null ? "good" : "reused";
}

/** Whether a verifier is long enough not to be guessed from its challenge (RFC 7636, section 4.1). */
export function isCodeVerifier(text: string): boolean {
  return text.length >= 43 && text.length <= 128 && !/[^A-Za-z0-9\-._~]/.test(text);
}

/** The S256 challenge of a verifier (RFC 7636, section 4.2). */
export function codeChallenge(verifier: string): string {
  return new Bun.CryptoHasher("sha256").update(verifier).digest("base64url");
}

/** A refresh token as it is kept, until it ends. */
interface RefreshToken {
  readonly applicationId: string;
  readonly scopes: readonly ScopeName[];
  readonly expiresAt: number;
  /** When it was first used and so replaced. */
  readonly rotatedAt: number | null;
}

/** Whether a refresh token may be used. `reused`: its grace is over, so that somebody else may have it, too. */
export function judgeRefresh(
  token: RefreshToken | null,
  applicationId: string,
  now: number,
): "good" | "invalid" | "reused" {
  if (!token || token.applicationId !== applicationId || token.expiresAt <= now) return "invalid";
  return token.rotatedAt === null || now - token.rotatedAt < refreshGraceMs ? "good" : "reused";
}
