import { describe, expect, test } from "bun:test";
import { hour } from "../../src/domain/time.ts";
import { authorizationRequest, Browser, signInServer } from "../support/oauth.ts";
import { Clock, json, refusal, type TestApplication } from "../support/server.ts";

const clock = new Clock();

/** What a change of an application means for those who sign in to it. */
const { server, clientCredentials, codeFor, newApp, redeem, refresh, userTokens, works } = await signInServer(
  { clock },
);

const change = (app: TestApplication, fields: object) =>
  server.admin("PATCH", `/admin/v1/applications/${app.id}`, fields);
const open = (app: TestApplication) => new Browser(server).open(authorizationRequest(app.client_id));

describe.each(["confidential", "public"])("a %s application that is disabled", (client_type) => {
  test("can neither sign anybody in nor use its tokens, until it is enabled again", async () => {
    const app = await newApp({ client_type });
    const [code, tokens] = [await codeFor(app), await userTokens(app)];
    expect(await works(tokens.access_token)).toBe(true);
    expect((await change(app, { disabled: true })).status).toBe(200);

    expect(await open(app)).toMatchObject({ status: 400, location: "" });
    expect(await works(tokens.access_token)).toBe(false);
    const refusals = [await redeem(app, code), await refresh(app, tokens.refresh_token)];
    expect(refusals.map(({ status, body }) => [status, body.error])).toEqual([
      [401, "invalid_client"],
      [401, "invalid_client"],
    ]);

    await change(app, { disabled: false });
    expect(await works(tokens.access_token)).toBe(true);
    expect((await redeem(app, code)).status).toBe(200);
    expect((await refresh(app, tokens.refresh_token)).status).toBe(200);
  });
});

test("an application that is deleted takes along codes and tokens", async () => {
  const [app, other] = [await newApp(), await newApp()];
  const [code, tokens] = [await codeFor(app), await userTokens(app)];
  expect(await works(tokens.access_token)).toBe(true);
  expect((await server.admin("DELETE", `/admin/v1/applications/${app.id}`)).status).toBe(204);
  expect(await works(tokens.access_token)).toBe(false);
  expect((await redeem(app, code)).status).toBe(401);
  expect((await redeem(other, code)).body.error).toBe("invalid_grant");
  expect((await refresh(other, tokens.refresh_token)).body.error).toBe("invalid_grant");
});

test("the deletion of a user removes codes, tokens and consents", async () => {
  await server.load("users", [{ id: 77, username: "leaving" }]);
  const app = await newApp();
  const code = await codeFor(app, { userId: 77 });
  const tokens = await userTokens(app, { userId: 77 });
  expect(await works(tokens.access_token)).toBe(true);
  await server.admin("DELETE", "/admin/v1/users/77");
  expect(await works(tokens.access_token)).toBe(false);
  expect((await redeem(app, code)).body.error).toBe("invalid_grant");
  expect((await refresh(app, tokens.refresh_token)).body.error).toBe("invalid_grant");
});

test("revoking all tokens of an application ends codes and refresh tokens, too", async () => {
  const [app, other] = [await newApp(), await newApp()];
  const [code, tokens] = [await codeFor(app), await userTokens(app)];
  const bystander = await userTokens(other);
  await server.admin("DELETE", `/admin/v1/applications/${app.id}/tokens`);
  expect(await works(tokens.access_token)).toBe(false);
  expect((await refresh(app, tokens.refresh_token)).body.error).toBe("invalid_grant");
  expect((await redeem(app, code)).body.error).toBe("invalid_grant");
  expect((await refresh(other, bystander.refresh_token)).status).toBe(200);
});

test("RFC 6749, section 2.3.1: both client secrets are good while a rotation overlaps", async () => {
  const app = await newApp();
  const rotated = await server.admin("POST", `/admin/v1/applications/${app.id}/client-secret`, {
    overlap_seconds: 3600,
  });
  const { client_secret } = await json<{ client_secret: string }>(rotated);
  const status = async (secret: string) => (await clientCredentials(app, { client_secret: secret })).status;
  expect([await status(app.client_secret), await status(client_secret)]).toEqual([200, 200]);
  clock.advance(hour);
  expect([await status(app.client_secret), await status(client_secret)]).toEqual([401, 200]);
});

describe("a public application", () => {
  test("has no secret to rotate", async () => {
    const app = await newApp({ client_type: "public" });
    expect(app.client_secret).toBe("");
    expect(await refusal(server.admin("POST", `/admin/v1/applications/${app.id}/client-secret`, {}))).toEqual(
      [409, "conflict"],
    );
    expect((await refresh(app, (await userTokens(app)).refresh_token)).status).toBe(200);
  });

  test("keeps its client type, by which its redirect URIs are checked", async () => {
    const [app, web] = [await newApp({ client_type: "public" }), await newApp()];
    const redirect_uris = ["com.example.app:/callback"];
    expect((await change(app, { redirect_uris, client_type: "confidential" })).status).toBe(400);
    expect((await change(app, { redirect_uris })).status).toBe(200);
    expect((await change(web, { redirect_uris })).status).toBe(400);
    expect((await change(app, { redirect_uris: ["javascript:0"] })).status).toBe(400);
    const answer = await server.admin("GET", `/admin/v1/applications/${app.id}`);
    expect(await json<object>(answer)).toMatchObject({ client_type: "public", redirect_uris });
  });
});
