import { describe, expect, test } from "bun:test";
import { isoTime, minute } from "../../src/domain/time.ts";
import { authorizationRequest, Browser, challengeFor, redirectUri, signInServer } from "../support/oauth.ts";
import { event, publish, settled, subscribe, subscriptionsPath } from "../support/publishing.ts";
import { Clock, json, type TestApplication } from "../support/server.ts";

const clock = new Clock();

const { server, accept, codeFor, redeem, refresh, userTokens, works } = await signInServer({ clock });

const newApp = () => server.application({ redirect_uris: [redirectUri], webhook_url: "http://127.0.0.1:9/" });
const listed = async (userId: number) =>
  (await json<{ data: object[] }>(await server.admin("GET", `/admin/v1/users/${userId}/consents`))).data;
const revoke = (userId: number, { id }: TestApplication) =>
  server.admin("DELETE", `/admin/v1/users/${userId}/consents/${id}`);

async function subscribers(application: TestApplication): Promise<unknown[]> {
  const answer = await server.get(subscriptionsPath, application.token);
  const { data } = await json<{ data: { broadcaster_user_id: number }[] }>(answer);
  return data.map(({ broadcaster_user_id }) => broadcaster_user_id);
}

test("a user's consents are listed, with the scopes granted over time", async () => {
  const [first, second] = [await newApp(), await newApp()];
  const created_at = isoTime(clock.ms);
  await codeFor(first, { userId: 1003, consent: { scopes: ["users:read"] } });
  await codeFor(second, { userId: 1003 });
  clock.advance(minute);
  await codeFor(first, { userId: 1003, consent: { scopes: ["events:subscribe"] } });
  const scopes = ["users:read", "events:subscribe"];
  expect(await listed(1003)).toEqual([
    { application_id: first.id, application_name: "Test", scopes, created_at, updated_at: isoTime(clock.ms) },
    { application_id: second.id, application_name: "Test", scopes, created_at, updated_at: created_at },
  ]);
  expect(await listed(1018)).toEqual([]);
});

test("a consent counts from when the browser is back, and one that shall not be remembered never", async () => {
  const app = await newApp();
  const browser = new Browser(server);
  const challenge = await challengeFor(browser, authorizationRequest(app.client_id));
  const back = await accept(challenge, { user_id: 1029 });
  expect(await listed(1029)).toEqual([]);
  await browser.open(back);
  expect(await listed(1029)).toHaveLength(1);
  await codeFor(app, { userId: 1121, consent: { remember: false } });
  expect(await listed(1121)).toEqual([]);
});

test("an unknown user is 404, and an id that is none 400", async () => {
  expect((await server.admin("GET", "/admin/v1/users/999999999/consents")).status).toBe(404);
  expect((await server.admin("GET", "/admin/v1/users/x/consents")).status).toBe(400);
  expect((await fetch(`${server.adminUrl}/admin/v1/users/1001/consents`)).status).toBe(401);
});

describe("revoking a consent", () => {
  test("ends the application's tokens and subscriptions for that user at once, and nothing else", async () => {
    const [app, bystander] = [await newApp(), await newApp()];
    const theirs = await userTokens(app, { userId: 1001 });
    const others = await userTokens(app, { userId: 1002 });
    const elsewhere = await userTokens(bystander, { userId: 1001 });
    const events = [{ name: "channel.followed", version: 1 }];
    for (const { access_token } of [theirs, others, elsewhere]) {
      expect((await server.post(subscriptionsPath, { events }, access_token)).status).toBe(200);
    }
    expect(await subscribers(app)).toEqual([1001, 1002]);

    expect((await revoke(1001, app)).status).toBe(204);
    expect(await works(theirs.access_token)).toBe(false);
    expect((await refresh(app, theirs.refresh_token)).body.error).toBe("invalid_grant");
    expect(await subscribers(app)).toEqual([1002]);
    expect(await listed(1001)).not.toContainEqual(expect.objectContaining({ application_id: app.id }));

    expect([await works(app.token), await works(others.access_token)]).toEqual([true, true]);
    expect(await works(elsewhere.access_token)).toBe(true);
    expect(await subscribers(bystander)).toEqual([1001]);
    expect((await revoke(1001, app)).status).toBe(204);
  });

  test("cancels the deliveries that are pending", async () => {
    const app = await newApp();
    const { access_token } = await userTokens(app, { userId: 1001 });
    await subscribe(server, { token: access_token }, ["channel.followed"]);
    expect((await publish(server, event("channel.followed"))).status).toBe(202);
    const pending = async () =>
      (await server.app.store.deliveries.pending()).some(({ application_id }) => application_id === app.id);
    await settled(server); // the first attempt has failed, and the next one is due later
    expect(await pending()).toBe(true);
    await revoke(1001, app);
    expect(await pending()).toBe(false);
  });

  test("ends a code that was not used yet, and a login that was accepted", async () => {
    const app = await newApp();
    const code = await codeFor(app);
    const browser = new Browser(server);
    const challenge = await challengeFor(browser, authorizationRequest(app.client_id));
    const back = await accept(challenge, { user_id: 1001 });
    await revoke(1001, app);
    expect((await redeem(app, code)).body.error).toBe("invalid_grant");
    expect(await browser.open(back)).toMatchObject({ status: 400, location: "" });
  });

  test("works as well for tokens whose consent was not remembered", async () => {
    const app = await newApp();
    const { access_token } = await userTokens(app, { consent: { remember: false } });
    expect(await works(access_token)).toBe(true);
    await revoke(1001, app);
    expect(await works(access_token)).toBe(false);
  });
});
