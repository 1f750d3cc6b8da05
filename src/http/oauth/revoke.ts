import { secretHash } from "../../domain/tokens.ts";
import { noContent } from "../answers.ts";
import type { PublicDeps, PublicListener } from "../public/base.ts";
import { OAuthError, oauthPaths } from "./errors.ts";
import { exampleClientId, exampleRefreshToken, TokenToLookAt } from "./fields.ts";

/**
 * `POST /oauth/revoke` (RFC 7009): ends an access token, or a refresh token with everything that came of its
 * authorization. A token that is unknown is none any more, which is no error (section 2.2).
 */
export function revokeRoute(app: PublicListener, { store }: Pick<PublicDeps, "store">): void {
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
      response: { 200: noContent("The token is good for nothing (any more).") },
      errors: ["invalid_request", "invalid_grant"],
      detail: {
        operationId: "revokeToken",
        tags: ["Tokens"],
        summary: "Revoke a token",
        description:
          "Ends a token of the application at once (RFC 7009): an access token, or a refresh token together with everything that came of the same sign-in. A token that is unknown is no error.",
      },
    },
  );
}
