import { type Scope, scopes } from "../../domain/tokens.ts";
import { version } from "../../runtime/version.ts";
import type { Reference } from "./plugin.ts";

/** The security scheme for an existing access token, which the user of the reference pastes. */
const tokenScheme = "bearerToken";
/** The security scheme for an access token obtained through OAuth. */
const oauthScheme = "accessToken";
/** The name of the security scheme for the credentials of an application. */
export const clientScheme = "clientCredentials";

/** Returns the `security` of an operation that requires an access token with scopes, from either scheme. */
export function tokenSecurity(
  ...needed: readonly Scope[]
): readonly Readonly<Record<string, readonly Scope[]>>[] {
  return [{ [tokenScheme]: [] }, { [oauthScheme]: needed }];
}

/** Tags of the operations in the order in which they are shown. */
const tags = [
  { name: "Tokens", description: "Access tokens of applications and of users (OAuth 2.1)." },
  { name: "Users", description: "Public profiles of users: look up by username, or search." },
  { name: "Categories", description: "Categories of livestreams with their viewers. No token is required." },
  { name: "Event subscriptions", description: "Subscriptions of your application to events." },
  { name: "Events", description: "Event types, the event stream, and the key that verifies signatures." },
  { name: "Application", description: "Settings, state, notices and statistics of your application." },
  {
    name: "Deliveries",
    description: "The log of deliveries with their attempts, retries, replays and tests.",
  },
  { name: "Webhooks", description: "Requests to your webhook URL, by event type." },
];

const scopeDescriptions: Readonly<Record<Scope, string>> = {
  "users:read": "Look up and search users.",
  "events:subscribe": "List, create and delete event subscriptions; read deliveries and send them again.",
};
const scopeTable = Object.fromEntries(scopes.map((scope) => [scope, scopeDescriptions[scope]]));

const tokenUrl = "{base_url}/oauth/token";

/** Returns the reference of the public API at `url`. */
export function publicReference(url: () => string): Reference {
  return {
    path: "/docs/api",
    documentation: {
      info: { title: "On Air API", description: "Reference of the On Air API.", version },
      tags,
      components: {
        securitySchemes: {
          [tokenScheme]: {
            type: "http",
            scheme: "bearer",
            description:
              "An existing access token, in the header `Authorization: Bearer <access_token>`. It needs the scope of the operation.",
          },
          [oauthScheme]: {
            type: "oauth2",
            description: "An access token obtained through OAuth, in the same header.",
            flows: {
              clientCredentials: { tokenUrl, scopes: scopeTable },
              authorizationCode: {
                authorizationUrl: "{base_url}/oauth/authorize",
                tokenUrl,
                refreshUrl: tokenUrl,
                scopes: scopeTable,
              },
            },
          },
          [clientScheme]: {
            type: "http",
            scheme: "basic",
            description: "The `client_id` and `client_secret` of an application.",
          },
        },
      },
    },
    scheme: tokenScheme,
    url,
    complete: async (...of) => (await import("./public-document.ts")).publicDocument(...of),
  };
}
