import { describe, expect, test } from "bun:test";
import { errorOf } from "../support/errors.ts";
import { loginUrl, redirectUri, userTokens } from "../support/oauth.ts";
import { documentOf, operations } from "../support/openapi.ts";
import { json, testServer } from "../support/server.ts";

/*
 * Who may call which route of the public API, and where a token is looked for: in the header Authorization alone.
 */

interface Route {
  readonly method: string;
  readonly path: string;
  /** Whether it takes no token. */
  readonly isOpen: boolean;
  /** The scopes that it needs; none: a token of the application itself. */
  readonly scopes: readonly string[];
}

const server = await testServer({
  args: ["--login-url", loginUrl],
  users: [{ id: 7, username: "maya", display_name: "Maya" }],
});
const app = await server.application({
  delivery: "both",
  webhook_url: "http://127.0.0.1:9/hook",
  redirect_uris: [redirectUri],
});
const ofUser = (await userTokens(server, app, { userId: 7 })).access_token;
/** Applications that have no other scope. */
const [reader, subscriber] = [
  await server.application({ scopes: ["users:read"] }),
  await server.application({ scopes: ["events:subscribe"] }),
];
const document = await documentOf(server.publicUrl);
const routes = operations(document).map(({ name, operation }): Route => {
  const [method = "", path = ""] = name.split(" ");
  const { security = [] } = operation as { security?: { accessToken?: string[] }[] };
  const scopes = security.flatMap(({ accessToken = [] }) => accessToken);
  return { method, path, scopes, isOpen: !security.some(({ accessToken }) => accessToken) };
});

const behindToken = routes.filter(({ isOpen }) => !isOpen);
const api = routes.filter(({ path }) => path.startsWith("/public/"));
const called = (path: string) => path.replace("{username}", "maya").replace(/\{[a-z_]+\}/g, "1");
const subscriptions = "/public/v1/events/subscriptions";

test("a route with a token needs one scope, or is of the application or of any user; routes without a token are a short list", () => {
  const open = api.filter(({ isOpen }) => isOpen);
  expect(open.map(({ method, path }) => `${method} ${path}`).sort()).toEqual([
    "GET /public/v1/categories",
    "GET /public/v1/categories/{id}",
    "GET /public/v1/events/types",
    "GET /public/v1/public-key",
    "GET /public/v1/public-key/standard-webhooks",
  ]);
  for (const { path, scopes } of behindToken) {
    const isOfApplication =
      path.startsWith("/public/v1/application") && !/\/(subscriptions|filters\/test)$/.test(path);
    const scope = /\/users(\/|$)/.test(path) ? "users:read" : "events:subscribe";
    const isForAnyUser = path === "/oauth/userinfo";
    expect([path, scopes]).toEqual([path, isOfApplication || isForAnyUser ? [] : [scope]]);
  }
});

