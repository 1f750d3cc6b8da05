import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { hour, minute } from "../../src/domain/time.ts";
import { codeChallenge } from "../../src/domain/tokens.ts";
import {
  authorizationRequest,
  Browser,
  challengeFor,
  codeVerifier,
  type Fields,
  redirectUri,
  signInServer,
} from "../support/oauth.ts";
import { adminKey, Clock, isOnPostgres, json, testDirectory } from "../support/server.ts";

const clock = new Clock();
const data = testDirectory();

const { server, clientCredentials, codeFor, form, newApp, redeem, refresh, userTokens, works } =
  await signInServer({
    clock,
    data,
  });
const confidential = await newApp();
const publicClient = await newApp({ client_type: "public" });
const other = await newApp();

const applications = [
  ["a confidential client", () => confidential],
  ["a public client", () => publicClient],
] as const;

describe.each(applications)("RFC 6749, section 4.1.3 and 4.1.4: %s", (_, application) => {
  test("gets tokens of the user for a code", async () => {
    const { status, headers, body } = await redeem(application(), await codeFor(application()));
    expect(status).toBe(200);
    expect(body).toEqual({
      access_token: expect.stringMatching(/^onair_at_[A-Za-z0-9_-]{43}$/),
      token_type: "Bearer",
      expires_in: 2 * 3600,
      refresh_token: expect.stringMatching(/^onair_rt_[A-Za-z0-9_-]{43}$/),
      scope: "users:read events:subscribe",
    });
    expect([headers.get("cache-control"), headers.get("pragma")]).toEqual(["no-store", "no-cache"]);
    expect(await works(body.access_token)).toBe(true);
    clock.advance(2 * hour);
    expect(await works(body.access_token)).toBe(false);
  });

  test.each<[string, Fields, string]>([
    ["a wrong verifier", { code_verifier: `${codeVerifier}x` }, "invalid_grant"],
    ["no verifier", { code_verifier: null }, "invalid_request"],
    ["another redirect_uri", { redirect_uri: "https://app.example/other" }, "invalid_grant"],
    ["an unknown code", { code: `onair_ac_${"A".repeat(43)}` }, "invalid_grant"],
    ["no code", { code: null }, "invalid_request"],
  ])("gets nothing for %s, and the code stays good", async (_, fields, error) => {
    const code = await codeFor(application());
    const refused = await redeem(application(), code, fields);
    expect([refused.status, refused.body.error]).toEqual([400, error]);
    expect(refused.body.access_token).toBeUndefined();
    expect((await redeem(application(), code)).status).toBe(200);
  });

  test("gets nothing for the code of another client, and leaves that code valid", async () => {
    const code = await codeFor(other);
    const refused = await redeem(application(), code);
    expect([refused.status, refused.body.error]).toEqual([400, "invalid_grant"]);
    expect((await redeem(other, code)).status).toBe(200);
  });

  test("gets nothing after 10 minutes", async () => {
    const [early, late] = [await codeFor(application()), await codeFor(application())];
    clock.advance(10 * minute - 1);
    expect((await redeem(application(), early)).status).toBe(200);
    clock.advance(1);
    expect((await redeem(application(), late)).body.error).toBe("invalid_grant");
  });
});

