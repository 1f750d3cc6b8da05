import { describe, expect, test } from "bun:test";
import { maxErrors } from "../../src/batch/apply.ts";
import { categories, channels, users } from "../support/real-data.ts";
import { adminKey, json, startServer, testServer } from "../support/server.ts";

const server = await testServer();
const { token } = await server.application();

interface Report {
  accepted: number;
  rejected: number;
  ignored_fields?: number;
  errors: { line: number; message: string }[];
}
const ndjson = (rows: readonly unknown[]) =>
  rows.map((row) => (typeof row === "string" ? row : JSON.stringify(row))).join("\n");
const batch = async (kind: string, rows: readonly unknown[]) => {
  const response = await server.admin("POST", `/admin/v1/${kind}/batch`, ndjson(rows));
  expect(response.status).toBe(200);
  return json<Report>(response);
};

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
    const other = await startServer({ env: { ONAIR_ADMIN_KEY: "another-key" } });
    const status = (key: string, url: string) =>
      fetch(`${url}/admin/v1/applications`, { method: "POST", headers: { authorization: `Bearer ${key}` } });
    try {
      expect((await status("another-key", other.app.adminUrl)).status).toBe(415);
      expect((await status(adminKey, other.app.adminUrl)).status).toBe(401);
      expect((await status("another-key", server.app.adminUrl)).status).toBe(401);
    } finally {
      await other.stop();
    }
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

