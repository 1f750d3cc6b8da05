import { Type } from "@sinclair/typebox";
import { oneOf } from "../../domain/validation/fields.ts";
import { statusOf } from "../errors.ts";
import { named } from "../fields.ts";
import {
  beyondApplication,
  notExchanged,
  type OAuthErrorCode,
  oauthCodeOf,
  oauthFields,
} from "../oauth/errors.ts";
import { type ErrorSample, errorResponder, FieldProblemSchema } from "./errors.ts";
import { basicChallenge, retryAfter } from "./headers.ts";
import { type PublicErrorCode, publicHeaders, publicSamples, publicStatuses } from "./public-errors.ts";

/** Errors of RFC 6749, and what each looks like. */
const failures: Readonly<Record<OAuthErrorCode, ErrorSample>> = {
  invalid_request: { message: "grant_type is required" },
  invalid_client: { message: "The client_id or client_secret is wrong" },
  invalid_grant: {
    message: notExchanged,
  },
  unauthorized_client: { message: "A public client cannot get a token of its own" },
  unsupported_grant_type: {
    message: "The supported grant types are client_credentials, authorization_code, refresh_token",
  },
  invalid_scope: { message: beyondApplication },
};

/** What these endpoints answer beside them, like all others. */
const always: readonly PublicErrorCode[] = ["rate_limited", "internal_error", "unavailable"];
const ofBodies: readonly PublicErrorCode[] = ["body_too_large", "unsupported_media_type"];

const codes = [...Object.keys(failures), "method_not_allowed", ...ofBodies, ...always];
const errorWords = [...Object.keys(failures), "temporarily_unavailable", "server_error"];

const OAuthErrorSchema = named(
  "OAuthError",
  "The fields of RFC 6749, section 5.2, beside those of every error.",
  {
    error: oneOf(errorWords, { description: "What went wrong, for OAuth libraries." }),
    error_description: Type.String({ description: "What went wrong, for people to read." }),
    message: Type.String({ description: "The same." }),
    code: oneOf(codes, {
      description: "What went wrong, for programs to act on; for an error of RFC 6749 the same as `error`.",
    }),
    errors: Type.Array(FieldProblemSchema, { description: "Always empty here." }),
    request_id: Type.String({ description: "The same as in the header `X-Request-Id`." }),
  },
);

/** Whether a code is one of RFC 6749. */
export function isOAuthError(code: string): code is OAuthErrorCode {
  return Object.hasOwn(failures, code);
}

const responses = errorResponder<OAuthErrorCode | PublicErrorCode>({
  prefix: "OAuth",
  samples: {
    ...publicSamples,
    ...failures,
    unsupported_media_type: {
      message: "The body must be sent with Content-Type: application/x-www-form-urlencoded",
    },
  },
  statuses: {
    ...publicStatuses,
    400: "Something in the request is wrong.",
    401: "The application could not be authenticated.",
  },
  headers: publicHeaders,
  headersOf: { invalid_client: basicChallenge, rate_limited: retryAfter, unavailable: retryAfter },
  schema: OAuthErrorSchema,
  statusOf: (code) => (isOAuthError(code) ? (code === "invalid_client" ? 401 : 400) : statusOf[code]),
  moreOf: (code, message) => oauthFields(isOAuthError(code) ? code : oauthCodeOf(code), message),
});

/**
 * The responses of an endpoint of OAuth, by status; `failures` are those of 400.
 * @param hasClient whether it is called by a client, which authenticates itself, with a form
 */
export function oauthErrorResponses(failures: readonly OAuthErrorCode[], hasClient: boolean) {
  const ofClients = hasClient ? (["invalid_client", ...ofBodies] as const) : [];
  return responses([...failures, ...ofClients, ...always]);
}