describe("RFC 6749, section 4.1.2: a code is good once", () => {
  test("used twice, it gives nothing, and its tokens end at once", async () => {
    const code = await codeFor(confidential);
    const { body } = await redeem(confidential, code);
    expect(await works(body.access_token)).toBe(true);
    const again = await redeem(confidential, code);
    expect([again.status, again.body.error]).toEqual([400, "invalid_grant"]);
    expect(await works(body.access_token)).toBe(false);
    expect((await refresh(confidential, body.refresh_token)).body.error).toBe("invalid_grant");
  });

  test("used twice without its verifier or by another client, it ends nothing", async () => {
    const code = await codeFor(confidential);
    const { body } = await redeem(confidential, code);
    await redeem(confidential, code, { code_verifier: "stolen" });
    await redeem(other, code);
    expect(await works(body.access_token)).toBe(true);
  });

  test("used many times at once, it gives tokens to one at most", async () => {
    const code = await codeFor(publicClient);
    const answers = await Promise.all(Array.from({ length: 10 }, () => redeem(publicClient, code)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  });
});

describe("RFC 6749, section 2.1 and 4.4: a public client", () => {
  test("has no secret and gets no token of its own", async () => {
    expect(publicClient.client_secret).toBe("");
    const fields = { grant_type: "client_credentials", client_id: publicClient.client_id };
    const { status, body } = await form("/oauth/token", fields);
    expect([status, body.error]).toEqual([400, "unauthorized_client"]);
  });

  test("may name itself by Basic with an empty password, and not with a secret", async () => {
    const { refresh_token } = await userTokens(publicClient);
    const fields = { grant_type: "refresh_token", refresh_token };
    const authorization = `Basic ${btoa(`${publicClient.client_id}:`)}`;
    expect((await form("/oauth/token", fields, { authorization })).status).toBe(200);
    const secret = { client_id: publicClient.client_id, client_secret: "anything" };
    expect((await form("/oauth/token", { ...fields, ...secret })).body.error).toBe("invalid_client");
  });
});

test("wrong secrets are slowed down, and the right one is taken all the same", async () => {
  const app = await server.application();
  const ask = async (fields: Fields = {}) => (await clientCredentials(app, fields)).status;
  const statuses: number[] = [];
  for (let i = 0; i < 100; i++) statuses.push(await ask({ client_secret: `wrong${i}` }));
  expect(new Set(statuses)).toEqual(new Set([401, 429]));
  expect(statuses.slice(-30)).toEqual(Array(30).fill(429));
  expect(await ask()).toBe(200);
  clock.advance(minute);
  expect(await ask({ client_secret: "wrong" })).toBe(401);
});

test.skipIf(isOnPostgres)(
  "no code, token, challenge, verifier, cookie or key is stored readable",
  async () => {
    const own = (await clientCredentials(confidential)).body.access_token;
    const { access_token, refresh_token } = await userTokens(confidential);
    const code = await codeFor(confidential);
    const db = new Database(join(data, "onair.db"), { readonly: true });
    const tables = db
      .query<{ name: string }, []>("SELECT name FROM sqlite_schema WHERE type = 'table'")
      .all();
    const rows = tables.map(({ name }) => JSON.stringify(db.query(`SELECT * FROM "${name}"`).all())).join();
    db.close();
    expect(rows).toContain(redirectUri); // the search itself works
    for (const secret of [own, access_token, refresh_token, code, confidential.client_secret, adminKey])
      expect(rows).not.toContain(secret);
    // Four characters of a client secret tell which one it is.
    expect(rows.match(/onair_(at|rt|ac|lc|lv|br|cs)_[\w-]{5,}/)).toBeNull();
  },
);

describe("RFC 7636, section 4.1: a code_verifier", () => {
  const exchange = async (verifier: string) => {
    const fields = { code_challenge: codeChallenge(verifier) };
    const code = await codeFor(publicClient, { fields });
    const { status, body } = await redeem(publicClient, code, { code_verifier: verifier });
    return status === 200 ? "good" : body.error;
  };

  test.each([
    ["128 characters", "Z".repeat(128)],
    ["all characters that it may have", `${"0".repeat(39)}-._~`],
  ])("of %s is good", async (_, verifier) => {
    expect(await exchange(verifier)).toBe("good");
  });

  test.each([
    ["42 characters", "a".repeat(42)],
    ["129 characters", "a".repeat(129)],
    ["a space", `${"a".repeat(50)} a`],
    ["a line end", `${"a".repeat(50)}\n`],
    ["other letters", "é".repeat(50)],
  ])("of %s is refused, although its challenge fits", async (_, verifier) => {
    expect(await exchange(verifier)).toBe("invalid_grant");
  });
});

describe("scopes are repeated in the spelling in which they were asked for", () => {
  test("by the code, and by each refresh", async () => {
    const fields = { scope: "user:read events:subscribe" };
    const first = await userTokens(confidential, { fields });
    expect(first.scope).toBe("user:read events:subscribe");
    expect(await works(first.access_token)).toBe(true);
    const second = await refresh(confidential, first.refresh_token);
    expect(second.body.scope).toBe("user:read events:subscribe");
    const third = await refresh(confidential, second.body.refresh_token, { scope: "users:read" });
    expect(third.body.scope).toBe("users:read");
    const fourth = await refresh(confidential, third.body.refresh_token, { scope: "user:read" });
    expect(fourth.body.scope).toBe("user:read");
    expect(await works(fourth.body.access_token)).toBe(true);
    const all = await refresh(confidential, fourth.body.refresh_token);
    expect(all.body.scope).toBe("user:read events:subscribe");
  });

  test("also where the platform granted some of them, in whatever spelling", async () => {
    const fields = { scope: "user:read events:subscribe" };
    for (const scopes of [["users:read"], ["user:read"]]) {
      const { scope } = await userTokens(confidential, { fields, consent: { scopes } });
      expect(scope).toBe("user:read");
    }
  });

  test("the platform sees the one name", async () => {
    const browser = new Browser(server);
    const path = authorizationRequest(confidential.client_id, { scope: "user:read users:read" });
    const challenge = await challengeFor(browser, path);
    const shown = await server.admin("GET", `/admin/v1/login-requests/${challenge}`);
    expect((await json<{ scopes: string[] }>(shown)).scopes).toEqual(["users:read"]);
  });
});
