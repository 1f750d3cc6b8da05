import type { ErrorCode } from "../../domain/errors.ts";

/** The error codes of RFC 6749, sections 4.1.2.1 and 5.2, for requests that are refused. */
export type OAuthErrorCode =
  | "invalid_request"
  | "invalid_client"
  | "invalid_grant"
  | "unauthorized_client"
  | "unsupported_grant_type"
  | "invalid_scope"
  | "unsupported_response_type"
  | "server_error";

/** An error of an OAuth endpoint. Its code is sent as `error` and as `code`. */
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

/** Prevents caching by HTTP/1.0 as well (RFC 6749, section 5.1). */
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

/** Codes of section 4.1.2.1, for errors after which a client may retry. */
const otherCodes: Partial<Record<ErrorCode | "internal_error", string>> = {
  rate_limited: "temporarily_unavailable",
  unavailable: "temporarily_unavailable",
  internal_error: "server_error",
};

/** Returns the `error` of these endpoints for an error code of the API. */
export function oauthCodeOf(code: ErrorCode | "internal_error"): string {
  return otherCodes[code] ?? "invalid_request";
}

/** Returns the fields that errors of these endpoints have in addition to the usual ones (RFC 6749, section 5.2). */
export function oauthFields(error: string, message: string) {
  return { error, error_description: message.replace(/[^\x20-\x21\x23-\x5b\x5d-\x7e]/g, "'") };
}

/** The message for a scope that the platform has not granted to the application. */
export const beyondApplication =
  "The application does not have all of these scopes; leave scope out to request those that it has";

/** The message where the setting `login-url` is missing. */
export const noLogin = "This platform has not configured user login";

/** The message for a code or refresh token that cannot be exchanged. */
export const notExchanged =
  "The code or refresh token is unknown, expired or revoked, or was issued for another client, redirect_uri or code_verifier";

/** The error of a client that is unknown, has a wrong secret, or was deleted during its request. */
export function wrongClient(): OAuthError {
  return new OAuthError("invalid_client", "The client_id or client_secret is wrong");
}
