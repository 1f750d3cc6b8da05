import { describe, expect, test } from "bun:test";
import { errorOf } from "../support/errors.ts";
import { users } from "../support/real-data.ts";
import { adminKey, testServer } from "../support/server.ts";

/** What a token opens, on every route that needs one. */
const server = await testServer({ users });
const app = await server.application();

const subscriptions = "/public/v1/events/subscriptions";
const asJson = { "content-type": "application/json" };

describe("RFC 6750, section 2.1 and 3: tokens", () => {
  const protectedRoutes: [string, string][] = [
    ["GET", "/public/v1/users/xqcow"],
    ["GET", "/public/v1/users/search?query=game"],
    ["GET", subscriptions],
    ["POST", subscriptions],
    ["DELETE", `${subscriptions}?id=x`],
  ];

  test.each(protectedRoutes)("%s %s without a token is 401 missing_token", async (method, path) => {
    const response = await server.get(path, undefined, { method });
    expect(response.status).toBe(401);
    expect(response.headers.get("www-authenticate")).toBe('Bearer realm="onair"');
    expect((await errorOf(response)).code).toBe("missing_token");
  });

  test.each(protectedRoutes)("%s %s with an unknown token is 401 invalid_token", async (method, path) => {
    const response = await server.get(path, `onair_at_${"x".repeat(43)}`, { method });
    expect(response.status).toBe(401);
    expect(response.headers.get("www-authenticate")).toContain('error="invalid_token"');
    expect((await errorOf(response)).code).toBe("invalid_token");
  });

  test.each(protectedRoutes)("%s %s without the scope is 403 and names it", async (method, path) => {
    const scope = path.includes("/users/") ? "users:read" : "events:subscribe";
    const other = await server.application({
      scopes: [scope === "users:read" ? "events:subscribe" : "users:read"],
    });
    const response = await server.get(path, other.token, { method });
    expect(response.status).toBe(403);
    expect(response.headers.get("www-authenticate")).toContain(`error="insufficient_scope"`);
    expect(response.headers.get("www-authenticate")).toContain(`scope="${scope}"`);
    const body = await errorOf(response);
    expect(body.code).toBe("insufficient_scope");
    expect(body.message).toContain(scope);
  });

  test("are taken from the header alone", async () => {
    const { token } = app;
    const query = await server.get(`/public/v1/users/xqcow?access_token=${token}`);
    expect(query.status).toBe(401);
    const form = await server.get(subscriptions, undefined, {
      method: "POST",
      body: new URLSearchParams({ access_token: token }),
    });
    expect(form.status).toBe(401);
  });

  test("need the scheme Bearer, in any case", async () => {
    const status = async (authorization: string) =>
      (await server.get("/public/v1/users/xqcow", undefined, { headers: { authorization } })).status;
    expect(await status(`Bearer ${app.token}`)).toBe(200);
    expect(await status(`bearer ${app.token}`)).toBe(200);
    expect(await status(`Bearer${app.token}`)).toBe(401);
    expect(await status(`BearerXT ${app.token}`)).toBe(401);
    expect(await status(`Basic ${app.token}`)).toBe(401);
    expect(await status("Bearer ")).toBe(401);
  });

  test("are not the operator key, and the operator key is not a token", async () => {
    expect((await server.get("/public/v1/users/xqcow", adminKey)).status).toBe(401);
    const headers = { authorization: `Bearer ${app.token}` };
    const response = await fetch(`${server.app.adminUrl}/admin/v1/applications`, { method: "POST", headers });
    expect(response.status).toBe(401);
  });

  test("come before everything else: 401, then 403, then 400, then 404", async () => {
    const bad = { method: "POST", body: "{", headers: asJson };
    expect((await server.get(subscriptions, undefined, bad)).status).toBe(401);
    const reader = await server.application({ scopes: ["users:read"] });
    expect((await server.get(subscriptions, reader.token, bad)).status).toBe(403);
    expect((await server.get(subscriptions, app.token, bad)).status).toBe(400);
    expect((await server.get("/public/v1/users/%00")).status).toBe(401);
    expect((await server.get("/public/v1/users/search?query=x&limit=0")).status).toBe(401);
    expect((await server.get("/public/v1/users/no.such", app.token)).status).toBe(400);
    expect((await server.get("/public/v1/users/no-such", app.token)).status).toBe(404);
  });
});

test("everything behind a token is not to be stored", async () => {
  for (const path of ["/public/v1/users/xqcow", "/public/v1/users/search?query=game", subscriptions]) {
    expect((await server.get(path, app.token)).headers.get("cache-control")).toBe("no-store");
  }
});
