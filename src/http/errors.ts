import { DomainError, type ErrorCode } from "../domain/errors.ts";
import { errorFields } from "../log.ts";
import { ClientClosedRequest } from "./body.ts";
import { type Exchange, reply, replyJson } from "./exchange.ts";

/** The one table from codes to statuses. */
export const statusOf: Readonly<Record<ErrorCode | "internal_error", number>> = {
  invalid_parameter: 400,
  invalid_json: 400,
  invalid_cursor: 400,
  subscription_failed: 400,
  missing_token: 401,
  invalid_token: 401,
  insufficient_scope: 403,
  stream_disabled: 403,
  user_not_found: 404,
  category_not_found: 404,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  body_too_large: 413,
  unsupported_media_type: 415,
  range_not_satisfiable: 416,
  rate_limited: 429,
  unavailable: 503,
  internal_error: 500,
};

/** What `Retry-After` says where nothing else is known. */
export const tryAgainSeconds = 5;

/** The status in the log and in the metrics of a request whose client hung up; it has no answer. As nginx has it. */
const clientClosedRequest = 499;

/** Answers with an error in the one shape of the contract. What is not a `DomainError` is logged and not told. */
export function replyError(exchange: Exchange, thrown: unknown): Response {
  if (thrown instanceof ClientClosedRequest) return reply(exchange, clientClosedRequest, null);
  if (!(thrown instanceof DomainError)) {
    exchange.shared.log.error("internal_error", { request_id: exchange.requestId, ...errorFields(thrown) });
    return replyJson(exchange, 500, {
      message: "Something went wrong on our side. The request id helps to find out what.",
      code: "internal_error",
      errors: [],
      request_id: exchange.requestId,
    });
  }
  if (thrown.code === "unavailable") {
    exchange.shared.log.error("unavailable", { request_id: exchange.requestId, ...errorFields(thrown) });
  }
  return replyDomainError(exchange, thrown);
}

/** The same for an error that is expected, and has no line of its own in the log. */
export function replyDomainError(exchange: Exchange, error: DomainError): Response {
  const { code, message, details } = error;
  const body = {
    ...(details.data && { data: details.data }),
    message,
    code,
    errors: details.errors ?? [],
    request_id: exchange.requestId,
  };
  return replyJson(exchange, statusOf[code], body, errorHeaders(error));
}

function errorHeaders({ code, message, details }: DomainError): Record<string, string> {
  const headers: Record<string, string> = {};
  // RFC 6750, section 3: no error code where the request carried no token at all.
  if (code === "missing_token") headers["www-authenticate"] = `Bearer realm="onair"`;
  if (code === "invalid_token" || code === "insufficient_scope") {
    const scope = details.scope ? `, scope="${details.scope}"` : "";
    headers["www-authenticate"] =
      `Bearer realm="onair", error="${code}", error_description="${message}"${scope}`;
  }
  if (details.allow) headers["allow"] = details.allow;
  if (details.wholeBytes !== undefined) headers["content-range"] = `bytes */${details.wholeBytes}`;
  const retryAfter = details.retryAfterSeconds ?? (code === "unavailable" ? tryAgainSeconds : null);
  if (retryAfter !== null) headers["retry-after"] = String(retryAfter);
  return headers;
}
