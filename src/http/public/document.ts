import { type ElysiaSwaggerConfig, swagger } from "@elysiajs/swagger";
import { type AnyElysia, Elysia } from "elysia";
import { type Scope, scopes } from "../../domain/tokens.ts";
import { version } from "../../version.ts";
import introduction from "./assets/introduction.md" with { type: "text" };
import { tokenScheme } from "./reference.ts";
import { clientScheme } from "./reference-oauth.ts";
import { descriptionOf, hoist, type Json } from "./reference-schemas.ts";
import { webhooks } from "./reference-webhooks.ts";

/** Tags of the operations in the order in which they are shown. */
const tags = [
  { name: "Tokens", description: "Access tokens of applications and of users (OAuth 2.1)." },
  { name: "Users", description: "Public profiles, by username or by search." },
  { name: "Categories", description: "What is streamed and how many watch it. Needs no token." },
  { name: "Event subscriptions", description: "Which events are sent to the webhook of your application." },
  { name: "Events", description: "What can be subscribed to, and the key that signs it. Needs no token." },
  { name: "Deliveries", description: "Was it sent? What became of every event, and how to send it again." },
  { name: "Webhooks", description: "What is sent to your webhook, for each type of event." },
];

const scopeDescriptions: Readonly<Record<Scope, string>> = {
  "users:read": "Look up and search users.",
  "events:subscribe": "List, create and delete event subscriptions, see what was sent and send it again.",
};

/** Whom to ask is for the platform to say; what there is to read is here. */
export const contact = (url: string): Json => ({ name: "On Air", url: `${url}/docs` });

/** Where examples say that the server is. The document has its real address in its place. */
const exampleUrl = "http://127.0.0.1:8080";

/** The OpenAPI document of the routes of an app that is reached at `url`. */
export async function publicDocument(app: AnyElysia, url: string): Promise<Json> {
  const gathered = JSON.stringify(await gatheredPaths(app));
  const paths: Json = JSON.parse(gathered.replaceAll(exampleUrl, url));
  return hoist({
    openapi: "3.1.0",
    info: {
      title: "On Air",
      version,
      summary: "The public developer API of a live-streaming platform.",
      description: introduction.replaceAll("{base_url}", url).trim(),
      contact: contact(url),
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url }],
    tags,
    paths,
    webhooks: JSON.parse(JSON.stringify(webhooks("Webhooks"))),
    components: { securitySchemes: securitySchemes(url) },
  });
}

/** The paths of an app's routes, as the plugin gathers them from what each route says of itself. */
export async function gatheredPaths(app: AnyElysia): Promise<Json> {
  const at = "/document";
  const { paths } = JSON.parse(
    await askPlugin(at, { specPath: at, excludeStaticFile: false }, app.routes),
  ) as { paths: Json };
  return paths;
}

/**
 * What the swagger plugin answers at a path in an app of these routes. Nobody can reach that app, because the
 * plugin's document is not valid: it is of OpenAPI 3.0, which knows neither our schemas nor webhooks.
 */
export async function askPlugin(
  at: string,
  options: ElysiaSwaggerConfig<string>,
  routes: AnyElysia["routes"] = [],
): Promise<string> {
  const shadow = new Elysia().use(swagger(options));
  for (const { method, path, hooks } of routes) {
    shadow.route(method, path, () => null, { detail: (await descriptionOf(hooks)) ?? { hide: true } });
  }
  return (await shadow.handle(new Request(`http://shadow.invalid${at}`))).text();
}

function securitySchemes(url: string): Json {
  return {
    [tokenScheme]: {
      type: "oauth2",
      description: "An access token in the header: `Authorization: Bearer <access_token>`.",
      flows: {
        clientCredentials: { tokenUrl: `${url}/oauth/token`, scopes: scopeTable() },
        authorizationCode: {
          authorizationUrl: `${url}/oauth/authorize`,
          tokenUrl: `${url}/oauth/token`,
          refreshUrl: `${url}/oauth/token`,
          scopes: scopeTable(),
        },
      },
    },
    [clientScheme]: {
      type: "http",
      scheme: "basic",
      description: "The `client_id` and `client_secret` of an application.",
    },
  };
}

function scopeTable(): Json {
  return Object.fromEntries(scopes.map((scope) => [scope, scopeDescriptions[scope]]));
}
