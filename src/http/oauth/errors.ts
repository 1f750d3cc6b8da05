import { type Exchange, replyJson } from "../exchange.ts";

/** RFC 6749, section 5.2, for every endpoint that clients call. */
export type OAuthErrorCode =
  | "invalid_request"
  | "invalid_client"
  | "invalid_grant"
  | "unauthorized_client"
  | "unsupported_grant_type"
  | "invalid_scope";

/** An error of an endpoint that clients call, which has a shape of its own. */
export class OAuthError extends Error {
  constructor(
    readonly code: OAuthErrorCode,
    message: string,
  ) {
    super(message);
  }
}

/** Never kept by anybody, also not by caches of HTTP/1.0 (RFC 6749, section 5.1). */
export const uncached = { pragma: "no-cache" };

/** Runs the handler of such an endpoint; its `OAuthError` becomes the answer. */
export async function answeringOAuth(exchange: Exchange, handle: () => Promise<Response>): Promise<Response> {
  try {
    return await handle();
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error;
    const isClient = error.code === "invalid_client";
    const body = { error: error.code, error_description: error.message };
    const challenge = isClient && { "www-authenticate": `Basic realm="onair"` };
    return replyJson(exchange, isClient ? 401 : 400, body, { ...uncached, ...challenge });
  }
}
