import { describe, expect, test } from "bun:test";
import { createLog } from "../../src/log/log.ts";
import type { Store } from "../../src/store/store.ts";
import {
  accept,
  authorizationRequest,
  Browser,
  challengeFor,
  codeFor,
  credentials,
  form,
  loginUrl,
  redeem,
  redirectUri,
  refresh,
  userTokens,
} from "../support/oauth.ts";
import { users } from "../support/real-data.ts";
import { Clock, json, type TestApplication, testServer } from "../support/server.ts";

// An application, a user or a consent goes while requests that stand on it are under way.

const args = ["--login-url", loginUrl];
/** With a clock of its own, so that everything is in one thread, and the tests can step in between. */
const stepped = await testServer({ args, clock: new Clock(), users });
/** As it is in use: its engine writes in another thread. Its log tells the cause of a 5xx. */
const threaded = await testServer({ args, users, log: createLog("warn") });

const newApp = (server = stepped) =>
  server.application({
    redirect_uris: [redirectUri],
    webhook_url: "http://127.0.0.1:9/",
    delivery: "both",
  });
const subscriptions = "/public/v1/events/subscriptions";
const wanted = { events: [{ name: "channel.followed", version: 1 }], broadcaster_user_id: 1001 };
const removeApp = ({ id }: TestApplication, server = stepped) =>
  server.admin("DELETE", `/admin/v1/applications/${id}`);

type StoredNoun = Exclude<keyof Store, "close">;

/** Has `before` happen between the checks of a request and its verb of the store. */
async function justBefore<Noun extends StoredNoun>(
  noun: Noun,
  verb: keyof Store[Noun] & string,
  before: () => Promise<unknown>,
  request: () => Promise<Response | { status: number }>,
): Promise<Response | { status: number }> {
  // An interface has no index signature, and which verb it is only the caller knows.
  const verbs = stepped.app.store[noun] as unknown as Record<
    string,
    (...given: unknown[]) => Promise<unknown>
  >;
  const original = verbs[verb];
  let isCalled = false;
  verbs[verb] = async (...given) => {
    isCalled = true;
    verbs[verb] = original as NonNullable<typeof original>;
    expect((await before()) as { status: number }).toHaveProperty("status", 204);
    return original?.call(verbs, ...given);
  };
  try {
    const answer = await request();
    expect(isCalled).toBe(true);
    return answer;
  } finally {
    verbs[verb] = original as NonNullable<typeof original>;
  }
}

const clientCredentials = (app: TestApplication, server = stepped) =>
  form(server, "/oauth/token", { grant_type: "client_credentials", ...credentials(app) });

describe("an application that is deleted just before", () => {
  test("a token is made: invalid_client", async () => {
    const app = await newApp();
    const answer = await justBefore(
      "tokens",
      "create",
      () => removeApp(app),
      () => clientCredentials(app),
    );
    expect(answer).toMatchObject({ status: 401, body: { error: "invalid_client" } });
    expect((answer as { headers: Headers }).headers.get("www-authenticate")).toStartWith("Basic");
  });

  test("the operator makes a token: 404", async () => {
    const app = await newApp();
    const path = `/admin/v1/applications/${app.id}/tokens`;
    const answer = await justBefore(
      "tokens",
      "create",
      () => removeApp(app),
      () => stepped.admin("POST", path, {}),
    );
    expect(answer.status).toBe(404);
  });

  test("a code or a refresh token is exchanged: 400 or 401, as for one that has ended", async () => {
    const app = await newApp();
    const code = await codeFor(stepped, app);
    const redeemed = await justBefore(
      "tokens",
      "redeemCode",
      () => removeApp(app),
      () => redeem(stepped, app, code),
    );
    expect(redeemed).toMatchObject({ status: 400, body: { error: "invalid_grant" } });

    const other = await newApp();
    const { refresh_token } = await userTokens(stepped, other);
    const refreshed = await justBefore(
      "tokens",
      "refresh",
      () => removeApp(other),
      () => refresh(stepped, other, refresh_token),
    );
    expect(refreshed).toMatchObject({ status: 400, body: { error: "invalid_grant" } });
  });

  test("a login begins: the page for people", async () => {
    const app = await newApp();
    const answer = await justBefore(
      "loginRequests",
      "create",
      () => removeApp(app),
      () => stepped.get(authorizationRequest(app.client_id), undefined, { headers: { accept: "text/html" } }),
    );
    expect([answer.status, await (answer as Response).text()]).toEqual([
      400,
      expect.stringContaining("no application"),
    ]);
  });

  test("the platform answers a login, or the browser comes back", async () => {
    const app = await newApp();
    const browser = new Browser(stepped);
    const challenge = await challengeFor(browser, authorizationRequest(app.client_id));
    const path = `/admin/v1/login-requests/${challenge}/accept`;
    const answered = await justBefore(
      "loginRequests",
      "answer",
      () => removeApp(app),
      () => stepped.admin("PUT", path, { user_id: 1001 }),
    );
    expect(answered.status).toBe(404);

    const other = await newApp();
    const back = await accept(stepped, await challengeFor(browser, authorizationRequest(other.client_id)), {
      user_id: 1001,
    });
    const returned = await justBefore(
      "loginRequests",
      "redeem",
      () => removeApp(other),
      () => browser.open(back),
    );
    expect(returned.status).toBe(400);
  });

  test.each<[string, StoredNoun, string, object]>([
    [subscriptions, "subscriptions", "subscribe", wanted],
    [
      "/public/v1/events/replays",
      "replays",
      "create",
      { from: "2026-01-01T00:00:00Z", to: "2026-01-02T00:00:00Z" },
    ],
  ])("POST %s: 401", async (path, noun, verb, body) => {
    const app = await newApp();
    const answer = await justBefore(
      noun,
      verb as never,
      () => removeApp(app),
      () => stepped.post(path, body, app.token),
    );
    expect(answer.status).toBe(401);
    expect((await json<{ code: string }>(answer as Response)).code).toBe("invalid_token");
    expect((answer as Response).headers.get("www-authenticate")).toContain('error="invalid_token"');
  });
});

