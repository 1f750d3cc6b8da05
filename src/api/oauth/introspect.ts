import { Type } from "@sinclair/typebox";
import { type ScopeName, scopes, scopesWithin, secretHash, type TokenRecord } from "../../domain/tokens.ts";
import { answerOf, noContent } from "../http/answers.ts";
import { named } from "../http/parameters.ts";
import type { PublicDeps, PublicListener } from "../public/listener.ts";
import { OAuthError, oauthPaths } from "./errors.ts";
import { exampleClientId, exampleRefreshToken, exampleToken, optional, TokenToLookAt } from "./fields.ts";

const IntrospectionSchema = named("Introspection", "RFC 7662, section 2.2.", {
  active: Type.Boolean({ description: "Whether the token is valid and belongs to the calling application." }),
  scope: optional(
    "Scopes of the token that the application still has, separated by spaces. Absent if there are none.",
  ),
  client_id: optional("Client id of the application."),
  token_type: Type.Optional(
    Type.Literal("Bearer", { description: "Type of an access token. Absent for a refresh token." }),
  ),
  exp: Type.Optional(Type.Integer({ description: "Expiry time, in Unix seconds." })),
  sub: optional("Id of the user. Absent for a token of the application itself."),
  iss: optional("URL of this server, the issuer."),
});

const Introspection = answerOf(IntrospectionSchema, {
  description: "The state of the token.",
  example: {
    active: true,
    scope: scopes.join(" "),
    client_id: exampleClientId,
    token_type: "Bearer",
    exp: 1_768_414_086,
    sub: "1001",
    iss: "http://127.0.0.1:8080",
  },
});

/**
 * `POST /oauth/introspect` (RFC 7662). An application can inspect only its own tokens. All others are not active
 * (section 2.2), whether they exist or not.
 */
export function introspectRoute(app: PublicListener, deps: PublicDeps): void {
  const { store, now, publicUrl } = deps;
  const describe = (token: TokenRecord, scopes: readonly ScopeName[]) => ({
    active: true,
    ...(scopes.length > 0 && { scope: scopes.join(" ") }),
    client_id: token.applicationId,
    ...(token.kind === "access_token" && { token_type: "Bearer" as const }),
    exp: Math.floor(token.expiresAt / 1000),
    ...(token.userId !== null && { sub: String(token.userId) }),
    iss: publicUrl(),
  });

  app.post(
    oauthPaths.introspect,
    async ({ body, client }) => {
      const token = await store.tokens.inspect(secretHash(body.token), now());
      const isOwn = token?.applicationId === client.id;
      return isOwn ? describe(token, scopesWithin(token.scopes, client.scopes)) : { active: false };
    },
    {
      client: "confidential",
      body: TokenToLookAt({ token: exampleToken }),
      response: { 200: Introspection },
      errors: ["invalid_request"],
      detail: {
        operationId: "introspectToken",
        tags: ["Tokens"],
        summary: "Introspect a token",
        description:
          "Returns the state, scopes and expiry time of a token of the calling application (RFC 7662). Requires a confidential application. Any other token is reported as not active.",
      },
    },
  );
}

/**
 * `POST /oauth/revoke` (RFC 7009): revokes an access token, or a refresh token and all tokens of its authorization. An
 * unknown token is not an error (section 2.2).
 */
export function revokeRoute(app: PublicListener, { store }: PublicDeps): void {
  app.post(
    oauthPaths.revoke,
    async ({ body: { token }, client }) => {
      const result = await store.tokens.revoke(secretHash(token), client.id);
      if (result === "foreign") {
        throw new OAuthError("invalid_grant", "The token was issued to another client");
      }
    },
    {
      client: "any",
      body: TokenToLookAt({ token: exampleRefreshToken, client_id: exampleClientId }),
      response: { 200: noContent("The token is not valid.") },
      errors: ["invalid_request", "invalid_grant"],
      detail: {
        operationId: "revokeToken",
        tags: ["Tokens"],
        summary: "Revoke a token",
        description:
          "Revokes a token of the calling application (RFC 7009). Revoking a refresh token also revokes all other tokens of the same sign-in. An unknown token is not an error.",
      },
    },
  );
}
