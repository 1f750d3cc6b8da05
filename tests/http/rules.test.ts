import { describe, expect, test } from "bun:test";
import { connect } from "node:net";
import { DomainError } from "../../src/domain/errors.ts";
import { ulidPattern } from "../../src/domain/ids.ts";
import { users } from "../support/real-data.ts";
import { adminKey, json, startServer, testServer } from "../support/server.ts";

/** The rules that hold for every route of the public API. */
const server = await testServer({ users });
const app = await server.application();

interface ErrorBody {
  message: string;
  code: string;
  errors: { in: string; field: string; message: string }[];
  request_id: string;
}

/** An answer that must be an error in the one shape. */
async function errorOf(response: Response): Promise<ErrorBody> {
  expect(response.headers.get("content-type")).toBe("application/json");
  const body = await json<ErrorBody>(response);
  expect(Object.keys(body).sort()).toEqual(["code", "errors", "message", "request_id"]);
  expect(body.request_id).toBe(response.headers.get("x-request-id") ?? "");
  expect(JSON.stringify(body)).not.toMatch(/\.ts|node_modules|at .*\(|SQLITE|SELECT|Elysia/);
  return body;
}

const subscriptions = "/public/v1/events/subscriptions";
const asJson = { "content-type": "application/json" };
const nested = `${"[".repeat(10_000)}${"]".repeat(10_000)}`;

describe("every failure has the one shape", () => {
  const cases: [string, () => [string, RequestInit], number, string][] = [
    ["unknown route", () => ["/nothing/here", {}], 404, "not_found"],
    ["root", () => ["/", {}], 404, "not_found"],
    ["trailing slash", () => ["/public/v1/categories/", {}], 404, "not_found"],
    ["path in another case", () => ["/public/v1/Categories", {}], 404, "not_found"],
    [
      "an admin path on the public listener",
      () => ["/admin/v1/events", { method: "POST" }],
      404,
      "not_found",
    ],
    ["metrics on the public listener", () => ["/metrics", {}], 404, "not_found"],
    ["wrong method", () => ["/public/v1/categories", { method: "POST" }], 405, "method_not_allowed"],
    [
      "wrong method with a parameter",
      () => ["/public/v1/users/x", { method: "PATCH" }],
      405,
      "method_not_allowed",
    ],
    [
      "malformed JSON",
      () => [subscriptions, { method: "POST", body: '{"events":', headers: asJson }],
      400,
      "invalid_json",
    ],
    ["empty body", () => [subscriptions, { method: "POST", body: "", headers: asJson }], 400, "invalid_json"],
    [
      "deep JSON",
      () => [subscriptions, { method: "POST", body: nested, headers: asJson }],
      400,
      "invalid_json",
    ],
    [
      "invalid UTF-8",
      () => [
        subscriptions,
        { method: "POST", body: new Uint8Array([0x22, 0xff, 0xfe, 0x22]), headers: asJson },
      ],
      400,
      "invalid_json",
    ],
    [
      "a body over 64 KiB",
      () => [subscriptions, { method: "POST", body: " ".repeat(65_537), headers: asJson }],
      413,
      "body_too_large",
    ],
    [
      "a body of 10 MB",
      () => [subscriptions, { method: "POST", body: "[".repeat(10_000_000), headers: asJson }],
      413,
      "body_too_large",
    ],
    [
      "a form where JSON belongs",
      () => [subscriptions, { method: "POST", body: new URLSearchParams({ a: "b" }) }],
      415,
      "unsupported_media_type",
    ],
    [
      "a body that is no object",
      () => [subscriptions, { method: "POST", body: "[1]", headers: asJson }],
      400,
      "invalid_parameter",
    ],
    [
      "percent-encoding that does not decode",
      () => ["/public/v1/users/%E0%A4%A", {}],
      400,
      "invalid_parameter",
    ],
    ["a NUL in a username", () => ["/public/v1/users/a%00b", {}], 400, "invalid_parameter"],
  ];
  test.each(cases)("%s", async (_, request, status, code) => {
    const [path, init] = request();
    const response = await server.get(path, app.token, init);
    expect(response.status).toBe(status);
    expect((await errorOf(response)).code).toBe(code);
  });

  test("a chunked body over the limit, without a length", async () => {
    const chunk = new TextEncoder().encode(" ".repeat(16_384));
    async function* endless() {
      for (let i = 0; i < 64; i++) yield chunk;
    }
    const init = { method: "POST", body: endless() as unknown as ReadableStream, headers: asJson };
    const response = await server.get(subscriptions, app.token, init);
    expect(response.status).toBe(413);
    expect((await errorOf(response)).code).toBe("body_too_large");
  });

  test("a crash inside the server tells nothing but the request id", async () => {
    const { store } = server.app;
    const { find } = store.users;
    const users = store.users as { find: unknown };
    users.find = () => Promise.reject(new Error("secret detail of the database"));
    try {
      const response = await server.get("/public/v1/users/xqcow", app.token);
      expect(response.status).toBe(500);
      const body = await errorOf(response);
      expect(body.code).toBe("internal_error");
      expect(JSON.stringify(body)).not.toContain("secret detail");
    } finally {
      users.find = find;
    }
  });

  test("a storage that cannot take it now is 503 with Retry-After, without details", async () => {
    const subscriptionStore = server.app.store.subscriptions as { subscribe: unknown };
    const { subscribe } = subscriptionStore;
    subscriptionStore.subscribe = () => Promise.reject(new DomainError("unavailable", "Not now."));
    try {
      const bot = await server.application({ webhook_url: "http://127.0.0.1:9/x" });
      const body = { events: [{ name: "channel.followed", version: 1 }], broadcaster_user_id: 1001 };
      const response = await server.post(subscriptions, body, bot.token);
      expect([response.status, response.headers.get("retry-after")]).toEqual([503, "5"]);
      expect((await errorOf(response)).code).toBe("unavailable");
    } finally {
      subscriptionStore.subscribe = subscribe;
    }
  });

  test("a key named __proto__ pollutes nothing and is an unknown field like any other", async () => {
    const body =
      '{"__proto__":{"polluted":true},"events":[{"name":"channel.followed","version":1}],"broadcaster_user_id":1001}';
    const response = await server.get(subscriptions, app.token, { method: "POST", body, headers: asJson });
    expect((await errorOf(response).catch(() => null))?.code ?? "subscription_failed").toBe(
      "subscription_failed",
    );
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });
});

describe("methods", () => {
  test("405 names the methods that there are", async () => {
    const cases: [string, string][] = [
      ["/public/v1/users/search", "GET, HEAD, OPTIONS"],
      ["/public/v1/users/xqcow", "GET, HEAD, OPTIONS"],
      ["/public/v1/categories/1", "GET, HEAD, OPTIONS"],
      [subscriptions, "GET, HEAD, POST, DELETE, OPTIONS"],
      ["/oauth/token", "POST, OPTIONS"],
    ];
    for (const [path, allow] of cases) {
      const response = await server.get(path, app.token, { method: "PATCH" });
      expect([path, response.status, response.headers.get("allow")]).toEqual([path, 405, allow]);
    }
  });

  test("HEAD answers like GET, without the body", async () => {
    for (const path of ["/public/v1/categories", "/public/v1/users/xqcow", "/public/v1/users/nobody"]) {
      const get = await server.get(path, app.token);
      const head = await server.get(path, app.token, { method: "HEAD" });
      expect([path, head.status]).toEqual([path, get.status]);
      expect(head.headers.get("content-length")).toBe(String((await get.bytes()).length));
      expect(await head.text()).toBe("");
    }
  });

  test("OPTIONS answers the preflight of any origin, without credentials", async () => {
    const headers = { origin: "https://bot.example", "access-control-request-method": "DELETE" };
    const response = await server.get(subscriptions, undefined, { method: "OPTIONS", headers });
    expect(response.status).toBe(204);
    expect(response.headers.get("access-control-allow-origin")).toBe("*");
    expect(response.headers.get("access-control-allow-methods")).toContain("DELETE");
    expect(response.headers.get("access-control-allow-headers")).toContain("Authorization");
    expect(response.headers.get("access-control-allow-credentials")).toBeNull();
  });

  test("answers and errors alike can be read from any origin", async () => {
    for (const path of ["/public/v1/categories", "/public/v1/users/xqcow", "/nothing"]) {
      const response = await server.get(path);
      expect(response.headers.get("access-control-allow-origin")).toBe("*");
      expect(response.headers.get("access-control-expose-headers")).toContain("X-Request-Id");
    }
  });
});

describe("X-Request-Id", () => {
  test("is made where the caller sent none", async () => {
    const response = await server.get("/public/v1/categories");
    expect(response.headers.get("x-request-id")).toMatch(new RegExp(ulidPattern));
  });
  test("is the caller's where it is sane", async () => {
    const response = await server.get("/nothing", undefined, { headers: { "x-request-id": "trace-42" } });
    expect(response.headers.get("x-request-id")).toBe("trace-42");
    expect((await errorOf(response)).request_id).toBe("trace-42");
  });
  test.each(["a b", "x".repeat(65), "<script>"])("is not the caller's when that is %p", async (id) => {
    const response = await server.get("/nothing", undefined, { headers: { "x-request-id": id } });
    expect(response.headers.get("x-request-id")).not.toBe(id);
  });
});

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

/** The status line of the answer to these bytes. */
async function statusLine(origin: string, request: string): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const socket = connect(Number(new URL(origin).port), "127.0.0.1", () => void socket.write(request));
  let answer = "";
  socket.on("data", (data) => {
    answer += data.toString();
  });
  socket.on("close", () => resolve(answer.split("\r\n")[0] ?? ""));
  return promise;
}