describe("RFC 6750, section 2.1 and 3: a token", () => {
  const refusedRoutes = behindToken.map(({ method, path }) => [method, path] as const);

  test.each(refusedRoutes)("%s %s without a token is 401 missing_token", async (method, path) => {
    const response = await server.get(called(path), undefined, { method });
    expect(response.status).toBe(401);
    expect(response.headers.get("www-authenticate")).toBe('Bearer realm="onair"');
    expect((await errorOf(response)).code).toBe("missing_token");
  });

  test.each(refusedRoutes)("%s %s with an unknown token is 401 invalid_token", async (method, path) => {
    const response = await server.get(called(path), `onair_at_${"x".repeat(43)}`, { method });
    expect(response.status).toBe(401);
    expect(response.headers.get("www-authenticate")).toContain('error="invalid_token"');
    expect((await errorOf(response)).code).toBe("invalid_token");
  });

  test.each([
    [app.client_secret, "a client secret, which POST /oauth/token exchanges for an access token"],
    [`onair_rt_${"x".repeat(43)}`, "a refresh token, which POST /oauth/token exchanges for an access token"],
    [`onair_admin_${"x".repeat(43)}`, "an operator key, for the admin API and the console"],
    [app.webhook_secret, "a webhook secret, with which a receiver verifies deliveries"],
  ])("a secret of another kind is refused with what it is for: %#", async (secret, purpose) => {
    const response = await server.get("/public/v1/users/x", secret);
    expect(response.status).toBe(401);
    const message = `This is ${purpose}; the public API needs an access token`;
    expect(await errorOf(response)).toMatchObject({ code: "invalid_token", message });
  });

  test.each([
    ["webhook secret", app.webhook_secret],
    ["client secret", app.client_secret],
    ["access token", app.token],
  ])("the admin API refuses a %s with what it is for", async (kind, secret) => {
    const response = await server.admin("GET", "/admin/v1/keys", undefined, {
      authorization: `Bearer ${secret}`,
    });
    expect(response.status).toBe(401);
    const { message } = await errorOf(response);
    expect(message).toMatch(new RegExp(`^This is an? ${kind}, .*; this needs an operator key`));
    expect(message).not.toContain(secret);
  });

  test("a webhook secret in place of a client secret is refused with what it is for", async () => {
    const form = new URLSearchParams({
      grant_type: "client_credentials",
      client_id: app.client_id,
      client_secret: app.webhook_secret,
    });
    const response = await server.get("/oauth/token", "", { method: "POST", body: form });
    expect(response.status).toBe(401);
    const { message } = await json<{ message: string }>(response);
    expect(message).toMatch(/^This is a webhook secret, .*; this needs the client secret/);
  });

  test.each(
    behindToken.flatMap(({ method, path, scopes }) => scopes.map((scope) => [method, path, scope] as const)),
  )("%s %s without the scope is 403 and names it: %s", async (method, path, scope) => {
    const { token } = scope === "users:read" ? subscriber : reader;
    const response = await server.get(called(path), token, { method });
    expect(response.status).toBe(403);
    const challenge = response.headers.get("www-authenticate");
    expect(challenge).toContain(`error="insufficient_scope"`);
    expect(challenge).toContain(`scope="${scope}"`);
    const body = await errorOf(response);
    expect(body.code).toBe("insufficient_scope");
    expect(body.message).toContain(scope);
  });

  test("comes before everything else: 401, then 403, then 400, then 404", async () => {
    const bad = { method: "POST", body: "{", headers: { "content-type": "application/json" } };
    expect((await server.get(subscriptions, undefined, bad)).status).toBe(401);
    expect((await server.get(subscriptions, reader.token, bad)).status).toBe(403);
    expect((await server.get(subscriptions, app.token, bad)).status).toBe(400);
    expect((await server.get("/public/v1/users/%00")).status).toBe(401);
    expect((await server.get("/public/v1/users/search?query=x&limit=0")).status).toBe(401);
    expect((await server.get("/public/v1/users/no.such", app.token)).status).toBe(400);
    expect((await server.get("/public/v1/users/no-such", app.token)).status).toBe(404);
  });

  const statusesWith = (init: (route: Route) => { query?: string; init: RequestInit }) =>
    Promise.all(
      behindToken.map(async (route) => {
        const { query = "", init: given } = init(route);
        const response = await server.get(called(route.path) + query, undefined, {
          method: route.method,
          ...given,
        });
        await response.body?.cancel();
        return [`${route.method} ${route.path}`, response.status] as const;
      }),
    );
  const unauthorized = () => behindToken.map(({ method, path }) => [`${method} ${path}`, 401] as const);

  test.each(["Bearer", "bearer", "BEARER", "bEaReR"])("is taken with the scheme %s", async (scheme) => {
    const tokenFor = ({ path }: Route) => (path === "/oauth/userinfo" ? ofUser : app.token);
    const headersFor = (route: Route) => ({ authorization: `${scheme} ${tokenFor(route)}` });
    for (const [route, status] of await statusesWith((route) => ({ init: { headers: headersFor(route) } }))) {
      expect([route, [401, 403].includes(status)]).toEqual([route, false]);
    }
  });

  test.each(["BearerXT ", "bearerxt ", "Bearer", "Bearer\t", "Token ", "Basic ", ""])(
    "is refused behind %p",
    async (scheme) => {
      const headers = { authorization: `${scheme}${app.token}` };
      expect(await statusesWith(() => ({ init: { headers } }))).toEqual(unauthorized());
    },
  );

  test("is refused where it is empty", async () => {
    const headers = { authorization: "Bearer " };
    expect(await statusesWith(() => ({ init: { headers } }))).toEqual(unauthorized());
  });

  test.each(["access_token", "bearer", "token", "Authorization"])("is refused as ?%s=", async (name) => {
    const query = `?${name}=${app.token}`;
    expect(await statusesWith(() => ({ query, init: {} }))).toEqual(unauthorized());
    // Nor beside another scheme, which has as many letters as Bearer.
    const headers = { authorization: "Digest x" };
    expect(await statusesWith(() => ({ query, init: { headers } }))).toEqual(unauthorized());
  });

  test.each(["access_token", "bearer", "token"])("is refused as %s of a body", async (name) => {
    const bodies: RequestInit[] = [
      { body: new URLSearchParams({ [name]: app.token }) },
      { body: JSON.stringify({ [name]: app.token }), headers: { "content-type": "application/json" } },
    ];
    for (const given of bodies) {
      const answers = await statusesWith(({ method }) => ({ init: method === "GET" ? {} : given }));
      expect(answers).toEqual(unauthorized());
    }
  });

  test("is nothing that an open route looks at", async () => {
    const headers = { authorization: "Bearer unknown" };
    for (const { path } of api.filter(({ isOpen }) => isOpen)) {
      const response = await server.get(called(path), undefined, { headers });
      expect([path, [200, 404].includes(response.status)]).toEqual([path, true]);
    }
  });
});
