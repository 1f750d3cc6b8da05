import { Type } from "@sinclair/typebox";
import { scopes } from "../../domain/tokens.ts";
import { answerOf, notModified } from "../http/answers.ts";
import { replyPublicJson } from "../http/content.ts";
import type { RequestContext } from "../http/context.ts";
import { named } from "../http/parameters.ts";
import type { PublicDeps, PublicListener } from "../public/listener.ts";

/** Returns the metadata of this authorization server (RFC 8414, section 2). */
function metadata(issuer: string, hasLogin: boolean) {
  const methods = ["client_secret_basic", "client_secret_post", "none"];
  return {
    issuer,
    ...(hasLogin && { authorization_endpoint: `${issuer}/oauth/authorize` }),
    token_endpoint: `${issuer}/oauth/token`,
    revocation_endpoint: `${issuer}/oauth/revoke`,
    introspection_endpoint: `${issuer}/oauth/introspect`,
    userinfo_endpoint: `${issuer}/oauth/userinfo`,
    scopes_supported: scopes,
    response_types_supported: hasLogin ? ["code"] : [],
    response_modes_supported: ["query"],
    grant_types_supported: [
      ...(hasLogin ? ["authorization_code"] : []),
      "client_credentials",
      "refresh_token",
    ],
    token_endpoint_auth_methods_supported: methods,
    revocation_endpoint_auth_methods_supported: methods,
    introspection_endpoint_auth_methods_supported: methods,
    code_challenge_methods_supported: ["S256"],
    authorization_response_iss_parameter_supported: true,
    service_documentation: `${issuer}/docs`,
  };
}

const list = (description: string) => Type.Array(Type.String(), { description });
const endpoint = (description: string) => Type.String({ format: "uri", description });

const MetadataSchema = named(
  "AuthorizationServerMetadata",
  "OAuth metadata of this server (RFC 8414, section 2).",
  {
    issuer: endpoint("URL of this server; the value of `iss`."),
    authorization_endpoint: Type.Optional(
      endpoint("Authorization endpoint. Absent if the platform has no user login."),
    ),
    token_endpoint: endpoint("Token endpoint."),
    revocation_endpoint: endpoint("Revocation endpoint."),
    introspection_endpoint: endpoint("Introspection endpoint."),
    userinfo_endpoint: endpoint("Endpoint that tells who signed in, for the token of a user."),
    scopes_supported: list("Supported scopes."),
    response_types_supported: list("Supported values of `response_type`."),
    response_modes_supported: list("Supported values of `response_mode`."),
    grant_types_supported: list("Supported values of `grant_type`."),
    token_endpoint_auth_methods_supported: list("Methods of client authentication at the token endpoint."),
    revocation_endpoint_auth_methods_supported: list(
      "Methods of client authentication at the revocation endpoint.",
    ),
    introspection_endpoint_auth_methods_supported: list(
      "Methods of client authentication at the introspection endpoint.",
    ),
    code_challenge_methods_supported: list("Supported values of `code_challenge_method`."),
    authorization_response_iss_parameter_supported: Type.Boolean({
      description: "Whether authorization responses have `iss` (RFC 9207).",
    }),
    service_documentation: endpoint("URL of the documentation."),
  },
);

const Metadata = answerOf(MetadataSchema, {
  description: "The metadata.",
  example: metadata("http://127.0.0.1:8080", true),
});

const keptSeconds = 300;

/**
 * `GET /.well-known/oauth-authorization-server` (RFC 8414, section 3), and the same metadata at the path of OpenID
 * Connect Discovery, for clients that look only there.
 */
export function metadataRoute(app: PublicListener, { publicUrl, loginUrl }: PublicDeps): void {
  const answer = ({ requestContext }: { readonly requestContext: RequestContext }) =>
    replyPublicJson(requestContext, metadata(publicUrl(), loginUrl !== null), keptSeconds);
  const response = { 200: Metadata, 304: notModified(keptSeconds) };
  app.get("/.well-known/oauth-authorization-server", answer, {
    anyone: true,
    response,
    detail: {
      operationId: "getAuthorizationServerMetadata",
      tags: ["Tokens"],
      summary: "Get the metadata of the authorization server",
      description: "Returns the metadata with which OAuth libraries configure themselves (RFC 8414).",
    },
  });
  app.get("/.well-known/openid-configuration", answer, {
    anyone: true,
    response,
    detail: {
      operationId: "getOpenIdConfiguration",
      tags: ["Tokens"],
      summary: "Get the metadata at the path of OpenID Connect",
      description:
        "Returns the metadata of the authorization server, for libraries that look only at this path. There are no ID tokens: `/oauth/userinfo` tells who signed in.",
    },
  });
}
