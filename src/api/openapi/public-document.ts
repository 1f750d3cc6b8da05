import { Type } from "@sinclair/typebox";
import { oneOf } from "../../domain/validation/fields.ts";
import { statusOf } from "../http/errors.ts";
import { named } from "../http/parameters.ts";
import {
  beyondApplication,
  noLogin,
  notExchanged,
  type OAuthErrorCode,
  oauthCodeOf,
  oauthFields,
} from "../oauth/errors.ts";
import introduction from "./assets/public-introduction.md" with { type: "text" };
import { complete, type ListenerRules, type Operation, type WrittenDocument } from "./complete.ts";
import { basicChallenge, exampleUrl, retryAfter } from "./components.ts";
import { type ErrorSample, errorResponder, FieldProblemSchema } from "./errors.ts";
import {
  type PublicErrorCode,
  publicErrorResponses,
  publicHeaders,
  publicSamples,
  publicStatuses,
} from "./public.ts";
import { applicationWebhooks } from "./webhooks.ts";

/** An example of each error of RFC 6749. */
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
  unsupported_response_type: { message: "The supported response_type is code" },
  server_error: { message: noLogin },
};

/** Errors that these endpoints share with all others. */
const always: readonly PublicErrorCode[] = ["rate_limited", "internal_error", "unavailable"];
const ofBodies: readonly PublicErrorCode[] = ["body_too_large", "unsupported_media_type"];

const codes = [...Object.keys(failures), "method_not_allowed", ...ofBodies, ...always];
const errorWords = [...Object.keys(failures), "temporarily_unavailable"];

const OAuthErrorSchema = named(
  "OAuthError",
  "An error with the fields of RFC 6749, section 5.2, in addition to those of every error.",
  {
    error: oneOf(errorWords, { description: "Code of the error, for OAuth libraries." }),
    error_description: Type.String({
      description: "Description of the error for people. The wording may change.",
    }),
    message: Type.String({ description: "The same as `error_description`." }),
    code: oneOf(codes, {
      description: "Code of the error, for programs; the same as `error` for errors of RFC 6749.",
    }),
    errors: Type.Array(FieldProblemSchema, { description: "Always empty." }),
    request_id: Type.String({ description: "Id of the request; the same as the header `X-Request-Id`." }),
  },
);

/** Whether a code is one of RFC 6749. */
function isOAuthError(code: string): code is OAuthErrorCode {
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
    400: "The request is invalid.",
    401: "The application was not authenticated.",
  },
  headers: publicHeaders,
  headersOf: { invalid_client: basicChallenge, rate_limited: retryAfter, unavailable: retryAfter },
  schema: OAuthErrorSchema,
  statusOf: (code) => (isOAuthError(code) ? (code === "invalid_client" ? 401 : 400) : statusOf[code]),
  moreOf: (code, message) => oauthFields(isOAuthError(code) ? code : oauthCodeOf(code), message),
});

/**
 * Returns the responses of an OAuth endpoint, by status. `failures` are its own errors.
 * @param hasClient whether the endpoint authenticates a client and reads a form
 */
function oauthErrorResponses(failures: readonly OAuthErrorCode[], hasClient: boolean) {
  const ofClients = hasClient ? (["invalid_client", ...ofBodies] as const) : [];
  return responses([...failures, ...ofClients, ...always]);
}

const rules: ListenerRules = {
  headers: publicHeaders,
  errorResponses(operation) {
    const { codes, body } = operation;
    const failures = codes.filter(isOAuthError);
    if (failures.length > 0) return oauthErrorResponses(failures, body === "form");
    return publicErrorResponses(errorsOf(operation));
  },
};

function errorsOf({ hasParameters, body, security, codes }: Operation): PublicErrorCode[] {
  const errors: PublicErrorCode[] = [];
  if (hasParameters || body) errors.push("invalid_parameter");
  if (body) errors.push("invalid_json", "body_too_large", "unsupported_media_type");
  if (security.length > 0) errors.push("missing_token", "invalid_token", "insufficient_scope");
  errors.push(...(codes as readonly PublicErrorCode[]));
  return [...errors, "rate_limited", "internal_error", "unavailable"];
}

/** Returns the OpenAPI document of the public listener at `url`, as JSON. */
export function publicDocument(written: WrittenDocument, url: string): string {
  const document = complete(written, rules, {
    title: "On Air",
    summary: "The public developer API of a live-streaming platform.",
    introduction,
    url,
    externalDocs: { description: "Guides", url: `${url}/docs` },
    webhooks: applicationWebhooks("Webhooks"),
  });
  return JSON.stringify(document).replaceAll("{base_url}", url).replaceAll(exampleUrl, url);
}