test("a short Host does not lead to another path", async () => {
  const asked = (path: string) => `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`;
  const { publicUrl, adminUrl } = server.app;
  // The router looks for the path from the eleventh character of a URL on.
  expect(await statusLine(publicUrl, asked("/zz/public/v1/categories"))).toStartWith("HTTP/1.1 400 ");
  expect(await statusLine(adminUrl, asked("/zz/healthz"))).toStartWith("HTTP/1.1 400 ");
});

test.each([
  ["with a space", "Host: a b\r\n"],
  ["with a user", "Host: user@localhost\r\n"],
  ["with a path", "Host: localhost/x\r\n"],
  ["with a query", "Host: a?b\r\n"],
  ["that is empty", "Host: \r\n"],
])("a Host %s does not lead to another path", async (_, line) => {
  const { publicUrl, adminUrl } = server.app;
  const asked = (path: string) => `GET ${path} HTTP/1.1\r\n${line}Connection: close\r\n\r\n`;
  const behindLongName = asked("/zzzzzzzzzzzzz/public/v1/categories");
  expect(await statusLine(publicUrl, behindLongName)).toStartWith("HTTP/1.1 400 ");
  expect(await statusLine(adminUrl, asked("/zzzzzzzzzzz/healthz"))).toStartWith("HTTP/1.1 4");
});

