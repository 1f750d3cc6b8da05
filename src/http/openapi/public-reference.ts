import { type Scope, scopes } from "../../domain/tokens.ts";
import { version } from "../../runtime/version.ts";
import type { Reference } from "./plugin.ts";

/** The security scheme for an access token that is there already, to be pasted. */
const tokenScheme = "bearerToken";
/** The security scheme for an access token that OAuth gives. */
const oauthScheme = "accessToken";
/** The name of the security scheme for the credentials of an application. */
export const clientScheme = "clientCredentials";

/** The `security` of an operation that needs an access token with a scope, however one comes by it. */
export function tokenSecurity(
  ...needed: readonly Scope[]
): readonly Readonly<Record<string, readonly Scope[]>>[] {
  return [{ [tokenScheme]: [] }, { [oauthScheme]: needed }];
}

/** Tags of the operations in the order in which they are shown. */
const tags = [
  { name: "Tokens", description: "Access tokens of applications and of users (OAuth 2.1)." },
  { name: "Users", description: "Public profiles, by username or by search." },
  { name: "Categories", description: "What is streamed and how many watch it. Needs no token." },
  { name: "Event subscriptions", description: "Which events are sent to the webhook of your application." },
  { name: "Events", description: "What can be subscribed to, and the key that signs it. Needs no token." },
  { name: "Application", description: "Your application itself: look after it without asking the platform." },
  { name: "Deliveries", description: "Was it sent? What became of every event, and how to send it again." },
  { name: "Webhooks", description: "What is sent to your webhook, for each type of event." },
];

const scopeDescriptions: Readonly<Record<Scope, string>> = {
  "users:read": "Look up and search users.",
  "events:subscribe": "List, create and delete event subscriptions, see what was sent and send it again.",
};
const scopeTable = Object.fromEntries(scopes.map((scope) => [scope, scopeDescriptions[scope]]));

const tokenUrl = "{base_url}/oauth/token";

/** The reference of the public API, which is reached at `url`. */
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
              "An access token that you have, in the header `Authorization: Bearer <access_token>`. It needs the scope of the operation.",
          },
          [oauthScheme]: {
            type: "oauth2",
            description: "The same header, with an access token that OAuth gives.",
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
