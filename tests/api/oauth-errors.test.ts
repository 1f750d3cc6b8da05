import { describe, expect, test } from "bun:test";
import { DomainError } from "../../src/domain/errors.ts";
import { credentials, type Fields, formOf } from "../support/oauth.ts";
import { Clock, json, testServer } from "../support/server.ts";

// Errors of the endpoints that clients call have the fields of RFC 6749 and the usual four, whatever their status.

// With a clock of its own it has one thread, whose store can be made to fail.
const server = await testServer({ clock: new Clock(), hasInternalErrors: true });
const app = await server.application();
const limited = await testServer({ args: ["--rate-limit", "1", "--trusted-proxies", "127.0.0.1"] });

const post = (path: string, fields: Fields, init: RequestInit = {}) =>
  server.get(path, undefined, { method: "POST", body: formOf(fields), ...init });

/** Has the store fail while a request is answered. */
async function failing(error: Error, request: () => Promise<Response>): Promise<Response> {
  const applications = server.app.store.applications as { find: unknown };
  const { find } = applications;
  applications.find = () => Promise.reject(error);
  try {
    return await request();
  } finally {
    applications.find = find;
  }
}

const good = () => ({ grant_type: "client_credentials", token: "x", ...credentials(app) });
const large = () => ({ ...good(), state: "x".repeat(65 * 1024) });
async function limitedTwice(path: string): Promise<Response> {
  const headers = { "x-forwarded-for": `198.51.100.${path.length}` };
  const ask = () => limited.get(path, undefined, { method: "POST", body: formOf(good()), headers });
  await ask();
  return ask();
}
const secretDetail = () => new Error("secret detail");
const notNow = () => new DomainError("unavailable", "Not now.");

const cases: [status: number, code: string, error: string, request: (path: string) => Promise<Response>][] = [
  [400, "invalid_request", "invalid_request", (path) => post(path, credentials(app))],
  [401, "invalid_client", "invalid_client", (path) => post(path, { ...good(), client_secret: "wrong" })],
  [405, "method_not_allowed", "invalid_request", (path) => server.get(path)],
  [413, "body_too_large", "invalid_request", (path) => post(path, large())],
  [415, "unsupported_media_type", "invalid_request", (path) => server.post(path, good())],
  [
    415,
    "unsupported_media_type",
    "invalid_request",
    (path) => server.get(path, undefined, { method: "POST" }),
  ],
  [429, "rate_limited", "temporarily_unavailable", limitedTwice],
  [500, "internal_error", "server_error", (path) => failing(secretDetail(), () => post(path, good()))],
  [503, "unavailable", "temporarily_unavailable", (path) => failing(notNow(), () => post(path, good()))],
];

describe.each(["/oauth/token", "/oauth/revoke", "/oauth/introspect"])("%s", (path) => {
  test.each(cases)("%i %s", async (status, code, error, request) => {
    const answer = await request(path);
    const text = await answer.text();
    const body = JSON.parse(text);
    expect([answer.status, answer.headers.get("content-type")]).toEqual([status, "application/json"]);
    expect(body).toEqual({
      error,
      error_description: body.message,
      message: expect.any(String),
      code,
      errors: [],
      request_id: answer.headers.get("x-request-id"),
    });
    // RFC 6749, section 5.2: what an error_description may hold.
    expect(body.error_description).toMatch(/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/);
    expect(text).not.toContain("secret detail");
    expect(answer.headers.get("cache-control")).toBe("no-store");
    expect(answer.headers.has("retry-after")).toBe([429, 503].includes(status));
    expect(answer.headers.get("allow")).toBe(status === 405 ? "POST, OPTIONS" : null);
    expect(answer.headers.has("www-authenticate")).toBe(status === 401);
  });
});

test.each([
  ["/oauth/authorize", "POST", 405],
  ["/oauth/authorize", "GET", 400],
])("%s answers programs alike: %s %d", async (path, method, status) => {
  const answer = await server.get(path, undefined, { method });
  expect([answer.status, await answer.json()]).toEqual([
    status,
    expect.objectContaining({ error: "invalid_request", error_description: expect.any(String), errors: [] }),
  ]);
});

test("other paths have the usual four fields alone", async () => {
  const answer = await server.get("/oauth/tokens");
  expect(Object.keys(await json<object>(answer)).sort()).toEqual(["code", "errors", "message", "request_id"]);
});
