import { Type } from "@sinclair/typebox";
import { appTokenLifetimeMs, scopes } from "../../domain/tokens.ts";
import { answer, operationDetail } from "./reference.ts";
import { commonHeaders } from "./reference-errors.ts";
import { documentSchema, type Json } from "./reference-schemas.ts";

const closed = { additionalProperties: false };

/** The name of the security scheme for the credentials of an application. */
export const clientScheme = "clientCredentials";

const TokenForm = Type.Object({
  grant_type: Type.Literal("client_credentials"),
  scope: Type.Optional(
    Type.String({
      description: `The scopes of the token, separated by spaces: ${scopes.map((scope) => `\`${scope}\``).join(" and ")}. All that the application may have, if left out.`,
    }),
  ),
  client_id: Type.Optional(Type.String({ description: "Unless you use HTTP Basic." })),
  client_secret: Type.Optional(Type.String({ description: "Unless you use HTTP Basic." })),
});

const AccessTokenSchema = Type.Object(
  {
    access_token: Type.String({ description: "Send it as `Authorization: Bearer <access_token>`." }),
    token_type: Type.Literal("Bearer"),
    expires_in: Type.Integer({ description: "Seconds for which it is good." }),
    scope: Type.String({ description: "Its scopes, separated by spaces." }),
  },
  { $id: "AccessToken", ...closed },
);

const failures = {
  invalid_request: "grant_type is required",
  invalid_client: "The client_id or client_secret is wrong",
  unauthorized_client: "The application may not use this grant_type",
  unsupported_grant_type: "The supported grant_type is client_credentials",
  invalid_scope: "The application may not have all of these scopes",
} as const;
type Failure = keyof typeof failures;

const OAuthErrorSchema = Type.Object(
  {
    error: Type.Union(Object.keys(failures).map((code) => Type.Literal(code))),
    error_description: Type.String({ description: "What went wrong, for people to read." }),
  },
  { $id: "OAuthError", description: "RFC 6749, section 5.2.", ...closed },
);

function failure(description: string, codes: readonly Failure[], headers: Json = {}): Json {
  const examples = codes.map((code) => [code, { value: { error: code, error_description: failures[code] } }]);
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

const detail = operationDetail({
  id: "createToken",
  tag: "Tokens",
  summary: "Get an access token",
  description:
    "Gives an application a token of its own (`client_credentials`, RFC 6749). The application authenticates with HTTP Basic, or with `client_id` and `client_secret` in the form; not both. Errors of the request itself have the shape of RFC 6749, all others the usual one.",
  access: "anyone",
  body: {
    schema: TokenForm,
    example: { grant_type: "client_credentials", scope: scopes.join(" ") },
    mediaType: "application/x-www-form-urlencoded",
  },
  answers: {
    200: answer("A new token. Earlier ones stay good.", {
      schema: AccessTokenSchema,
      example: {
        access_token: "onair_at_u8Q0xk3m9Zb7cT1vR5yW2nH6pL4dJ0sF8gA3eK7qX9M",
        token_type: "Bearer",
        expires_in: appTokenLifetimeMs / 1000,
        scope: scopes.join(" "),
      },
    }),
  },
});

/** The OpenAPI operation of `POST /oauth/token`. */
export const tokenDetail: object = {
  ...detail,
  security: [{ [clientScheme]: [] }, {}],
  responses: {
    ...detail.responses,
    400: failure("Something in the request is wrong.", [
      "invalid_request",
      "unsupported_grant_type",
      "invalid_scope",
    ]),
    401: failure("The application could not be authenticated.", ["invalid_client"], {
      "WWW-Authenticate": {
        description: "How an application authenticates.",
        schema: { type: "string" },
        example: 'Basic realm="onair"',
      },
    }),
  },
};
