import { describe, expect, test } from "bun:test";
import { redirectUri, signInServer } from "../support/oauth.ts";
import { subscribe } from "../support/publishing.ts";
import { Clock, json, type TestApplication, testServer } from "../support/server.ts";

/*
 * An application looks after itself: what its developer sees and changes with the application's own token.
 */

const path = "/public/v1/application";
const webhook_url = "https://bot.example/hook";
const clock = new Clock();
const { server, clientCredentials, userTokens } = await signInServer({
  clock,
  args: ["--rate-limit", "100000"],
});

interface Shown {
  webhook_url: string | null;
  delivery: string;
  redirect_uris: string[];
  locked: string[];
  owner_user_id: number | null;
  scopes: string[];
  rate_limit: { limit: number; remaining: number | null };
  subscriptions: { used: number; limit: number };
  endpoint: {
    status: string;
    disabled_reason: string | null;
    since: string | null;
    failures: number;
    summary: string;
    advice: string | null;
  };
  secrets: { kind: string; prefix: string | null; created_at: string; expires_at: string | null }[];
}

interface Problem {
  code: string;
  message: string;
  errors: { field: string; message: string }[];
}

const own = async (app: TestApplication): Promise<Shown> =>
  (await json<{ data: Shown }>(await server.get(path, app.token))).data;

const changed = (app: TestApplication, body: unknown) => server.send("PATCH", path, body, app.token);

const operate = async (app: TestApplication, body: object) => {
  const answer = await server.admin("PATCH", `/admin/v1/applications/${app.id}`, body);
  expect(answer.status).toBe(200);
};

describe("Get Application", () => {
  test("has exactly these fields, and no secret or anything that the platform keeps for itself", async () => {
    const app = await server.application({ name: "Mine", webhook_url });
    await subscribe(server, app, ["channel.followed"]);
    const response = await server.get(path, app.token);
    expect(response.status).toBe(200);
    expect(response.headers.get("ratelimit-limit")).toBe("100000");
    expect(response.headers.get("cache-control")).toBe("no-store");
    const text = await response.text();
    const created_at = "2026-01-14T16:00:00.000Z";
    const secret = (kind: string, prefix: string) => ({ kind, prefix, created_at, expires_at: null });
    expect(JSON.parse(text)).toEqual({
      data: {
        id: app.id,
        client_id: app.id,
        name: "Mine",
        client_type: "confidential",
        scopes: ["users:read", "events:subscribe"],
        webhook_url,
        webhook_headers: {},
        filters: {},
        filters_set_at: {},
        delivery: "webhook",
        redirect_uris: [],
        locked: [],
        owner_user_id: null,
        rate_limit: { limit: 100_000, remaining: 99_998 },
        subscriptions: { used: 1, limit: 10_000 },
        endpoint: {
          status: "enabled",
          disabled_reason: null,
          since: null,
          failures: 0,
          last_success_at: null,
          last_failure: null,
          pending: 0,
          next_attempt_at: null,
          summary: "Nothing was sent to the endpoint yet.",
          advice: "Send a test to see that it answers.",
        },
        notices: [],
        secrets: [
          secret("client_secret", app.client_secret.slice(0, "onair_cs_".length + 4)),
          secret("webhook_secret", app.webhook_secret.slice(0, "whsec_".length + 4)),
        ],
        created_at,
        updated_at: created_at,
      },
      message: "OK",
    });
    for (const secret of [app.client_secret, app.webhook_secret, app.token]) {
      expect(text).not.toContain(secret);
    }
  });

  test("belongs to the token: another application's is not reachable by any parameter", async () => {
    const [mine, other] = [await server.application({ name: "A" }), await server.application({ name: "B" })];
    for (const name of ["id", "client_id", "application_id"]) {
      const answer = await server.get(`${path}?${name}=${other.id}`, mine.token);
      expect((await json<{ data: { id: string } }>(answer)).data.id).toBe(mine.id);
    }
  });

  test("shows the limits that the platform set, and a public client without a client secret", async () => {
    const app = await server.application({ rate_limit: 0, subscription_limit: 3 });
    const { rate_limit, subscriptions } = await own(app);
    expect(rate_limit).toEqual({ limit: 0, remaining: null });
    expect(subscriptions).toEqual({ used: 0, limit: 3 });
  });
});

