import { type TSchema, Type } from "@sinclair/typebox";
import { appTokenLifetimeMs, appTokensKept, scopes, userTokenLifetimeMs } from "../../domain/tokens.ts";
import { metadata } from "../oauth/metadata.ts";
import { type Answer, answer, type Operation, operationDetail } from "./reference.ts";
import { type Failure, oauthErrorResponses } from "./reference-oauth-errors.ts";
import type { Json } from "./reference-schemas.ts";

const closed = { additionalProperties: false };
export const tag = "Tokens";

/** The name of the security scheme for the credentials of an application. */
export const clientScheme = "clientCredentials";

const text = (description: string) => Type.String({ description });
const optional = (description: string) => Type.Optional(text(description));

const exampleCode = "onair_ac_p4dJ0sF8gA3eK7qX9Mu8Q0xk3m9Zb7cT1vR5yW2nH6w";
const exampleToken = "onair_at_u8Q0xk3m9Zb7cT1vR5yW2nH6pL4dJ0sF8gA3eK7qX9M";
const exampleRefreshToken = "onair_rt_R5yW2nH6pL4dJ0sF8gA3eK7qX9Mu8Q0xk3m9Zb7cT1v";
export const exampleClientId = "01KATHZX5M9S3E6R8B2D4F7G1H";
export const exampleRedirectUri = "https://app.example/callback";
/** RFC 7636, appendix B. */
const exampleVerifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";

