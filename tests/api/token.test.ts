import { describe, expect, test } from "bun:test";
import { day } from "../../src/domain/time.ts";
import { appTokensKept } from "../../src/domain/tokens.ts";
import { clientCredentials } from "../support/oauth.ts";
import { users } from "../support/real-data.ts";
import {
  Clock,
  json,
  ownServer,
  type TestApplication,
  type TestServer,
  testServer,
} from "../support/server.ts";

const clock = new Clock();

const server = await testServer({ clock, users });
const app = await server.application();

type Fields = Record<string, string>;
interface Answer {
  access_token?: string;
  token_type?: string;
  expires_in?: number;
  scope?: string;
  error?: string;
  error_description?: string;
}

async function token(fields: Fields | string, headers: Fields = {}) {
  const body = typeof fields === "string" ? fields : new URLSearchParams(fields).toString();
  const type = { "content-type": "application/x-www-form-urlencoded" };
  const response = await server.get("/oauth/token", undefined, {
    method: "POST",
    body,
    headers: { ...type, ...headers },
  });
  return { status: response.status, headers: response.headers, body: await json<Answer>(response) };
}
const basic = (id: string, secret: string) => ({
  authorization: `Basic ${btoa(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`)}`,
});
const grant = { grant_type: "client_credentials" };
const posted = () => ({ client_id: app.client_id, client_secret: app.client_secret });

describe("RFC 6749, section 4.4 and 5.1: a token of an application", () => {
  test.each(["client_secret_post", "client_secret_basic"])("is issued by %s", async (way) => {
    const { status, headers, body } =
      way === "client_secret_post"
        ? await token({ ...grant, ...posted() })
        : await token(grant, basic(app.client_id, app.client_secret));
    expect(status).toBe(200);
    expect(body).toEqual({
      access_token: expect.stringMatching(/^onair_at_[A-Za-z0-9_-]{43}$/),
      token_type: "Bearer",
      expires_in: 60 * 24 * 3600,
      scope: "users:read events:subscribe",
    });
    expect(headers.get("cache-control")).toBe("no-store");
    expect(headers.get("pragma")).toBe("no-cache");
    expect((await server.get("/public/v1/users/xqcow", body.access_token)).status).toBe(200);
  });

  test("has the scopes that were asked for, in the spelling of the request; user:read means users:read", async () => {
    expect((await token({ ...grant, ...posted(), scope: "events:subscribe" })).body.scope).toBe(
      "events:subscribe",
    );
    for (const scope of ["user:read", "events:subscribe user:read", "user:read users:read", "users:read"]) {
      const { body } = await token({ ...grant, ...posted(), scope });
      expect(body.scope).toBe(scope);
      expect((await server.get("/public/v1/users/xqcow", body.access_token)).status).toBe(200);
    }
    const repeated = await token({ ...grant, ...posted(), scope: "user:read user:read" });
    expect(repeated.body.scope).toBe("user:read");
    const { body } = await token({ ...grant, ...posted(), scope: "user:read" });
    expect((await server.get("/public/v1/events/subscriptions", body.access_token)).status).toBe(403);
  });

  test("is issued beside a bearer token in the header, which is no client authentication", async () => {
    for (const bearer of [`Bearer ${app.token}`, "bearer unknown", "Bearer", "BEARER a b"]) {
      const { status, body } = await token({ ...grant, ...posted() }, { authorization: bearer });
      expect([status, body.token_type]).toEqual([200, "Bearer"]);
    }
  });

  test("is issued whatever is unknown in the form, also where resource is repeated (RFC 8707)", async () => {
    const { client_id, client_secret } = app;
    const known = new URLSearchParams({ ...grant, client_id, client_secret });
    const { status, body } = await token(
      `${known}&resource=https://a.example&resource=https://b.example&x=y`,
    );
    expect([status, body.token_type]).toEqual([200, "Bearer"]);
  });

  test("ends after 60 days", async () => {
    const { body } = await token({ ...grant, ...posted() });
    clock.advance(60 * day - 1);
    expect((await server.get("/public/v1/users/xqcow", body.access_token)).status).toBe(200);
    clock.advance(1);
    const late = await server.get("/public/v1/users/xqcow", body.access_token);
    expect(late.status).toBe(401);
    expect((await json<{ code: string }>(late)).code).toBe("invalid_token");
  });
});

