import { Type } from "@sinclair/typebox";
import { loginLimits } from "../../domain/authorizations.ts";
import { parametersOf } from "./reference.ts";
import { commonHeaders } from "./reference-errors.ts";
import { exampleClientId, exampleRedirectUri, scopeField, tag } from "./reference-oauth.ts";
import { oauthErrorResponses } from "./reference-oauth-errors.ts";
import type { Json } from "./reference-schemas.ts";

const AuthorizeQuery = Type.Object({
  response_type: Type.Literal("code", { description: "The only one there is.", examples: ["code"] }),
  client_id: Type.String({ description: "The application.", examples: [exampleClientId] }),
  redirect_uri: Type.Optional(
    Type.String({
      description: "One that the application has registered; it may be left out where there is only one.",
      examples: [exampleRedirectUri],
    }),
  ),
  ...scopeField("All that the application may have, if left out."),
  state: Type.Optional(
    Type.String({
      maxLength: loginLimits.maxStateBytes,
      description: "Comes back to the redirect URI as it is. Make it unguessable.",
    }),
  ),
  code_challenge: Type.String({
    pattern: "^[A-Za-z0-9_-]{43}$",
    description: "The SHA-256 of the code verifier, in base64url (RFC 7636).",
    examples: ["E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"],
  }),
  code_challenge_method: Type.Literal("S256", { description: "The only one there is.", examples: ["S256"] }),
  response_mode: Type.Optional(Type.Literal("query", { description: "The only one there is." })),
});

/** What a person sees in place of JSON. */
const page = { "text/html": { schema: { type: "string", description: "A page for the person." } } };
const { 401: _, 413: __, 415: ___, ...failed } = oauthErrorResponses(["invalid_request"]);

/** The OpenAPI operation of `GET /oauth/authorize`. */
export const authorizeDetail: Json = {
  operationId: "authorize",
  summary: "Ask a user for consent",
  description:
    "Send the user's browser here (RFC 6749, section 4.1.1, with PKCE). It goes on to the login and consent of the platform, and from there to your `redirect_uri` with `code`, `state` and `iss`, or with `error` and `error_description`. A request whose application or `redirect_uri` is wrong ends here, because it cannot be sent back.",
  tags: [tag],
  security: [],
  parameters: parametersOf("query", AuthorizeQuery),
  responses: {
    303: {
      description: "The browser goes on.",
      headers: {
        ...commonHeaders,
        Location: {
          description: "The login of the platform, or the redirect URI of the application.",
          schema: { type: "string", format: "uri" },
          example: `${exampleRedirectUri}?error=access_denied&state=xyz`,
        },
      },
    },
    ...failed,
    400: { ...failed[400], content: Object.assign({}, failed[400]?.["content"], page) },
  },
};