describe("access", () => {
  const calls: [string, string, object | undefined][] = [
    ["GET", path, undefined],
    ["PATCH", path, { webhook_url: "https://bot.example/taken" }],
    ["POST", `${path}/webhook-secret`, {}],
    ["POST", `${path}/endpoint/enable`, undefined],
  ];
  test.each(calls)("%s %s takes no user's token, says so, and changes nothing", async (method, to, body) => {
    const app = await server.application({ redirect_uris: [redirectUri], webhook_url });
    const { access_token } = await userTokens(app);
    const answer = await server.send(method, to, body, access_token);
    expect(answer.status).toBe(403);
    const ofUser = "this one belongs to a user";
    expect(await json<Problem>(answer)).toMatchObject({
      code: "insufficient_scope",
      message: `This needs a token of the application itself (client_credentials); ${ofUser}`,
    });
    const { secrets, ...shown } = await own(app);
    expect([shown.webhook_url, secrets.length]).toEqual([webhook_url, 2]);
  });

  test.each(calls)("%s %s with a token of fewer scopes only reads", async (method, to, body) => {
    const app = await server.application({ webhook_url });
    const narrow = await clientCredentials(app, { scope: "users:read" });
    const answer = await server.send(method, to, body, narrow.body.access_token);
    expect(answer.status).toBe(method === "GET" ? 200 : 403);
    if (method === "GET") return;
    expect(await json<Problem>(answer)).toMatchObject({
      code: "insufficient_scope",
      message: "This needs a token with the scopes users:read and events:subscribe",
    });
    expect((await own(app)).webhook_url).toBe(webhook_url);
  });

  test("an application that has one scope alone changes itself with it", async () => {
    const app = await server.application({ scopes: ["users:read"] });
    expect((await changed(app, { redirect_uris: [redirectUri] })).status).toBe(200);
    expect((await own(app)).redirect_uris).toEqual([redirectUri]);
  });
});

