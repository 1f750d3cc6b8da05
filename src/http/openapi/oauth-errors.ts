import { Type } from "@sinclair/typebox";
import { statusOf } from "../errors.ts";
import { named } from "../fields.ts";
import { type OAuthErrorCode, oauthCodeOf, oauthFields } from "../oauth/errors.ts";
import type { Json } from "./components.ts";
import { FieldProblemSchema } from "./errors.ts";
import { exampleRequestId, retryAfter } from "./headers.ts";
import { messageOf, type PublicErrorCode, publicHeaders } from "./public-errors.ts";
import { documentSchema } from "./schemas.ts";

/** Errors of RFC 6749, with what each says. */
const failures: Readonly<Record<OAuthErrorCode, string>> = {
  invalid_request: "grant_type is required",
  invalid_client: "The client_id or client_secret is wrong",
  invalid_grant:
    "The code or refresh token is unknown, expired or revoked, or does not belong to this request",
  unauthorized_client: "A public client cannot get a token of its own",
  unsupported_grant_type:
    "The supported grant types are client_credentials, authorization_code, refresh_token",
  invalid_scope: "The application may not have all of these scopes",
};

/** What these endpoints answer beside them, like all others. */
const always = [
  "rate_limited",
  "internal_error",
  "unavailable",
] as const satisfies readonly PublicErrorCode[];
const ofBodies = ["body_too_large", "unsupported_media_type"] as const satisfies readonly PublicErrorCode[];

const literals = (values: readonly string[]) => values.map((value) => Type.Literal(value));

const OAuthErrorSchema = named(
  "OAuthError",
  "The fields of RFC 6749, section 5.2, beside those of every error.",
  {
    error: Type.Union(literals([...Object.keys(failures), "temporarily_unavailable", "server_error"]), {
      description: "What went wrong, for OAuth libraries.",
    }),
    error_description: Type.String({ description: "What went wrong, for people to read." }),
    message: Type.String({ description: "The same." }),
    code: Type.Union(literals([...Object.keys(failures), "method_not_allowed", ...ofBodies, ...always]), {
      description: "What went wrong, for programs to act on; for an error of RFC 6749 the same as `error`.",
    }),
    errors: Type.Array(FieldProblemSchema, { description: "Always empty here." }),
    request_id: Type.String({ description: "The same as in the header `X-Request-Id`." }),
  },
);

interface Problem {
  readonly code: OAuthErrorCode | PublicErrorCode;
  readonly error: string;
  readonly message: string;
}

function response(description: string, problems: readonly Problem[], headers: Json = {}): Json {
  const examples = problems.map(({ code, error, message }) => {
    const value = { ...oauthFields(error, message), message, code, errors: [], request_id: exampleRequestId };
    return [code, { value }];
  });
  return {
    description,
    headers: { ...publicHeaders, ...headers },
    content: {
      "application/json": {
        schema: documentSchema(OAuthErrorSchema),
        examples: Object.fromEntries(examples),
      },
    },
  };
}

const failed = (code: OAuthErrorCode): Problem => ({ code, error: code, message: failures[code] });

function other(code: PublicErrorCode): [number, Json] {
  const { description, message } = messageOf(code);
  const headers = code === "rate_limited" || code === "unavailable" ? retryAfter : {};
  return [statusOf[code], response(description, [{ code, error: oauthCodeOf(code), message }], headers)];
}

const clientErrors = (): Record<string, Json> => ({
  401: response("The application could not be authenticated.", [failed("invalid_client")], {
    "WWW-Authenticate": {
      description: "How an application authenticates.",
      schema: { type: "string" },
      example: 'Basic realm="onair"',
    },
  }),
  ...Object.fromEntries(ofBodies.map(other)),
});

/** Whether a code is one of RFC 6749. */
export function isOAuthError(code: string): code is OAuthErrorCode {
  return Object.hasOwn(failures, code);
}

/**
 * The responses of an endpoint of OAuth, by status; `codes` are those of 400.
 * @param hasClient whether it is called by a client, which authenticates itself, with a form
 */
export function oauthErrorResponses(
  codes: readonly OAuthErrorCode[],
  hasClient: boolean,
): Record<string, Json> {
  return {
    400: response("Something in the request is wrong.", codes.map(failed)),
    ...(hasClient && clientErrors()),
    ...Object.fromEntries(always.map(other)),
  };
}