describe("what a token allows is not done once the token has ended", () => {
  const revokeConsent = ({ id }: TestApplication, server = stepped) =>
    server.admin("DELETE", `/admin/v1/users/1001/consents/${id}`);
  const subscribed = ({ id }: TestApplication, server = stepped) => server.app.store.subscriptions.count(id);

  test("a subscription after its consent was revoked", async () => {
    const app = await newApp();
    const { access_token } = await userTokens(stepped, app);
    const answer = await justBefore(
      "subscriptions",
      "subscribe",
      () => revokeConsent(app),
      () => stepped.post(subscriptions, wanted, access_token),
    );
    expect(answer.status).toBe(401);
    expect(await subscribed(app)).toBe(0);
    // The application itself may do so as before.
    expect((await stepped.post(subscriptions, wanted, app.token)).status).toBe(200);
  });

  test("a new consent allows nothing to a token of the revoked one", async () => {
    const app = await newApp();
    const { access_token } = await userTokens(stepped, app);
    let renewed = "";
    const answer = await justBefore(
      "subscriptions",
      "subscribe",
      async () => {
        const revoked = await revokeConsent(app);
        renewed = (await userTokens(stepped, app)).access_token;
        return revoked;
      },
      () => stepped.post(subscriptions, wanted, access_token),
    );
    expect(answer.status).toBe(401);
    expect(await subscribed(app)).toBe(0);
    expect((await stepped.post(subscriptions, wanted, renewed)).status).toBe(200);
  });

  test("in whatever order the two arrive: none is left", async () => {
    const server = threaded;
    for (let round = 0; round < 20; round++) {
      const app = await newApp(server);
      const { access_token } = await userTokens(server, app);
      const ask = () => server.post(subscriptions, wanted, access_token);
      const answers = await Promise.all([ask(), ask(), revokeConsent(app, server), ask(), ask()]);
      for (const { status } of answers) expect([200, 204, 401]).toContain(status);
      expect(await subscribed(app, server)).toBe(0);
    }
  });
});

test("deleting applications under load gives no 5xx", async () => {
  const server = threaded;
  for (let round = 0; round < 15; round++) {
    const app = await newApp(server);
    const { refresh_token, access_token } = await userTokens(server, app);
    const code = await codeFor(server, app);
    const span = { from: "2026-01-01T00:00:00Z", to: "2026-01-02T00:00:00Z" };
    const asAdmin = `/admin/v1/applications/${app.id}`;
    const requests: (() => Promise<{ status: number }>)[] = [
      () => clientCredentials(app, server),
      () => redeem(server, app, code),
      () => refresh(server, app, refresh_token),
      () => form(server, "/oauth/introspect", { ...credentials(app), token: access_token }),
      () => form(server, "/oauth/revoke", { ...credentials(app), token: access_token }),
      () => server.get(authorizationRequest(app.client_id)),
      () => server.post(subscriptions, wanted, app.token),
      () => server.post(subscriptions, wanted, access_token),
      () => server.get(subscriptions, app.token),
      () => server.get(`${subscriptions}?id=01KATJ1V2GQ5Z8N1F4T7Y0XW3C`, app.token, { method: "DELETE" }),
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
    expect([401, 429]).toContain((await clientCredentials(app, server)).status);
  }
});