describe("batches", () => {
  test("a bad line in the middle is refused with its number and reason, the rest is kept", async () => {
    const report = await batch("users", [
      { id: 1, username: "one" },
      '{"id": 2, "username":',
      { id: "3", username: "a b", followers_count: -1 },
      "",
      { id: 4, username: "Search" },
      { id: 5, username: "ONE" },
      { id: 2 ** 53, username: "big" },
      { id: 6, username: "six", display_name: "a\u0000b" },
      { id: 7, username: "seven\u0000" },
      "null",
      "[".repeat(10_000),
      '{"__proto__": {"x": 1}, "id": 8, "username": "eight"}',
      { id: 9, username: "nine" },
    ]);
    expect(report).toEqual({
      accepted: 3,
      rejected: 9,
      ignored_fields: 1,
      errors: [
        { line: 2, message: "The line is not valid JSON" },
        {
          line: 3,
          message:
            "id must be an integer from 1 to 9007199254740991; username must be 1 to 64 of the characters A-Z a-z 0-9 _ -; followers_count must be an integer from 0 to 9007199254740991",
        },
        { line: 5, message: 'username "search" is reserved, because it is a path of the public API' },
        { line: 6, message: 'username "ONE" is taken by user 1' },
        { line: 7, message: "id must be an integer from 1 to 9007199254740991" },
        { line: 8, message: "display_name must be one line without control characters" },
        { line: 9, message: "username must be 1 to 64 of the characters A-Z a-z 0-9 _ -" },
        { line: 10, message: "body must be an object" },
        { line: 11, message: "The line must not be nested more than 64 deep" },
      ],
    });
    expect((await server.get("/public/v1/users/nine", token)).status).toBe(200);
    expect((await server.get("/public/v1/users/eight", token)).status).toBe(200);
  });

  test("the same again changes nothing and is accepted", async () => {
    expect(await batch("users", users)).toEqual({
      accepted: users.length,
      rejected: 0,
      ignored_fields: 0,
      errors: [],
    });
    expect(await batch("users", users)).toEqual({
      accepted: users.length,
      rejected: 0,
      ignored_fields: 0,
      errors: [],
    });
    expect(await batch("categories", categories)).toMatchObject({ rejected: 0 });
    expect(await batch("categories", categories)).toMatchObject({ rejected: 0 });
    expect(await batch("channels", channels)).toMatchObject({ rejected: 0 });
    expect(await batch("channels", channels)).toMatchObject({ rejected: 0 });
  });

  test("two users can swap no name in one batch, but a name that was freed can be taken", async () => {
    await batch("users", [{ id: 21, username: "freed" }]);
    const report = await batch("users", [
      { id: 21, username: "renamed" },
      { id: 22, username: "freed" },
    ]);
    expect(report.rejected).toBe(0);
  });

  test("names the conflict of a category, a channel and a livestream", async () => {
    expect((await batch("categories", [{ id: 70001, name: "X", slug: categories[0]?.slug }])).errors).toEqual(
      [{ line: 1, message: `slug "just-chatting" is taken by category 1` }],
    );
    expect((await batch("channels", [{ id: 70001, user_id: 5_555_555, slug: "x" }])).errors).toEqual([
      { line: 1, message: "user_id 5555555 is not a known user: import users first" },
    ]);
    expect((await batch("channels", [{ id: 70001, user_id: 1001, slug: "summit1g" }])).errors).toEqual([
      { line: 1, message: 'slug "summit1g" is taken by channel 1002' },
    ]);
    const lines = ndjson([
      { channel_id: 70001, category_id: 1, viewers: 1 },
      { channel_id: 1001, category_id: 70001, viewers: 1 },
      { channel_id: 1001, category_id: 1, viewers: -1 },
    ]);
    const live = await json<Report>(await server.admin("PUT", "/admin/v1/livestreams", lines));
    expect(live.errors).toEqual([
      { line: 1, message: "channel_id 70001 is not a known channel" },
      { line: 2, message: "category_id 70001 is not a known category" },
      { line: 3, message: "viewers must be an integer from 0 to 9007199254740991" },
    ]);
  });

  test("CRLF, blank lines, no last newline, a split anywhere, and invalid UTF-8", async () => {
    const text = `{"id":31,"username":"crlf"}\r\n\r\n  \n{"id":32,"username":"한글x"}\n{"id":33,"username":"last"}`;
    const bytes = new TextEncoder().encode(text);
    for (const size of [1, 7, 4096]) {
      async function* pieces() {
        for (let i = 0; i < bytes.length; i += size) yield bytes.slice(i, i + size);
      }
      const response = await fetch(`${server.app.adminUrl}/admin/v1/users/batch`, {
        method: "POST",
        headers: { authorization: `Bearer ${adminKey}` },
        body: pieces() as unknown as ReadableStream,
      });
      const report = await json<Report>(response);
      expect([report.accepted, report.rejected, report.errors[0]?.line]).toEqual([2, 1, 4]);
    }
    const invalid = Buffer.concat([
      Buffer.from('{"id":34,"username":"x","bio":"'),
      Buffer.from([0xff]),
      Buffer.from('"}'),
    ]);
    const response = await fetch(`${server.app.adminUrl}/admin/v1/users/batch`, {
      method: "POST",
      headers: { authorization: `Bearer ${adminKey}` },
      body: invalid,
    });
    expect((await json<Report>(response)).errors).toEqual([
      { line: 1, message: "The line is not valid UTF-8" },
    ]);
  });

  test("a line over the limit is refused without being kept in memory", async () => {
    const report = await batch("users", [
      `{"id":41,"username":"x","bio":"${"x".repeat(1_000_000)}"}`,
      { id: 42, username: "after" },
    ]);
    expect(report).toMatchObject({ accepted: 1, rejected: 1, errors: [{ line: 1 }] });
  });

  test("the list of errors is bounded, the count is not", async () => {
    const report = await batch(
      "users",
      Array.from({ length: maxErrors + 500 }, () => "{}"),
    );
    expect([report.rejected, report.errors.length]).toEqual([maxErrors + 500, maxErrors]);
  });

  test("an atomic one is taken whole or not at all, and says which line was in the way", async () => {
    const rows = [
      { id: 81, username: "atomic" },
      { id: 82, username: "ATOMIC" },
    ];
    const put = async (body: string) =>
      json<Report>(await server.admin("POST", "/admin/v1/users/batch?atomic=true", body));
    const errors = [{ line: 2, message: 'username "ATOMIC" is taken by user 81' }];
    expect(await put(ndjson(rows))).toEqual({ accepted: 0, rejected: 1, ignored_fields: 0, errors });
    expect((await server.get("/public/v1/users/atomic", token)).status).toBe(404);
    expect(await put(ndjson(rows.slice(0, 1)))).toEqual({
      accepted: 1,
      rejected: 0,
      ignored_fields: 0,
      errors: [],
    });
    expect((await server.get("/public/v1/users/atomic", token)).status).toBe(200);
  });

  test("an empty body is an empty batch", async () => {
    expect(await batch("users", [])).toEqual({ accepted: 0, rejected: 0, ignored_fields: 0, errors: [] });
  });

  test("what is not supported is refused, not ignored", async () => {
    for (const path of ["users/batch?atomic=yes", "events?atomic=1"]) {
      expect([path, (await server.admin("POST", `/admin/v1/${path}`, "{}")).status]).toEqual([path, 400]);
    }
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
