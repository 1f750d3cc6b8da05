import { describe, expect, test } from "bun:test";
import type { Store } from "../../src/domain/store.ts";
import { createLog } from "../../src/runtime/log.ts";
import {
  accept,
  authorizationRequest,
  Browser,
  challengeFor,
  clientCredentials,
  codeFor,
  credentials,
  form,
  loginUrl,
  redeem,
  redirectUri,
  refresh,
  userTokens,
} from "../support/oauth.ts";
import { subscriptionsPath } from "../support/publishing.ts";
import { users } from "../support/real-data.ts";
import { Clock, type TestApplication, testServer } from "../support/server.ts";

// An application, a user or a consent goes while requests that stand on it are under way.

const args = ["--login-url", loginUrl];
/** With a clock of its own, so that everything is in one thread, and the tests can step in between. */
const stepped = await testServer({ args, clock: new Clock(), users });
/** As it is in use: its engine writes in another thread. Its log tells the cause of a 5xx. */
const threaded = await testServer({ engineThread: true, args, users, log: createLog("warn") });

const newApp = (server = stepped) =>
  server.application({ redirect_uris: [redirectUri], webhook_url: "http://127.0.0.1:9/", delivery: "both" });
const span = { from: "2026-01-01T00:00:00Z", to: "2026-01-02T00:00:00Z" };
const wanted = { events: [{ name: "channel.followed", version: 1 }], broadcaster_user_id: 1001 };
const removeApp = ({ id }: TestApplication, server = stepped) =>
  server.admin("DELETE", `/admin/v1/applications/${id}`);

/** A verb of the store, like `tokens.create`. */
type Verb = {
  [Noun in Exclude<keyof Store, "close">]: `${Noun}.${keyof Store[Noun] & string}`;
}[Exclude<keyof Store, "close">];

/** Has `before` happen between the checks of a request and its verb of the store. */
async function justBefore<Answer>(
  verb: Verb,
  before: () => Promise<{ status: number }>,
  request: () => Promise<Answer>,
): Promise<Answer> {
  const [noun, name] = verb.split(".") as [Exclude<keyof Store, "close">, string];
  // An interface has no index signature.
  const verbs = stepped.app.store[noun] as unknown as Record<
    string,
    (...given: unknown[]) => Promise<unknown>
  >;
  const original = verbs[name] as (typeof verbs)[string];
  let isCalled = false;
  verbs[name] = async (...given) => {
    isCalled = true;
    verbs[name] = original;
    expect(await before()).toHaveProperty("status", 204);
    return original.call(verbs, ...given);
  };
  try {
    const answer = await request();
    expect(isCalled).toBe(true);
    return answer;
  } finally {
    verbs[name] = original;
  }
}

/** What is ready to be asked for an application: everything before was done. */
type Ready = () => Promise<Response | Awaited<ReturnType<typeof form>>>;

const basic = 'Basic realm="onair"';
const bearer = 'error="invalid_token"';

describe("an application that is deleted just before", () => {
  /** The status, what the text says, and the challenge. */
  type Refusal = [number, string, string?];
  const noClient: Refusal = [401, "invalid_client", basic];
  const noToken: Refusal = [401, "invalid_token", bearer];
  const noGrant: Refusal = [400, "invalid_grant"];
  const notFound: Refusal = [404, "not_found"];
  test.each<[string, Verb, (app: TestApplication) => Promise<Ready>, Refusal]>([
    ["a token is made", "tokens.create", async (app) => () => clientCredentials(stepped, app), noClient],
    [
      "the operator makes a token",
      "tokens.create",
      async (app) => () => stepped.admin("POST", `/admin/v1/applications/${app.id}/tokens`, {}),
      notFound,
    ],
    [
      "a code is exchanged",
      "tokens.redeemCode",
      async (app) => {
        const code = await codeFor(stepped, app);
        return () => redeem(stepped, app, code);
      },
      noGrant,
    ],
    [
      "a refresh token is exchanged",
      "tokens.refresh",
      async (app) => {
        const { refresh_token } = await userTokens(stepped, app);
        return () => refresh(stepped, app, refresh_token);
      },
      noGrant,
    ],
    [
      "the platform answers a login",
      "loginRequests.answer",
      async (app) => {
        const challenge = await challengeFor(new Browser(stepped), authorizationRequest(app.client_id));
        const path = `/admin/v1/login-requests/${challenge}/accept`;
        return () => stepped.admin("PUT", path, { user_id: 1001 });
      },
      notFound,
    ],
    [
      "the browser comes back from a login",
      "loginRequests.redeem",
      async (app) => {
        const browser = new Browser(stepped);
        const challenge = await challengeFor(browser, authorizationRequest(app.client_id));
        const back = await accept(stepped, challenge, { user_id: 1001 });
        return async () => (await browser.open(back)).response;
      },
      [400, ""],
    ],
    [
      "it subscribes",
      "subscriptions.subscribe",
      async (app) => () => stepped.post(subscriptionsPath, wanted, app.token),
      noToken,
    ],
    [
      "it replays",
      "replays.create",
      async (app) => () => stepped.post("/public/v1/events/replays", span, app.token),
      noToken,
    ],
  ])("%s (%s) is as one that is gone", async (_, verb, prepare, [status, says, challenge]) => {
    const app = await newApp();
    const answer = await justBefore(verb, () => removeApp(app), await prepare(app));
    const text = answer instanceof Response ? await answer.text() : JSON.stringify(answer.body);
    expect([answer.status, text]).toEqual([status, expect.stringContaining(says)]);
    const given = answer.headers.get("www-authenticate");
    if (challenge) expect(given).toContain(challenge);
    else expect(given).toBeNull();
  });
});

