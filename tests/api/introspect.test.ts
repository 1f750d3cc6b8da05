import { describe, expect, test } from "bun:test";
import { hour, minute } from "../../src/domain/time.ts";
import { credentials, type Fields, signInServer } from "../support/oauth.ts";
import { Clock, user } from "../support/server.ts";

const clock = new Clock();

const { server, clientCredentials, codeFor, form, newApp, refresh, userTokens } = await signInServer({
  clock,
});
const app = await newApp();
const other = await newApp();

const introspect = (token: string | null, application = app, fields: Fields = {}) =>
  form("/oauth/introspect", { ...credentials(application), token, ...fields });

describe("RFC 7662, section 2.2: the answer", () => {
  test("shows the scopes and the expiry of a token of the application", async () => {
    const { status, headers, body } = await introspect(app.token);
    expect(status).toBe(200);
    expect(headers.get("cache-control")).toBe("no-store");
    expect(body as object).toEqual({
      active: true,
      scope: "users:read events:subscribe",
      client_id: app.client_id,
      token_type: "Bearer",
      exp: clock.ms / 1000 + 60 * 24 * 3600,
      iss: server.publicUrl,
    });
  });

  test("shows the user of a token that has one, and knows refresh tokens", async () => {
    const { access_token, refresh_token } = await userTokens(app);
    const common = {
      active: true,
      scope: "users:read events:subscribe",
      client_id: app.client_id,
      sub: "1001",
      username: "xqcow",
      iss: server.publicUrl,
    };
    const exp = (seconds: number) => clock.ms / 1000 + seconds;
    expect((await introspect(access_token)).body as object).toEqual({
      ...common,
      token_type: "Bearer",
      exp: exp(2 * 3600),
    });
    expect((await introspect(refresh_token)).body as object).toEqual({ ...common, exp: exp(30 * 24 * 3600) });
  });

  test.each<[string, () => Promise<string>]>([
    ["an unknown token", async () => "unknown"],
    ["a token of another application", async () => other.token],
    ["a code", () => codeFor(app)],
    [
      "a revoked token",
      async () => {
        const { access_token } = await userTokens(app);
        await form("/oauth/revoke", { ...credentials(app), token: access_token });
        return access_token;
      },
    ],
    [
      "an expired token",
      async () => {
        const { access_token } = await userTokens(app);
        clock.advance(2 * hour);
        return access_token;
      },
    ],
    [
      "a refresh token whose grace is over",
      async () => {
        const { refresh_token } = await userTokens(app);
        await refresh(app, refresh_token);
        clock.advance(minute);
        return refresh_token;
      },
    ],
  ])("of %s says no more than that it is not active", async (_, token) => {
    const { status, body } = await introspect(await token());
    expect([status, body as object]).toEqual([200, { active: false }]);
  });
});

describe("RFC 7662, section 2.1 and 2.3: is refused", () => {
  test.each<[string, Fields, number, string]>([
    ["without a token", { token: null }, 400, "invalid_request"],
    ["with a wrong secret", { client_secret: "wrong" }, 401, "invalid_client"],
    ["without a secret", { client_secret: null }, 401, "invalid_client"],
    ["to a client that does not exist", { client_id: "x", client_secret: null }, 401, "invalid_client"],
  ])("%s", async (_, fields, status, error) => {
    const answer = await introspect(app.token, app, fields);
    expect([answer.status, answer.body.error]).toEqual([status, error]);
  });
});

test("a public client sees its own tokens, and those of no other client", async () => {
  const publicClient = await newApp({ client_type: "public" });
  const anotherPublic = await newApp({ client_type: "public" });
  const [own, others, anothers] = [
    await userTokens(publicClient),
    await userTokens(app),
    await userTokens(anotherPublic),
  ];
  for (const token of [own.access_token, own.refresh_token]) {
    expect((await introspect(token, publicClient)).body as object).toMatchObject({
      active: true,
      client_id: publicClient.client_id,
      sub: "1001",
      username: "xqcow",
    });
  }
  for (const { access_token, refresh_token } of [others, anothers])
    for (const token of [access_token, refresh_token])
      expect((await introspect(token, publicClient)).body as object).toEqual({ active: false });
  expect((await introspect(app.token, publicClient)).body as object).toEqual({ active: false });
  expect((await introspect(own.access_token, app)).body as object).toEqual({ active: false });
});

test("a user's new name is shown, and no token of a user who was removed", async () => {
  await server.load("users", [user(7, "before")]);
  const { access_token, refresh_token } = await userTokens(app, { userId: 7 });
  await server.admin("PUT", "/admin/v1/users/7", { username: "after" });
  for (const token of [access_token, refresh_token])
    expect((await introspect(token)).body as object).toMatchObject({ sub: "7", username: "after" });
  await server.admin("DELETE", "/admin/v1/users/7");
  for (const token of [access_token, refresh_token])
    expect((await introspect(token)).body as object).toEqual({ active: false });
});

test("a bearer token beside the client's credentials is ignored", async () => {
  const fields = { ...credentials(app), token: app.token };
  const { status, body } = await form("/oauth/introspect", fields, {
    authorization: `Bearer ${app.token}`,
  });
  expect([status, body as object]).toEqual([200, expect.objectContaining({ active: true })]);
});

test("scopes are shown in the spelling in which they were asked for", async () => {
  const { access_token } = (await clientCredentials(app, { scope: "user:read" })).body;
  expect((await introspect(access_token)).body.scope).toBe("user:read");
  const tokens = await userTokens(app, { fields: { scope: "events:subscribe user:read" } });
  expect((await introspect(tokens.access_token)).body.scope).toBe("events:subscribe user:read");
  expect((await introspect(tokens.refresh_token)).body.scope).toBe("events:subscribe user:read");
});

test("a scope that the application has lost is not shown, and is again once it is back", async () => {
  const changing = await newApp();
  const tokens = await userTokens(changing, { fields: { scope: "user:read events:subscribe" } });
  const change = (scopes: string[]) =>
    server.admin("PATCH", `/admin/v1/applications/${changing.id}`, { scopes });
  const shown = async () => {
    const looked = [changing.token, tokens.access_token, tokens.refresh_token].map((token) =>
      introspect(token, changing),
    );
    return (await Promise.all(looked)).map(({ body }) => body.scope);
  };
  await change(["users:read"]);
  expect(await shown()).toEqual(["users:read", "user:read", "user:read"]);
  const refreshed = await refresh(changing, tokens.refresh_token);
  expect(refreshed.body.scope).toBe("user:read");
  await change([]);
  expect(await shown()).toEqual([undefined, undefined, undefined] as never);
  await change(["users:read", "events:subscribe"]);
  expect(await shown()).toEqual([
    "users:read events:subscribe",
    "user:read events:subscribe",
    "user:read events:subscribe",
  ]);
});
