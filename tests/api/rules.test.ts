import { describe, expect, test } from "bun:test";
import { DomainError } from "../../src/domain/errors.ts";
import { ulidPattern } from "../../src/domain/ids.ts";
import { errorOf } from "../support/errors.ts";
import { form } from "../support/oauth.ts";
import { register } from "../support/publishing.ts";
import { users } from "../support/real-data.ts";
import { json, ownServer, testServer } from "../support/server.ts";

/** The rules that hold for every route of the public API. */
const server = await testServer({ users, hasInternalErrors: true });
const app = await server.application();

const subscriptions = "/public/v1/events/subscriptions";
const asJson = { "content-type": "application/json" };
const nested = `${"[".repeat(10_000)}${"]".repeat(10_000)}`;

describe("every failure has the one shape", () => {
  const post = (body: string | Uint8Array<ArrayBuffer>): RequestInit => ({
    method: "POST",
    body,
    headers: asJson,
  });
  const asForm = () => ({ method: "POST", body: new URLSearchParams({ a: "b" }) });
  const packed = () => ({ ...post(Bun.gzipSync("{}")), headers: { ...asJson, "content-encoding": "gzip" } });
  test.each<[string, string, (() => RequestInit) | string, number, string]>([
    ["an unknown route", "/nothing/here", "GET", 404, "not_found"],
    ["the root", "/", "GET", 404, "not_found"],
    ["a trailing slash", "/public/v1/categories/", "GET", 404, "not_found"],
    ["a path in another case", "/public/v1/Categories", "GET", 404, "not_found"],
    ["an admin path on the public listener", "/admin/v1/events", "POST", 404, "not_found"],
    ["metrics on the public listener", "/metrics", "GET", 404, "not_found"],
    ["a wrong method", "/public/v1/categories", "POST", 405, "method_not_allowed"],
    ["percent-encoding that does not decode", "/public/v1/users/%E0%A4%A", "GET", 400, "invalid_parameter"],
    ["a NUL in a username", "/public/v1/users/a%00b", "GET", 400, "invalid_parameter"],
    ["malformed JSON", subscriptions, () => post('{"events":'), 400, "invalid_json"],
    ["deep JSON", subscriptions, () => post(nested), 400, "invalid_json"],
    [
      "invalid UTF-8",
      subscriptions,
      () => post(new Uint8Array([0x22, 0xff, 0xfe, 0x22])),
      400,
      "invalid_json",
    ],
    ["a body over 64 KiB", subscriptions, () => post(" ".repeat(65_537)), 413, "body_too_large"],
    ["a body of 10 MB", subscriptions, () => post("[".repeat(10_000_000)), 413, "body_too_large"],
    ["a form where JSON belongs", subscriptions, asForm, 415, "unsupported_media_type"],
    ["compressed JSON", subscriptions, packed, 415, "unsupported_media_type"],
  ])("%s", async (_, path, request, status, code) => {
    const init = typeof request === "string" ? { method: request } : request();
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

  test("a crash inside the server is answered with nothing but the request id", async () => {
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
      ["/public/v1/users", "GET, HEAD, OPTIONS"],
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
      expect([...head.headers.keys()].sort()).toEqual([...get.headers.keys()].sort());
      expect(head.headers.get("content-length")).toBe(String((await get.bytes()).length));
      expect(await head.text()).toBe("");
    }
  });

  test.each([
    ["a route", subscriptions],
    ["a route that has other methods", "/public/v1/categories"],
    ["an unknown path", "/public/v1/nothing"],
    ["a path with a slash at its end", `${subscriptions}/`],
    ["a path that does not decode", "/public/v1/users/%E0%A4%A"],
  ])("OPTIONS permits every request of any origin to %s, without credentials", async (_, path) => {
    const asked = [
      "authorization",
      "client-id",
      "cache-control",
      "x-requested-with",
      "tracestate",
      "baggage",
    ];
    const headers = {
      origin: "https://bot.example",
      "access-control-request-method": "DELETE",
      "access-control-request-headers": asked.join(","),
    };
    const permitted = await server.get(path, undefined, { method: "OPTIONS", headers });
    const plain = await server.get(path, undefined, { method: "OPTIONS" });
    const words = (name: string) => permitted.headers.get(name)?.toLowerCase().split(/, ?/);
    expect([permitted.status, plain.status]).toEqual([204, 204]);
    expect(words("access-control-allow-origin")).toEqual(["*"]);
    expect(words("access-control-allow-methods")).toContain("delete");
    expect(words("access-control-allow-headers")).toEqual(asked);
    expect(plain.headers.get("access-control-allow-headers")).toBe("*, Authorization");
    expect(permitted.headers.get("access-control-allow-credentials")).toBeNull();
  });

  test("the admin listener permits nothing to other origins", async () => {
    for (const path of ["/admin/v1/applications", "/nothing"]) {
      const headers = { origin: "https://bot.example", "access-control-request-headers": "authorization" };
      const response = await server.admin("OPTIONS", path, undefined, headers);
      const names = [...response.headers.keys()].filter((name) => name.startsWith("access-control-"));
      expect([path, names]).toEqual([path, []]);
    }
  });

  test("answers and errors alike can be read from any origin", async () => {
    for (const path of ["/public/v1/categories", "/public/v1/users/xqcow", "/nothing"]) {
      const response = await server.get(path);
      expect(response.headers.get("access-control-allow-origin")).toBe("*");
      expect(response.headers.get("access-control-expose-headers")).toContain("X-Request-Id");
    }
  });
});

test("an answer has no header of the answer before it", async () => {
  const limited = await server.application({ rate_limit: 100 });
  const answers = [
    await server.get("/public/v1/categories"),
    await server.get("/public/v1/users/nobody", limited.token),
    await server.get("/public/v1/users/nobody"),
    await server.get("/public/v1/categories"),
  ];
  const has = (name: string) => answers.map(({ headers }) => headers.has(name));
  expect(answers.map(({ status }) => status)).toEqual([200, 404, 401, 200]);
  expect(has("etag")).toEqual([true, false, false, true]);
  expect(has("ratelimit-remaining")).toEqual([false, true, false, false]);
  expect(has("www-authenticate")).toEqual([false, false, true, false]);
  const caching = answers.map(({ headers }) => headers.get("cache-control"));
  expect(caching).toEqual(["public, max-age=1", "no-store", "no-store", "public, max-age=1"]);
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

describe("a route that takes no body leaves one where it is", () => {
  const retry = "/public/v1/events/deliveries/01KEYN2Q9HAVJ4W6C0B9RZ5T1M/retry";
  const malformed = { method: "POST", body: "{", headers: { "content-type": "application/json" } };

  test("401 comes before a malformed one", async () => {
    expect((await server.get(retry, undefined, malformed)).status).toBe(401);
    const withoutKey = await fetch(`${server.adminUrl}/admin/v1/backups`, malformed);
    expect(withoutKey.status).toBe(401);
  });

  test("it changes nothing about the answer", async () => {
    expect((await server.get(retry, app.token, malformed)).status).toBe(404);
    const path = `${subscriptions}?id=01KEYN2Q9HAVJ4W6C0B9RZ5T1M`;
    expect((await server.get(path, app.token, { ...malformed, method: "DELETE" })).status).toBe(204);
  });
});

test("the OpenAPI document does not depend on which routes were asked before it", async () => {
  const other = await ownServer();
  await other.post("/oauth/revoke", {});
  await other.post(subscriptions, {}, app.token);
  const answers = await Promise.all([other, server].map((one) => one.get("/openapi.json")));
  const [after, before] = await Promise.all(answers.map((answer) => answer.text()));
  const unplaced = (text = "") => text.replaceAll(/http:\/\/127\.0\.0\.1:\d+/g, "");
  expect(unplaced(after)).toBe(unplaced(before));
});

test.each([
  ["/public/v1/categories", 1],
  ["/public/v1/events/types", 0],
  ["/public/v1/public-key", 300],
  ["/public/v1/public-key/standard-webhooks", 300],
  ["/.well-known/oauth-authorization-server", 300],
])("%s may be kept for %d s by everybody, and asked for again", async (path, seconds) => {
  const first = await server.get(path);
  const etag = first.headers.get("etag") ?? "";
  expect([first.status, first.headers.get("cache-control")]).toEqual([200, `public, max-age=${seconds}`]);
  const again = () => server.get(path, undefined, { headers: { "if-none-match": etag } });
  const unchanged = await again();
  expect([unchanged.status, await unchanged.text(), unchanged.headers.get("etag")]).toEqual([304, "", etag]);
  if (path !== "/public/v1/events/types") return;
  await register(server, "raffle.won", { version: 1, schema: { type: "object" }, example: {} });
  const changed = await again();
  expect([changed.status, changed.headers.get("etag") === etag]).toEqual([200, false]);
  expect(await changed.text()).toContain("raffle.won");
});

// PostgreSQL cannot have this text. `inputs.test.ts` has it in parameters.
test("U+0000 is the same error on both databases, wherever it is", async () => {
  const body = { from: "2026-01-14T16:00:00Z", to: "2026-01-14T17:00:00Z", subscription_id: "\0" };
  expect(await json(await server.post("/public/v1/events/replays", body, app.token))).toMatchObject({
    code: "invalid_parameter",
    errors: [{ in: "body", field: "subscription_id" }],
  });
  const page = await server.get("/oauth/authorize?response_type=code&client_id=%00");
  expect(await json(page)).toMatchObject({ error: "invalid_request", code: "invalid_request" });
  const client = { grant_type: "client_credentials", client_id: "\0", client_secret: "x" };
  const refused = await form(server, "/oauth/token", client);
  expect([400, 401]).toContain(refused.status);
  expect(refused.body.error).toMatch(/^invalid_(client|request)$/);
  for (const path of ["audit?key=%00", "subscriptions?channel=%00"])
    expect([200, 400]).toContain((await server.admin("GET", `/admin/v1/${path}`)).status);
});
