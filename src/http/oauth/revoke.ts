import { secretHash } from "../../domain/tokens.ts";
import { reply } from "../exchange.ts";
import type { PublicDeps, PublicListener } from "../public/base.ts";
import { authenticateClient } from "./client.ts";
import { OAuthError, oauthPaths, uncached } from "./errors.ts";
import { readForm, required } from "./parameters.ts";

/**
 * `POST /oauth/revoke` (RFC 7009): ends an access token, or a refresh token with everything that came of its
 * authorization. A token that is unknown is none any more, which is no error (section 2.2).
 */
export function revokeRoute(app: PublicListener, deps: PublicDeps, detail: object): void {
  app.post(
    oauthPaths.revoke,
    async ({ exchange, request }) => {
      const form = await readForm(request);
      const application = await authenticateClient(deps, exchange, form);
      const token = required(form, "token");
      const result = await deps.store.tokens.revoke(secretHash(token), application.id);
      if (result === "foreign") {
        throw new OAuthError("invalid_grant", "The token was issued to another client");
      }
      return reply(exchange, 200, null, uncached);
    },
    { access: "anyone", parse: "none", detail },
  );
}
