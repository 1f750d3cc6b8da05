import { Type } from "@sinclair/typebox";
import { scopes } from "../../domain/tokens.ts";
import { answerOf, notModified } from "../answers.ts";
import { replyPublicJson } from "../content.ts";
import { named } from "../fields.ts";
import type { PublicDeps, PublicListener } from "../public/base.ts";

const metadataPath = "/.well-known/oauth-authorization-server";

/** What clients need to know of this authorization server (RFC 8414, section 2). */
function metadata(issuer: string, hasLogin: boolean) {
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

const list = (description: string) => Type.Array(Type.String(), { description });
const endpoint = (description: string) => Type.String({ format: "uri", description });

const MetadataSchema = named("AuthorizationServerMetadata", "RFC 8414, section 2.", {
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
});

const Metadata = answerOf(MetadataSchema, {
  description: "The metadata.",
  example: metadata("http://127.0.0.1:8080", true),
});

const keptSeconds = 300;

/** `GET /.well-known/oauth-authorization-server` (RFC 8414, section 3). */
export function metadataRoute(
  app: PublicListener,
  { publicUrl, loginUrl }: Pick<PublicDeps, "publicUrl" | "loginUrl">,
): void {
  app.get(
    metadataPath,
    ({ requestContext }) =>
      replyPublicJson(requestContext, metadata(publicUrl(), loginUrl !== null), keptSeconds),
    {
      anyone: true,
      response: { 200: Metadata, 304: notModified(keptSeconds) },
      detail: {
        operationId: "getAuthorizationServerMetadata",
        tags: ["Tokens"],
        summary: "Get the metadata of the authorization server",
        description: "What OAuth libraries need to know of this server; they look for it here (RFC 8414).",
      },
    },
  );
}
