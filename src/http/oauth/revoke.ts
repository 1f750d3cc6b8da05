import { secretHash } from "../../domain/tokens.ts";
import { noContent } from "../answers.ts";
import type { PublicDeps, PublicListener } from "../public/base.ts";
import { OAuthError, oauthPaths } from "./errors.ts";
import { exampleClientId, exampleRefreshToken, TokenToLookAt } from "./fields.ts";

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
