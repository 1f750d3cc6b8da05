import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { DomainError } from "../../src/domain/errors.ts";
import { credentials, type Fields, formOf } from "../support/oauth.ts";
import { Clock, json, startServer, type TestApplication, type TestServer } from "../support/server.ts";

// Errors of the endpoints that clients call have the fields of RFC 6749 and the usual four, whatever their status.

let server: TestServer;
let limited: TestServer;
let app: TestApplication;

beforeAll(async () => {
  // With a clock of its own it has one thread, whose store can be made to fail.
  server = await startServer({ clock: new Clock() });
  app = await server.application();
  limited = await startServer({ args: ["--rate-limit", "1", "--trusted-proxies", "127.0.0.1"] });
});
afterAll(() => Promise.all([server.stop(), limited.stop()]));

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

interface Case {
  readonly status: number;
  readonly code: string;
  readonly error: string;
  readonly request: (path: string) => Promise<Response>;
}

const good = () => ({ grant_type: "client_credentials", token: "x", ...credentials(app) });
const cases: Case[] = [
  {
    status: 400,
    code: "invalid_request",
    error: "invalid_request",
    request: (path) => post(path, credentials(app)),
  },
  {
    status: 401,
    code: "invalid_client",
    error: "invalid_client",
    request: (path) => post(path, { ...good(), client_secret: "wrong" }),
  },
  {
    status: 405,
    code: "method_not_allowed",
    error: "invalid_request",
    request: (path) => server.get(path),
  },
  {
    status: 413,
    code: "body_too_large",
    error: "invalid_request",
    request: (path) => post(path, { ...good(), state: "x".repeat(65 * 1024) }),
  },
  {
    status: 415,
    code: "unsupported_media_type",
    error: "invalid_request",
    request: (path) => server.post(path, good()),
  },
  {
    status: 415,
    code: "unsupported_media_type",
    error: "invalid_request",
    request: (path) => server.get(path, undefined, { method: "POST" }),
  },
  {
    status: 429,
    code: "rate_limited",
    error: "temporarily_unavailable",
    async request(path) {
      const ask = () =>
        limited.get(path, undefined, {
          method: "POST",
          body: formOf(good()),
          headers: { "x-forwarded-for": `198.51.100.${path.length}` },
        });
      await ask();
      return ask();
    },
  },
  {
    status: 500,
    code: "internal_error",
    error: "server_error",
    request: (path) => failing(new Error("secret detail"), () => post(path, good())),
  },
  {
    status: 503,
    code: "unavailable",
    error: "temporarily_unavailable",
    request: (path) => failing(new DomainError("unavailable", "Not now."), () => post(path, good())),
  },
];

describe.each(["/oauth/token", "/oauth/revoke", "/oauth/introspect"])("%s", (path) => {
  test.each(cases)("$status $code", async ({ status, code, error, request }) => {
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
