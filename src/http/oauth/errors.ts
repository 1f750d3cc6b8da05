import type { ErrorCode } from "../../domain/errors.ts";

/** RFC 6749, section 5.2, for every endpoint that clients call. */
export type OAuthErrorCode =
  | "invalid_request"
  | "invalid_client"
  | "invalid_grant"
  | "unauthorized_client"
  | "unsupported_grant_type"
  | "invalid_scope";

/** An error of an endpoint that clients call; it is its `error` and its `code`. */
export class OAuthError extends Error {
  constructor(
    readonly code: OAuthErrorCode,
    message: string,
  ) {
    super(message);
  }

  get status(): 400 | 401 {
    return this.code === "invalid_client" ? 401 : 400;
  }

  get headers(): Record<string, string> {
    return this.status === 401 ? { ...uncached, "www-authenticate": `Basic realm="onair"` } : uncached;
  }
}

/** Not to be kept, also not by caches of HTTP/1.0 (RFC 6749, section 5.1). */
export const uncached = { pragma: "no-cache" };

export const oauthPaths = {
  authorize: "/oauth/authorize",
  token: "/oauth/token",
  revoke: "/oauth/revoke",
  introspect: "/oauth/introspect",
} as const;
const paths: ReadonlySet<string> = new Set(Object.values(oauthPaths));

/** Whether errors of a path have the fields of RFC 6749 beside the usual ones. */
export function speaksOAuth(path: string): boolean {
  return paths.has(path);
}

/** Codes of section 4.1.2.1, which clients take for what may be tried again, too. */
const otherCodes: Partial<Record<ErrorCode | "internal_error", string>> = {
  rate_limited: "temporarily_unavailable",
  unavailable: "temporarily_unavailable",
  internal_error: "server_error",
};

/** What the `error` of these endpoints is for an error of the whole API. */
export function oauthCodeOf(code: ErrorCode | "internal_error"): string {
  return otherCodes[code] ?? "invalid_request";
}

/** The fields that every error of these endpoints has beside the usual ones (RFC 6749, section 5.2). */
export function oauthFields(error: string, message: string) {
  return { error, error_description: message.replace(/[^\x20-\x21\x23-\x5b\x5d-\x7e]/g, "'") };
}

/** What is wrong where an application asks for a scope that the platform has not given it. */
export const beyondApplication =
  "The application may not have all of these scopes; without scope, it gets those that it may have";

/** What is wrong where a code or refresh token is exchanged for nothing. */
export const notExchanged =
  "The code or refresh token is unknown, expired or revoked, or belongs to another client, redirect_uri or code_verifier";

/** The error of a client that is unknown or has a wrong secret, also of one that is deleted while its request is under way. */
export function wrongClient(): OAuthError {
  return new OAuthError("invalid_client", "The client_id or client_secret is wrong");
}
