import { describe, expect, test } from "bun:test";
import { credentials, type Fields, formOf, signInServer } from "../support/oauth.ts";

const { server, form, newApp, refresh, userTokens, works } = await signInServer();
const app = await newApp();
const publicClient = await newApp({ client_type: "public" });
const otherPublic = await newApp({ client_type: "public" });

const revoke = (token: string | null, application = app, fields: Fields = {}) =>
  form("/oauth/revoke", { ...credentials(application), token, ...fields });

describe("RFC 7009, section 2.1: revoking", () => {
  test("an access token of an application ends it at once, and only it", async () => {
    const [first, second] = [await server.application(), await server.application()];
    // Used before, so that the server remembers it.
    expect(await works(first.token)).toBe(true);
    expect(await works(second.token)).toBe(true);
    expect((await revoke(first.token, first)).status).toBe(200);
    expect(await works(first.token)).toBe(false);
    expect(await works(second.token)).toBe(true);
  });

  test("an access token of a user leaves its refresh token", async () => {
    const { access_token, refresh_token } = await userTokens(app);
    expect(await works(access_token)).toBe(true);
    expect((await revoke(access_token)).status).toBe(200);
    expect(await works(access_token)).toBe(false);
    expect((await refresh(app, refresh_token)).status).toBe(200);
  });

  test.each(["a confidential", "a public"])("a refresh token of %s client ends its family", async (which) => {
    const application = which === "a public" ? publicClient : app;
    const first = await userTokens(application);
    const { body } = await refresh(application, first.refresh_token);
    const other = await userTokens(application);
    expect(await works(body.access_token)).toBe(true);
    expect((await revoke(body.refresh_token, application)).status).toBe(200);
    expect([await works(first.access_token), await works(body.access_token)]).toEqual([false, false]);
    expect((await refresh(application, first.refresh_token)).body.error).toBe("invalid_grant");
    expect(await works(other.access_token)).toBe(true);
  });

  test("token_type_hint is only a hint", async () => {
    for (const hint of ["refresh_token", "no_such_hint"]) {
      const { access_token } = await userTokens(app);
      expect((await revoke(access_token, app, { token_type_hint: hint })).status).toBe(200);
      expect(await works(access_token)).toBe(false);
    }
  });
});

describe("RFC 7009, section 2.2", () => {
  test("the answer is an empty JSON object, which libraries can parse, also for a token that is unknown or revoked", async () => {
    const { refresh_token } = await userTokens(app);
    for (const token of [refresh_token, refresh_token, "unknown"]) {
      const body = formOf({ ...credentials(app), token });
      const response = await server.get("/oauth/revoke", undefined, { method: "POST", body });
      expect([response.status, await response.text()]).toEqual([200, "{}"]);
      expect(response.headers.get("content-type")).toBe("application/json");
      expect(response.headers.get("cache-control")).toBe("no-store");
    }
  });

  test.each([
    ["a confidential client", "a public one", app, publicClient],
    ["a public client", "a confidential one", publicClient, app],
    ["a public client", "another public one", publicClient, otherPublic],
  ])("a token of %s is refused to %s and stays good", async (_owner, _other, owner, other) => {
    const { access_token, refresh_token } = await userTokens(owner);
    for (const token of [access_token, refresh_token]) {
      const { status, body } = await revoke(token, other);
      expect([status, body.error]).toEqual([400, "invalid_grant"]);
    }
    expect(await works(access_token)).toBe(true);
    expect((await refresh(owner, refresh_token)).status).toBe(200);
  });
});

test("RFC 7009, section 2.2.1: a request without the token or its client is refused, and the token stays good", async () => {
  const { access_token } = await userTokens(app);
  for (const [fields, status, error] of [
    [{ token: null }, 400, "invalid_request"],
    [{ client_secret: "wrong" }, 401, "invalid_client"],
    [{ client_secret: null }, 401, "invalid_client"],
    [{ client_id: null, client_secret: null }, 401, "invalid_client"],
  ] as const) {
    const answer = await revoke(access_token, app, fields);
    expect([fields, answer.status, answer.body.error]).toEqual([fields, status, error]);
  }
  expect(await works(access_token)).toBe(true);
});
