import { Type } from "@sinclair/typebox";
import { type ScopeName, scopes, scopesWithin, secretHash } from "../../domain/tokens.ts";
import type { TokenRecord } from "../../store/tokens.ts";
import { answerOf } from "../answers.ts";
import { named } from "../fields.ts";
import type { PublicDeps, PublicListener } from "../public/base.ts";
import { oauthPaths } from "./errors.ts";
import { exampleClientId, exampleToken, optional, TokenToLookAt } from "./fields.ts";

const IntrospectionSchema = named("Introspection", "RFC 7662, section 2.2.", {
  active: Type.Boolean({ description: "Whether it is a good token of the application that asks." }),
  scope: optional("Those of its scopes that the application still has; left out where it has none."),
  client_id: optional("The application."),
  token_type: Type.Optional(Type.Literal("Bearer", { description: "Only of an access token." })),
  exp: Type.Optional(Type.Integer({ description: "When it ends, in seconds since 1970." })),
  sub: optional("The id of the user; none with the token of an application."),
  iss: optional("This server."),
});

const Introspection = answerOf(IntrospectionSchema, {
  description: "What the token is good for.",
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
 * `POST /oauth/introspect` (RFC 7662): what a token is good for. An application learns of its own tokens alone; all
 * others are not active (section 2.2), whether they exist or not.
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
        summary: "Look at a token",
        description:
          "Tells a confidential application what a token of its own is good for (RFC 7662). Of all other tokens it learns no more than that they are not active.",
      },
    },
  );
}