describe("RFC 6749, section 2.3.1 and 5.2: is refused", () => {
  const cases: [string, () => [Fields | string, Fields?], number, string][] = [
    ["without a grant type", () => [posted()], 400, "invalid_request"],
    ["another grant type", () => [{ ...posted(), grant_type: "password" }], 400, "unsupported_grant_type"],
    ["an unknown client", () => [{ ...grant, client_id: "x", client_secret: "y" }], 401, "invalid_client"],
    ["an empty scope", () => [{ ...grant, ...posted(), scope: " " }], 400, "invalid_scope"],
    [
      "another client_id beside Basic",
      () => [{ ...grant, client_id: "x" }, basic(app.client_id, app.client_secret)],
      400,
      "invalid_request",
    ],
    ["a wrong secret", () => [{ ...grant, ...posted(), client_secret: "wrong" }], 401, "invalid_client"],
    [
      "the secret of another client",
      () => [grant, basic(app.id, `${app.client_secret}x`)],
      401,
      "invalid_client",
    ],
    ["no client at all", () => [grant], 401, "invalid_client"],
    ["no secret", () => [{ ...grant, client_id: app.client_id }], 401, "invalid_client"],
    [
      "two ways at once",
      () => [{ ...grant, ...posted() }, basic(app.client_id, app.client_secret)],
      400,
      "invalid_request",
    ],
    [
      "a bearer token for a client",
      () => [grant, { authorization: `Bearer ${app.token}` }],
      401,
      "invalid_client",
    ],
    [
      "Basic that is none",
      () => [grant, { authorization: `Basic ${btoa("nocolon")}` }],
      401,
      "invalid_client",
    ],
    ["an unknown scope", () => [{ ...grant, ...posted(), scope: "users:write" }], 400, "invalid_scope"],
    [
      "a scope named like a property",
      () => [{ ...grant, ...posted(), scope: "constructor" }],
      400,
      "invalid_scope",
    ],
    [
      "a repeated parameter",
      () => [`grant_type=client_credentials&grant_type=client_credentials`],
      400,
      "invalid_request",
    ],
  ];
  test("a repeated parameter is named where it is one of the form, and no other text is sent back", async () => {
    const said = async (form: string) => (await token(form)).body.error_description;
    const twice = "grant_type=client_credentials&scope=users%3Aread&scope=users%3Aread";
    expect(await said(`${twice}&x=1&x=2`)).toBe("scope is given more than once");
    expect(await said("client_secret=a&client_secret=b")).toBe("client_secret is given more than once");
    expect(await said("toString=1&toString=2")).toBe("A parameter is given more than once");
  });

  test.each(cases)("%s", async (_, request, status, error) => {
    const answer = await token(...request());
    expect([answer.status, answer.body.error]).toEqual([status, error]);
    expect(answer.body).toMatchObject({ code: error, message: answer.body.error_description });
    expect(answer.headers.get("cache-control")).toBe("no-store");
    if (status === 401) expect(answer.headers.get("www-authenticate")).toBe('Basic realm="onair"');
  });

  test("a scope that the application may not have", async () => {
    const reader = await server.application({ scopes: ["users:read"] });
    const { client_id, client_secret } = reader;
    const answer = await token({ ...grant, client_id, client_secret, scope: "users:read events:subscribe" });
    expect([answer.status, answer.body.error]).toEqual([400, "invalid_scope"]);
  });
});

// Of an application's own tokens the newest 1,000 are good.

const works = async (server: TestServer, token: string) => {
  const { status } = await server.get("/public/v1/users/xqcow", token);
  return status === 200 ? true : status === 401 ? false : status;
};

async function getTokens(server: TestServer, app: TestApplication, count: number): Promise<string[]> {
  const tokens: string[] = [];
  while (tokens.length < count) {
    const some = Array.from({ length: Math.min(50, count - tokens.length) }, () =>
      clientCredentials(server, app),
    );
    tokens.push(...(await Promise.all(some)).map(({ body }) => body.access_token));
  }
  return tokens;
}

test("the newest tokens of an application are good, and the oldest end at once with their streams, even when just used", async () => {
  const server = await ownServer({ users });
  const [app, bystander] = [await server.application({ delivery: "stream" }), await server.application()];
  const stream = await server.get("/public/v1/events/stream", app.token);
  expect(stream.status).toBe(200);
  const [second = ""] = await getTokens(server, app, 1);
  const rest = await getTokens(server, app, appTokensKept - 2);
  for (const token of [app.token, second, bystander.token]) expect(await works(server, token)).toBe(true);

  const [newest = ""] = await getTokens(server, app, 1);
  expect(await works(server, app.token)).toBe(false);
  const reader = stream.body?.getReader();
  while ((await reader?.read())?.done === false);
  for (const token of [second, newest, bystander.token]) expect(await works(server, token)).toBe(true);

  // One that the operator makes counts, too.
  await server.admin("POST", `/admin/v1/applications/${app.id}/tokens`, { expires_in: 60 });
  expect(await works(server, second)).toBe(false);
  for (const token of [rest[0] ?? "", newest, bystander.token]) expect(await works(server, token)).toBe(true);
  const listed = await server.admin("GET", `/admin/v1/applications/${app.id}/tokens`);
  expect((await json<{ data: object[] }>(listed)).data).toHaveLength(appTokensKept);
});
