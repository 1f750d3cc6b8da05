import { type ScopeName, scopesWithin, secretHash } from "../../domain/tokens.ts";
import type { TokenRecord } from "../../store/tokens.ts";
import { replyJson } from "../exchange.ts";
import type { PublicDeps, PublicListener } from "../public/base.ts";
import { authenticateClient } from "./client.ts";
import { OAuthError, oauthPaths, uncached } from "./errors.ts";
import { readForm, required } from "./parameters.ts";

/**
 * `POST /oauth/introspect` (RFC 7662): what a token is good for. An application learns of its own tokens alone; all
 * others are not active (section 2.2), whether they exist or not.
 */
export function introspectRoute(app: PublicListener, deps: PublicDeps, detail: object): void {
  const { store, now, publicUrl } = deps;
  const describe = (token: TokenRecord, scopes: readonly ScopeName[]) => ({
    active: true,
    ...(scopes.length > 0 && { scope: scopes.join(" ") }),
    client_id: token.applicationId,
    ...(token.kind === "access_token" && { token_type: "Bearer" }),
    exp: Math.floor(token.expiresAt / 1000),
    ...(token.userId !== null && { sub: String(token.userId) }),
    iss: publicUrl(),
  });

  app.post(
    oauthPaths.introspect,
    async ({ exchange, request }) => {
      const form = await readForm(request);
      const application = await authenticateClient(deps, exchange, form);
      if (application.client_type === "public") {
        throw new OAuthError("invalid_client", "A public client cannot authenticate, which this needs");
      }
      const token = await store.tokens.inspect(secretHash(required(form, "token")), now());
      const isOwn = token?.applicationId === application.id;
      return replyJson(
        exchange,
        200,
        isOwn ? describe(token, scopesWithin(token.scopes, application.scopes)) : { active: false },
        uncached,
      );
    },
    { access: "anyone", parse: "none", detail },
  );
}
