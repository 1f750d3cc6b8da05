import { scopes } from "../../domain/tokens.ts";
import { replyJson } from "../exchange.ts";
import type { PublicDeps, PublicListener } from "../public/base.ts";

export const metadataPath = "/.well-known/oauth-authorization-server";

/** What clients need to know of this authorization server (RFC 8414, section 2). */
export function metadata(issuer: string, hasLogin: boolean) {
  const methods = ["client_secret_basic", "client_secret_post"];
  const withPublic = [...methods, "none"];
  return {
    issuer,
    ...(hasLogin && { authorization_endpoint: `${issuer}/oauth/authorize` }),
    token_endpoint: `${issuer}/oauth/token`,
    revocation_endpoint: `${issuer}/oauth/revoke`,
    introspection_endpoint: `${issuer}/oauth/introspect`,
    scopes_supported: scopes,
    response_types_supported: hasLogin ? ["code"] : [],
    response_modes_supported: ["query"],
    grant_types_supported: [
      ...(hasLogin ? ["authorization_code"] : []),
      "client_credentials",
      "refresh_token",
    ],
    token_endpoint_auth_methods_supported: withPublic,
    revocation_endpoint_auth_methods_supported: withPublic,
    introspection_endpoint_auth_methods_supported: methods,
    code_challenge_methods_supported: ["S256"],
    authorization_response_iss_parameter_supported: true,
    service_documentation: `${issuer}/docs`,
  };
}

/** `GET /.well-known/oauth-authorization-server` (RFC 8414, section 3). */
export function metadataRoute(
  app: PublicListener,
  { publicUrl, loginUrl }: Pick<PublicDeps, "publicUrl" | "loginUrl">,
  detail: object,
): void {
  app.get(
    metadataPath,
    ({ exchange }) => {
      const cache = { "cache-control": "public, max-age=300" };
      return replyJson(exchange, 200, metadata(publicUrl(), loginUrl !== null), cache);
    },
    { access: "anyone", parse: "none", detail },
  );
}