const clientFields = {
  client_id: optional("Unless you use HTTP Basic."),
  client_secret: optional("Unless you use HTTP Basic, or are a public client."),
};
export const scopeField = (rest: string) => ({
  scope: optional(
    `Scopes separated by spaces: ${scopes.map((scope) => `\`${scope}\``).join(" and ")}. ${rest}`,
  ),
});

const grantType = <Name extends string>(name: Name) =>
  Type.Literal(name, { description: "What is exchanged for a token." });

const TokenForm = Type.Union(
  [
    Type.Object(
      {
        grant_type: grantType("client_credentials"),
        ...scopeField("All that the application may have, if left out."),
        ...clientFields,
      },
      { $id: "ClientCredentialsForm", description: "For a token of the application itself." },
    ),
    Type.Object(
      {
        grant_type: grantType("authorization_code"),
        code: text("As it came to the redirect URI."),
        code_verifier: Type.String({
          minLength: 43,
          maxLength: 128,
          pattern: "^[A-Za-z0-9._~-]+$",
          description: "Of which the authorization request had the challenge (RFC 7636).",
        }),
        redirect_uri: optional("If given, that of the authorization request."),
        ...clientFields,
      },
      { $id: "AuthorizationCodeForm", description: "For tokens of a user who has just consented." },
    ),
    Type.Object(
      {
        grant_type: grantType("refresh_token"),
        refresh_token: text("The newest that you have."),
        ...scopeField("All that the user granted, if left out."),
        ...clientFields,
      },
      { $id: "RefreshTokenForm", description: "For new tokens of a user." },
    ),
  ],
  { $id: "TokenForm", description: "A form by `grant_type`." },
);

const AccessTokenSchema = Type.Object(
  {
    access_token: text("Send it as `Authorization: Bearer <access_token>`."),
    token_type: Type.Literal("Bearer", { description: "How it is sent." }),
    expires_in: Type.Integer({ description: "Seconds for which it is good." }),
    refresh_token: optional("Only with the token of a user: exchange it for new tokens within 30 days."),
    scope: text("Its scopes, separated by spaces, as they were named when they were asked for."),
  },
  { $id: "AccessToken", description: "RFC 6749, section 5.1.", ...closed },
);

interface ClientEndpoint {
  readonly form: TSchema;
  readonly example: object;
  readonly answer: Answer;
  readonly failures: readonly Failure[];
}

/** The operation of an endpoint that clients call with a form and their credentials. */
function clientEndpoint(of: Pick<Operation, "id" | "summary" | "description"> & ClientEndpoint): Json {
  const detail = operationDetail({
    ...of,
    tag,
    access: "anyone",
    body: { schema: of.form, example: of.example, mediaType: "application/x-www-form-urlencoded" },
    answers: { 200: of.answer },
  });
  return {
    ...detail,
    security: [{ [clientScheme]: [] }, {}],
    responses: {
      ...detail.responses,
      ...oauthErrorResponses(of.failures),
    },
  };
}

/** The OpenAPI operation of `POST /oauth/token`. */
export const tokenDetail = clientEndpoint({
  id: "createToken",
  summary: "Get an access token",
  description:
    "Gives an application a token of its own (`client_credentials`), or tokens of a user for a code (`authorization_code`) or for a refresh token (`refresh_token`; RFC 6749). The application authenticates with HTTP Basic, or with `client_id` and `client_secret` in the form; not both; a `Bearer` header beside them is ignored. A public client sends its `client_id` alone. Every error has `error` and `error_description` as in RFC 6749, beside the usual fields.\n\nEach refresh token is exchanged once; for 60 seconds after that it still works, for programs that lost the answer. Used later, it ends everything that came of the same sign-in.",
  form: TokenForm,
  example: {
    grant_type: "authorization_code",
    code: exampleCode,
    code_verifier: exampleVerifier,
    redirect_uri: exampleRedirectUri,
    client_id: exampleClientId,
  },
  answer: answer(
    `The token of an application is good for ${appTokenLifetimeMs / 86_400_000} days, and so are earlier ones, of which the newest ${appTokensKept.toLocaleString("en")} are kept; that of a user is good for ${userTokenLifetimeMs / 3_600_000} hours.`,
    {
      schema: AccessTokenSchema,
      example: {
        access_token: exampleToken,
        token_type: "Bearer",
        expires_in: userTokenLifetimeMs / 1000,
        refresh_token: exampleRefreshToken,
        scope: scopes.join(" "),
      },
    },
  ),
  failures: [
    "invalid_request",
    "invalid_grant",
    "unauthorized_client",
    "unsupported_grant_type",
    "invalid_scope",
  ],
});

const TokenToLookAt = Type.Object(
  {
    token: text("An access token or a refresh token."),
    token_type_hint: optional("Not needed: tokens are recognised."),
    ...clientFields,
  },
  { $id: "TokenToLookAt", description: "A form that names a token." },
);

/** The OpenAPI operation of `POST /oauth/revoke`. */
export const revokeDetail = clientEndpoint({
  id: "revokeToken",
  summary: "Revoke a token",
  description:
    "Ends a token of the application at once (RFC 7009): an access token, or a refresh token together with everything that came of the same sign-in. A token that is unknown is no error.",
  form: TokenToLookAt,
  example: { token: exampleRefreshToken, client_id: exampleClientId },
  answer: answer("The token is good for nothing (any more)."),
  failures: ["invalid_request", "invalid_grant"],
});

const IntrospectionSchema = Type.Object(
  {
    active: Type.Boolean({ description: "Whether it is a good token of the application that asks." }),
    scope: optional("Those of its scopes that the application still has; left out where it has none."),
    client_id: optional("The application."),
    token_type: Type.Optional(Type.Literal("Bearer", { description: "Only of an access token." })),
    exp: Type.Optional(Type.Integer({ description: "When it ends, in seconds since 1970." })),
    sub: optional("The id of the user; none with the token of an application."),
    iss: optional("This server."),
  },
  { $id: "Introspection", description: "RFC 7662, section 2.2.", ...closed },
);

/** The OpenAPI operation of `POST /oauth/introspect`. */
export const introspectDetail = clientEndpoint({
  id: "introspectToken",
  summary: "Look at a token",
  description:
    "Tells a confidential application what a token of its own is good for (RFC 7662). Of all other tokens it learns no more than that they are not active.",
  form: TokenToLookAt,
  example: { token: exampleToken },
  answer: answer("What the token is good for.", {
    schema: IntrospectionSchema,
    example: {
      active: true,
      scope: scopes.join(" "),
      client_id: exampleClientId,
      token_type: "Bearer",
      exp: 1_768_414_086,
      sub: "1001",
      iss: "http://127.0.0.1:8080",
    },
  }),
  failures: ["invalid_request"],
});

const list = (description: string) => Type.Array(Type.String(), { description });
const endpoint = (description: string) => Type.String({ format: "uri", description });

const MetadataSchema = Type.Object(
  {
    issuer: endpoint("This server, as `iss` names it."),
    authorization_endpoint: Type.Optional(endpoint("Where users log in, if the platform has set that up.")),
    token_endpoint: endpoint("Where tokens come from."),
    revocation_endpoint: endpoint("Where tokens end."),
    introspection_endpoint: endpoint("Where tokens are looked at."),
    scopes_supported: list("All scopes."),
    response_types_supported: list("Values of `response_type`."),
    response_modes_supported: list("How answers come to the redirect URI."),
    grant_types_supported: list("Values of `grant_type`."),
    token_endpoint_auth_methods_supported: list("How applications authenticate for tokens."),
    revocation_endpoint_auth_methods_supported: list("… to revoke tokens."),
    introspection_endpoint_auth_methods_supported: list("… to look at tokens."),
    code_challenge_methods_supported: list("Values of `code_challenge_method`."),
    authorization_response_iss_parameter_supported: Type.Boolean({ description: "RFC 9207." }),
    service_documentation: endpoint("This reference."),
  },
  { $id: "AuthorizationServerMetadata", description: "RFC 8414, section 2.", ...closed },
);

/** The OpenAPI operation of `GET /.well-known/oauth-authorization-server`. */
export const metadataDetail: Json = operationDetail({
  id: "getAuthorizationServerMetadata",
  tag,
  summary: "Get the metadata of the authorization server",
  description: "What OAuth libraries need to know of this server; they look for it here (RFC 8414).",
  access: "anyone",
  answers: {
    200: answer("The metadata.", {
      schema: MetadataSchema,
      example: metadata("http://127.0.0.1:8080", true),
    }),
  },
});