describe("a route that takes no body leaves one where it is", () => {
  const retry = "/public/v1/events/deliveries/01KEYN2Q9HAVJ4W6C0B9RZ5T1M/retry";
  const malformed = { method: "POST", body: "{", headers: { "content-type": "application/json" } };

  test("401 comes before a malformed one", async () => {
    expect((await server.get(retry, undefined, malformed)).status).toBe(401);
    const withoutKey = await fetch(`${server.app.adminUrl}/admin/v1/backups`, malformed);
    expect(withoutKey.status).toBe(401);
  });

  test("it changes nothing about the answer", async () => {
    expect((await server.get(retry, app.token, malformed)).status).toBe(404);
    const path = `${subscriptions}?id=01KEYN2Q9HAVJ4W6C0B9RZ5T1M`;
    expect((await server.get(path, app.token, { ...malformed, method: "DELETE" })).status).toBe(204);
  });
});

test("the OpenAPI document does not depend on which routes were asked before it", async () => {
  const other = await startServer();
  await other.post("/oauth/revoke", {});
  await other.post(subscriptions, {}, app.token);
  const answers = await Promise.all([other, server].map((one) => one.get("/openapi.json")));
  const [after, before] = await Promise.all(answers.map((answer) => answer.text()));
  const unplaced = (text = "") => text.replaceAll(/http:\/\/127\.0\.0\.1:\d+/g, "");
  expect(unplaced(after)).toBe(unplaced(before));
  await other.stop();
});

test("everything behind a token is not to be stored", async () => {
  for (const path of ["/public/v1/users/xqcow", "/public/v1/users/search?query=game", subscriptions]) {
    expect((await server.get(path, app.token)).headers.get("cache-control")).toBe("no-store");
  }
});
