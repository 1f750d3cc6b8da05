import { Type } from "@sinclair/typebox";
import { statusOf } from "../errors.ts";
import { oauthCodeOf, oauthFields } from "../oauth/errors.ts";
import {
  commonHeaders,
  exampleRequestId,
  FieldProblemSchema,
  messageOf,
  type PublicErrorCode,
  retryAfter,
} from "./reference-errors.ts";
import { documentSchema, type Json } from "./reference-schemas.ts";

/** Errors of RFC 6749, with what each says. */
const failures = {
  invalid_request: "grant_type is required",
  invalid_client: "The client_id or client_secret is wrong",
  invalid_grant:
    "The code or refresh token is unknown, expired or revoked, or does not belong to this request",
  unauthorized_client: "A public client cannot get a token of its own",
  unsupported_grant_type:
    "The supported grant types are client_credentials, authorization_code, refresh_token",
  invalid_scope: "The application may not have all of these scopes",
} as const;
export type Failure = keyof typeof failures;

/** What these endpoints answer beside them, like all others. */
const others = [
  "body_too_large",
  "unsupported_media_type",
  "rate_limited",
  "internal_error",
  "unavailable",
] as const satisfies readonly PublicErrorCode[];

const literals = (values: readonly string[]) => values.map((value) => Type.Literal(value));

const OAuthErrorSchema = Type.Object(
  {
    error: Type.Union(literals([...Object.keys(failures), "temporarily_unavailable", "server_error"]), {
      description: "What went wrong, for OAuth libraries.",
    }),
    error_description: Type.String({ description: "What went wrong, for people to read." }),
    message: Type.String({ description: "The same." }),
    code: Type.Union(literals([...Object.keys(failures), "method_not_allowed", ...others]), {
      description: "What went wrong, for programs to act on; for an error of RFC 6749 the same as `error`.",
    }),
    errors: Type.Array(FieldProblemSchema, { description: "Always empty here." }),
    request_id: Type.String({ description: "The same as in the header `X-Request-Id`." }),
  },
  {
    $id: "OAuthError",
    description: "The fields of RFC 6749, section 5.2, beside those of every error.",
    additionalProperties: false,
  },
);

interface Problem {
  readonly code: Failure | (typeof others)[number];
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
    headers: { ...commonHeaders, ...headers },
    content: {
      "application/json": {
        schema: documentSchema(OAuthErrorSchema),
        examples: Object.fromEntries(examples),
      },
    },
  };
}

const failed = (code: Failure): Problem => ({ code, error: code, message: failures[code] });

/** The responses of an endpoint that clients call, by status; `codes` are those of 400. */
export function oauthErrorResponses(codes: readonly Failure[]): Record<number, Json> {
  const rest = others.map((code) => {
    const { description, message } = messageOf(code);
    const headers = code === "rate_limited" || code === "unavailable" ? retryAfter : {};
    return [statusOf[code], response(description, [{ code, error: oauthCodeOf(code), message }], headers)];
  });
  return {
    400: response("Something in the request is wrong.", codes.map(failed)),
    401: response("The application could not be authenticated.", [failed("invalid_client")], {
      "WWW-Authenticate": {
        description: "How an application authenticates.",
        schema: { type: "string" },
        example: 'Basic realm="onair"',
      },
    }),
    ...Object.fromEntries(rest),
  };
}
