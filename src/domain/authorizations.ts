import { DomainError } from "./errors.ts";
import { refreshGraceMs, type Scope, type ScopeName } from "./tokens.ts";

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
export interface Consent {
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
export interface CodePresentation {
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
  given: CodePresentation,
  now: number,
): "good" | "invalid" | "reused" {
  if (!code || code.applicationId !== given.applicationId || code.expiresAt <= now) return "invalid";
  // OAuth 2.1 needs no redirect_uri here; a given one must be that of the authorization request (RFC 6749, section
  // 4.1.3).
  if (given.redirectUri !== null && given.redirectUri !== code.redirectUri) return "invalid";
  if (!isCodeVerifier(given.codeVerifier)) return "invalid";
  if (codeChallenge(given.codeVerifier) !== code.codeChallenge) return "invalid";
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
  /** When it was first used, and so replaced; `graceEnded` for one that must not be used. */
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
