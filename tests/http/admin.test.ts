import { describe, expect, test } from "bun:test";
import { adminKey, json, startServer, testServer } from "../support/server.ts";

const server = await testServer();

describe("the operator key", () => {
  const routes: [string, string][] = [
    ["POST", "/admin/v1/applications"],
    ["PUT", "/admin/v1/users/1"],
    ["POST", "/admin/v1/users/batch"],
    ["POST", "/admin/v1/categories/batch"],
    ["POST", "/admin/v1/channels/batch"],
    ["PUT", "/admin/v1/livestreams"],
    ["POST", "/admin/v1/events"],
  ];
  test.each(routes)("%s %s needs it", async (method, path) => {
    for (const authorization of [undefined, "Bearer wrong", `Basic ${adminKey}`, `Bearer ${adminKey}x`]) {
      const headers = { "content-type": "application/json", ...(authorization && { authorization }) };
      const response = await fetch(server.app.adminUrl + path, { method, body: "{}", headers });
      expect([authorization, response.status]).toEqual([authorization, 401]);
      expect(await response.text()).not.toContain(adminKey);
    }
  });

  test("is that of its own server, also when another runs in the same process", async () => {
    await using other = await startServer({ env: { ONAIR_ADMIN_KEY: "another-key" } });
    const status = (key: string, url: string) =>
      fetch(`${url}/admin/v1/applications`, { method: "POST", headers: { authorization: `Bearer ${key}` } });
    expect((await status("another-key", other.app.adminUrl)).status).toBe(415);
    expect((await status(adminKey, other.app.adminUrl)).status).toBe(401);
    expect((await status("another-key", server.app.adminUrl)).status).toBe(401);
  });

  test("is not needed for health", async () => {
    for (const path of ["/healthz", "/readyz"])
      expect((await fetch(server.app.adminUrl + path)).status).toBe(200);
  });

  test("errors have the one shape, here too", async () => {
    const unknown = await server.admin("GET", "/admin/v1/nothing");
    expect([unknown.status, await json<object>(unknown)]).toMatchObject([
      404,
      { code: "not_found", errors: [] },
    ]);
    const method = await server.admin("GET", "/admin/v1/events");
    expect([method.status, method.headers.get("allow")]).toEqual([405, "POST, OPTIONS"]);
  });
});

describe("PUT /admin/v1/users/{id}", () => {
  const put = (id: number | string, body: unknown) =>
    server.admin("PUT", `/admin/v1/users/${id}`, body as object);
  test("keeps one user and answers with it", async () => {
    const response = await put(51, { username: "fifty_one", bio: "Hello.\nWorld." });
    expect(response.status).toBe(200);
    expect(await json<object>(response)).toMatchObject({
      user: { id: 51, username: "fifty_one", bio: "Hello.\nWorld.", display_name: "fifty_one" },
    });
  });
  test.each<[string, number | string, unknown, number]>([
    ["an id that is no integer", "x", { username: "x" }, 400],
    ["another id in the body", 52, { id: 53, username: "x" }, 400],
    ["no username", 52, {}, 400],
    ["a body that is no object", 52, [], 400],
    ["a reserved name", 52, { username: "search" }, 409],
    ["a name that is taken", 52, { username: "fifty_one" }, 409],
  ])("refuses %s", async (_, id, body, status) => {
    expect((await put(id, body)).status).toBe(status);
  });
});

describe("POST /admin/v1/applications", () => {
  const create = (body: object) => server.admin("POST", "/admin/v1/applications", body);

  test("answers with the application and its secrets", async () => {
    const response = await create({
      name: "Bot",
      webhook_url: "http://127.0.0.1:9/x",
      redirect_uris: ["https://bot.example/cb"],
    });
    expect(response.status).toBe(201);
    const body = await json<Record<string, unknown>>(response);
    expect(body).toEqual({
      id: expect.any(String),
      name: "Bot",
      client_type: "confidential",
      delivery: "webhook",
      client_id: body["id"],
      client_secret: expect.stringMatching(/^onair_cs_/),
      webhook_url: "http://127.0.0.1:9/x",
      webhook_secret: expect.stringMatching(/^whsec_/),
      scopes: ["users:read", "events:subscribe"],
      redirect_uris: ["https://bot.example/cb"],
      rate_limit: null,
      subscription_limit: null,
      webhook_concurrency: null,
      locked: [],
      owner_user_id: null,
      disabled: false,
      created_at: expect.any(String),
      updated_at: body["created_at"],
    });
  });

  test("lists all wrong fields at once", async () => {
    const response = await create({ name: "", webhook_url: 7, scopes: "x", rate_limit: -1 });
    expect(response.status).toBe(400);
    const { errors } = await json<{ errors: { field: string }[] }>(response);
    expect(errors.map(({ field }) => field).sort()).toEqual(["name", "rate_limit", "scopes", "webhook_url"]);
    const later = await create({ name: "x", webhook_url: "ftp://x.example/", scopes: ["users:write"] });
    const body = await json<{ errors: { field: string }[] }>(later);
    expect(body.errors.map(({ field }) => field).sort()).toEqual(["scopes", "webhook_url"]);
  });

  test("a public client has no secret", async () => {
    const response = await create({
      name: "App",
      client_type: "public",
      redirect_uris: ["http://127.0.0.1/"],
    });
    expect(response.status).toBe(201);
    expect(await json<object>(response)).toMatchObject({ client_type: "public", client_secret: null });
  });

  test("refuses unsafe redirect URIs, and names each", async () => {
    const redirect_uris = ["https://bot.example/", "http://bot.example/", "app.example:/", "javascript:0"];
    const response = await create({ name: "Bot", redirect_uris });
    expect(response.status).toBe(400);
    const { errors } = await json<{ errors: { field: string }[] }>(response);
    const indexes = [1, 2, 3];
    expect(errors.map(({ field }) => field)).toEqual(indexes.map((i) => `redirect_uris[${i}]`));
    expect((await create({ name: "Bot", client_type: "secret" })).status).toBe(400);
  });

  test("takes no http or private webhook URL in production", async () => {
    await using strict = await startServer({ env: { ONAIR_ALLOW_PRIVATE_WEBHOOKS: "false" } });
    const status = async (webhook_url: string) =>
      (await strict.admin("POST", "/admin/v1/applications", { name: "Bot", webhook_url })).status;
    for (const host of ["127.0.0.1", "169.254.169.254", "[::1]", "0x7f.1", "2130706433", "localhost"]) {
      expect([host, await status(`https://${host}/x`)]).toEqual([host, 400]);
    }
    expect(await status("http://bot.example/x")).toBe(400);
    expect(await status("https://bot.example/x")).toBe(201);
  });
});