describe("Change Application", () => {
  test("changes the fields of the body and answers with the whole application", async () => {
    const app = await server.application({ webhook_url });
    const body = { delivery: "both", redirect_uris: [redirectUri] };
    const answer = await changed(app, body);
    expect(answer.status).toBe(200);
    const { data } = await json<{ data: Shown }>(answer);
    expect(data).toMatchObject({ ...body, webhook_url });
    expect(await own(app)).toMatchObject(body);
    expect((await changed(app, { webhook_url: null })).status).toBe(200);
    expect(await own(app)).toMatchObject({
      webhook_url: null,
      delivery: "both",
      endpoint: { status: "enabled", summary: "Events are read from the stream; no webhook is called." },
    });
  });

  test("fields that only the platform sets are ignored", async () => {
    const app = await server.application({ locked: ["delivery"], rate_limit: 50_000 });
    const stolen = {
      name: "Renamed",
      scopes: [],
      rate_limit: 0,
      subscription_limit: 1_000_000,
      webhook_concurrency: 1_000,
      locked: [],
      owner_user_id: 1001,
      disabled: true,
      client_type: "public",
      webhook_secret: "whsec_chosen",
      endpoint_generation: 99,
      id: "01KATHZX5M9S3E6R8B2D4F7G1H",
    };
    const before = await own(app);
    const answer = await changed(app, stolen);
    expect(answer.status).toBe(200);
    const { rate_limit: _, ...after } = await own(app);
    const { rate_limit: __, ...same } = before;
    expect(after).toEqual(same);
  });

  const uris = ["/relative", "https://ok.example/cb", "https://a.example/#x"];
  test.each<[string, unknown, string[]]>([
    // null is for none: an empty variable of a script must not cancel what is pending.
    ["an empty webhook URL", { webhook_url: "" }, ["webhook_url"]],
    ["too many redirect URIs", { redirect_uris: Array(21).fill(redirectUri) }, ["redirect_uris"]],
    [
      "all wrong fields at once",
      { webhook_url: 1, delivery: "pigeon", redirect_uris: "x" },
      ["delivery", "redirect_uris", "webhook_url"],
    ],
    [
      "addresses that may not be called, all at once",
      { webhook_url: "ftp://bot.example", redirect_uris: uris },
      ["redirect_uris[0]", "redirect_uris[2]", "webhook_url"],
    ],
  ])("refuses %s", async (_, body, fields) => {
    const app = await server.application({ webhook_url });
    const answer = await changed(app, body);
    const { code, errors } = await json<Problem>(answer);
    expect([answer.status, code]).toEqual([400, "invalid_parameter"]);
    expect(errors.map(({ field }) => field).sort()).toEqual(fields);
    expect((await own(app)).webhook_url).toBe(webhook_url);
  });

  test("a webhook URL into the platform's network is refused where private ones are, without a word of settings", async () => {
    const strict = await testServer({ env: { ONAIR_ALLOW_PRIVATE_WEBHOOKS: undefined } });
    const app = await strict.application();
    for (const host of ["http://bot.example", "https://127.0.0.1", "https://[::1]", "https://0x7f.1"]) {
      const answer = await strict.send("PATCH", path, { webhook_url: `${host}/` }, app.token);
      expect([host, answer.status]).toEqual([host, 400]);
      expect(await answer.text()).not.toContain("--allow-private-webhooks");
    }
  });

  test("a change of locked fields is 403, names each of them, and changes nothing", async () => {
    const app = await server.application({ webhook_url });
    await operate(app, { locked: ["webhook_url", "redirect_uris"] });
    expect((await own(app)).locked).toEqual(["webhook_url", "redirect_uris"]);
    const wanted = { webhook_url: "ftp://x", delivery: "both", redirect_uris: [redirectUri] };
    const answer = await changed(app, wanted);
    expect(answer.status).toBe(403);
    expect(await json<Problem>(answer)).toMatchObject({
      code: "locked",
      message: "webhook_url is locked: only the platform can change it",
      errors: [{ field: "webhook_url" }, { field: "redirect_uris" }],
    });
    expect(await own(app)).toMatchObject({ delivery: "webhook", webhook_url });
    expect((await changed(app, { delivery: "both" })).status).toBe(200);
    await operate(app, { locked: [] });
    expect((await changed(app, { webhook_url: null })).status).toBe(200);
  });

  test("more than 30 changes in a minute are 429", async () => {
    const app = await server.application();
    const statuses: number[] = [];
    for (let i = 0; i < 31; i++) statuses.push((await changed(app, {})).status);
    expect(statuses).toEqual([...Array(30).fill(200), 429]);
    const other = await server.application();
    expect((await changed(other, {})).status).toBe(200);
    clock.advance(60_000);
    expect((await changed(app, {})).status).toBe(200);
  });
});

describe("the owner, as the platform says it", () => {
  test("is an existing user, is shown to the developer, and is null after the user was deleted", async () => {
    await server.load("users", [{ id: 4711, username: "owner" }]);
    const app = await server.application({ owner_user_id: 4711 });
    expect((await own(app)).owner_user_id).toBe(4711);
    const address = `/admin/v1/applications/${app.id}`;
    const unknown = await server.admin("PATCH", address, { owner_user_id: 999_999_999 });
    expect(unknown.status).toBe(400);
    expect(await json<Problem>(unknown)).toMatchObject({
      errors: [{ in: "body", field: "owner_user_id", message: "is not a known user" }],
    });
    expect((await server.admin("DELETE", "/admin/v1/users/4711")).status).toBe(204);
    expect((await own(app)).owner_user_id).toBeNull();
  });
});