describe("a request fails once its token has ended", () => {
  const revokeConsent = ({ id }: TestApplication, server = stepped) =>
    server.admin("DELETE", `/admin/v1/users/1001/consents/${id}`);
  const subscribed = ({ id }: TestApplication, server = stepped) => server.app.store.subscriptions.count(id);

  test("a subscription after its consent was revoked", async () => {
    const app = await newApp();
    const { access_token } = await userTokens(stepped, app);
    const answer = await justBefore(
      "subscriptions.subscribe",
      () => revokeConsent(app),
      () => stepped.post(subscriptionsPath, wanted, access_token),
    );
    expect(answer.status).toBe(401);
    expect(await subscribed(app)).toBe(0);
    // The application itself may do so as before.
    expect((await stepped.post(subscriptionsPath, wanted, app.token)).status).toBe(200);
  });

  test("a new consent allows nothing to a token of the revoked one", async () => {
    const app = await newApp();
    const { access_token } = await userTokens(stepped, app);
    let renewed = "";
    const answer = await justBefore(
      "subscriptions.subscribe",
      async () => {
        const revoked = await revokeConsent(app);
        renewed = (await userTokens(stepped, app)).access_token;
        return revoked;
      },
      () => stepped.post(subscriptionsPath, wanted, access_token),
    );
    expect(answer.status).toBe(401);
    expect(await subscribed(app)).toBe(0);
    expect((await stepped.post(subscriptionsPath, wanted, renewed)).status).toBe(200);
  });

  test("in whatever order the two arrive: none is left", async () => {
    const server = threaded;
    for (let round = 0; round < 8; round++) {
      const app = await newApp(server);
      const { access_token } = await userTokens(server, app);
      const ask = () => server.post(subscriptionsPath, wanted, access_token);
      const answers = await Promise.all([ask(), ask(), revokeConsent(app, server), ask(), ask()]);
      for (const { status } of answers) expect([200, 204, 401]).toContain(status);
      expect(await subscribed(app, server)).toBe(0);
    }
  });
});

test("deleting applications under load gives no 5xx", async () => {
  const server = threaded;
  for (let round = 0; round < 5; round++) {
    const app = await newApp(server);
    const { refresh_token, access_token } = await userTokens(server, app);
    const code = await codeFor(server, app);
    const asAdmin = `/admin/v1/applications/${app.id}`;
    const requests: (() => Promise<{ status: number }>)[] = [
      () => clientCredentials(server, app),
      () => redeem(server, app, code),
      () => refresh(server, app, refresh_token),
      () => form(server, "/oauth/introspect", { ...credentials(app), token: access_token }),
      () => form(server, "/oauth/revoke", { ...credentials(app), token: access_token }),
      () => server.get(authorizationRequest(app.client_id)),
      () => server.post(subscriptionsPath, wanted, app.token),
      () => server.post(subscriptionsPath, wanted, access_token),
      () => server.get(subscriptionsPath, app.token),
      () => server.get(`${subscriptionsPath}?id=01KATJ1V2GQ5Z8N1F4T7Y0XW3C`, app.token, { method: "DELETE" }),
      () => server.get("/public/v1/events/deliveries", app.token),
      () => server.post("/public/v1/events/replays", span, app.token),
      () => server.post("/public/v1/events/test", {}, app.token),
      () => server.get("/public/v1/users/xqcow", app.token),
      () => server.admin("POST", `${asAdmin}/tokens`, {}),
      () => server.admin("POST", `${asAdmin}/client-secret`, {}),
      () => server.admin("POST", `${asAdmin}/webhook-secret`, {}),
      () => server.admin("PATCH", asAdmin, { webhook_url: "http://127.0.0.1:9/other" }),
      () => server.admin("GET", `/admin/v1/users/1001/consents`),
      () => removeApp(app, server),
    ];
    const shuffled = [...requests, ...requests, ...requests].sort(() => Math.random() - 0.5);
    const answers = await Promise.all(shuffled.map((request) => request()));
    for (const [i, answer] of answers.entries()) {
      if (answer.status < 500) continue;
      const body = answer instanceof Response ? await answer.text() : JSON.stringify(answer);
      throw new Error(`${shuffled[i]} was answered with ${answer.status}: ${body}`);
    }
    expect((await server.get("/public/v1/users/xqcow", app.token)).status).toBe(401);
    // 429 behind too many wrong secrets from one address in a minute: those of the rounds before.
    expect([401, 429]).toContain((await clientCredentials(server, app)).status);
  }
});
