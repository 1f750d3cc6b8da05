import { describe, expect, test } from "bun:test";
import { isoTime, minute } from "../../src/domain/time.ts";
import {
  authorizationRequest,
  Browser,
  challengeFor,
  type Fields,
  parameter,
  redirectUri,
  signInServer,
} from "../support/oauth.ts";
import { Clock, json } from "../support/server.ts";

const clock = new Clock();

const { server, accept, codeFor, newApp } = await signInServer({ clock });
const app = await server.application({ name: "Chat bot", redirect_uris: [redirectUri] });

const path = (challenge: string, rest = "") => `/admin/v1/login-requests/${challenge}${rest}`;
const newChallenge = (fields: Fields = {}, application = app) =>
  challengeFor(new Browser(server), authorizationRequest(application.client_id, fields));
const unknown = `onair_lc_${"A".repeat(43)}`;

interface Answer {
  readonly code?: string;
  readonly errors?: { field: string; message: string }[];
  readonly redirect_to?: string;
  readonly scopes?: string[];
  readonly remembered_scopes?: string[];
}

async function call(method: string, to: string, body?: object) {
  const response = await server.admin(method, to, body);
  return { status: response.status, body: await json<Answer>(response) };
}

describe("GET", () => {
  test("shows the platform the client and the scopes", async () => {
    const { status, body } = await call("GET", path(await newChallenge({ scope: "users:read" })));
    expect(status).toBe(200);
    expect(body as object).toEqual({
      application: { id: app.id, name: "Chat bot", client_type: "confidential" },
      redirect_uri: redirectUri,
      scopes: ["users:read"],
      expires_at: isoTime(clock.ms + 30 * minute),
      message: "OK",
    });
  });

  test("with a user_id also shows the scopes that the user allowed before", async () => {
    const bot = await newApp();
    const remembered = async (userId: number) =>
      (await call("GET", path(await newChallenge({}, bot), `?user_id=${userId}`))).body.remembered_scopes;
    expect(await remembered(1001)).toEqual([]);
    await codeFor(bot, { consent: { scopes: ["users:read"] } });
    expect(await remembered(1001)).toEqual(["users:read"]);
    expect(await remembered(1002)).toEqual([]);
    await codeFor(bot, { consent: { scopes: ["events:subscribe"] } });
    expect(await remembered(1001)).toEqual(["users:read", "events:subscribe"]);
  });

  test("RFC 8252, section 8.6: forgets that for a public client that is not reached by https", async () => {
    const redirect_uri = "http://127.0.0.1/callback";
    const bot = await server.application({
      redirect_uris: [redirect_uri, redirectUri],
      client_type: "public",
    });
    await codeFor(bot, { fields: { redirect_uri: "http://127.0.0.1:5123/callback" } });
    for (const [uri, scopes] of [
      [redirect_uri, []],
      [redirectUri, ["users:read", "events:subscribe"]],
    ] as const) {
      const challenge = await newChallenge({ redirect_uri: uri }, bot);
      const { body } = await call("GET", path(challenge, "?user_id=1001"));
      expect(body.remembered_scopes).toEqual([...scopes]);
    }
  });

  test("a consent that was not to be remembered is not", async () => {
    const bot = await newApp();
    await codeFor(bot, { consent: { remember: false } });
    const { body } = await call("GET", path(await newChallenge({}, bot), "?user_id=1001"));
    expect(body.remembered_scopes).toEqual([]);
  });
});

describe("PUT …/accept", () => {
  test("may grant fewer scopes than were asked for", async () => {
    const browser = new Browser(server);
    const challenge = await challengeFor(browser, authorizationRequest(app.client_id));
    const back = await accept(challenge, { user_id: 1001, scopes: ["user:read"] });
    expect(parameter((await browser.open(back)).location, "code")).not.toBe("");
  });

  test.each<[string, object, string]>([
    ["an unknown user", { user_id: 999_999_999 }, "user_id"],
    ["more than was asked for", { user_id: 1001, scopes: ["users:read", "events:subscribe"] }, "scopes"],
    ["an unknown scope", { user_id: 1001, scopes: ["users:write"] }, "scopes"],
    ["no scopes", { user_id: 1001, scopes: [] }, "scopes"],
  ])("refuses %s, and can then be repeated", async (_, body, field) => {
    const challenge = await newChallenge({ scope: "users:read" });
    const refused = await call("PUT", path(challenge, "/accept"), body);
    expect([refused.status, refused.body.errors?.map((error) => error.field)]).toEqual([400, [field]]);
    expect((await call("PUT", path(challenge, "/accept"), { user_id: 1001 })).status).toBe(200);
  });
});

test.each<[object, number]>([
  [{}, 200],
  [{ error: "temporarily_unavailable", error_description: "No" }, 200],
  [{ error: "whatever" }, 400],
  [{ error_description: 'with "quotes"' }, 400],
  [{ error_description: "with\nlines" }, 400],
])("PUT …/reject: %j is %d", async (body, status) => {
  expect((await call("PUT", path(await newChallenge(), "/reject"), body)).status).toBe(status);
});

describe("a challenge", () => {
  const actions = [
    ["GET", "", undefined],
    ["PUT", "/accept", { user_id: 1001 }],
    ["PUT", "/reject", {}],
  ] as const;

  test.each(actions)("that is forged or expired: %s%s is 404", async (method, rest, body) => {
    const challenge = await newChallenge();
    clock.advance(30 * minute);
    for (const one of [unknown, challenge]) {
      const answer = await call(method, path(one, rest), body);
      expect([answer.status, answer.body.code]).toEqual([404, "not_found"]);
    }
  });

  test.each(actions)(
    "that has an answer: %s%s is 409, also after its browser was back",
    async (...action) => {
      const [method, rest, body] = action;
      const browser = new Browser(server);
      const challenge = await challengeFor(browser, authorizationRequest(app.client_id));
      const back = await accept(challenge, { user_id: 1001 });
      for (const to of [null, back]) {
        if (to) expect((await browser.open(to)).status).toBe(303);
        const answer = await call(method, path(challenge, rest), body);
        expect([answer.status, answer.body.code]).toEqual([409, "conflict"]);
      }
    },
  );

  test("changed in any character, cut off or spelt in another way is 404", async () => {
    const challenge = await newChallenge({ state: "s" });
    const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const changed = Array.from({ length: challenge.length }, (_, at) => {
      const other = letters[(letters.indexOf(challenge[at] ?? "") + 1 + (at % 63)) % 64];
      return challenge.slice(0, at) + other + challenge.slice(at + 1);
    });
    for (const text of [
      ...changed,
      challenge.slice(0, -1),
      `${challenge}A`,
      `${challenge}=`,
      "onair_lc_",
      "x",
    ]) {
      expect((await call("GET", path(encodeURIComponent(text)))).status).toBe(404);
    }
    expect((await call("GET", path(challenge))).status).toBe(200);
  });

  test("is answered once: the first answer holds", async () => {
    const browser = new Browser(server);
    const challenge = await challengeFor(browser, authorizationRequest(app.client_id));
    const answers = await Promise.all([
      call("PUT", path(challenge, "/reject"), {}),
      call("PUT", path(challenge, "/accept"), { user_id: 1001 }),
    ]);
    const [taken, refused] = answers.toSorted((one, other) => one.status - other.status);
    expect([taken?.status, refused?.status]).toEqual([200, 409]);
    expect(refused?.body.code).toBe("conflict");
    const { location } = await browser.open(taken?.body.redirect_to ?? "");
    expect(parameter(location, "error")).toBe(taken === answers[0] ? "access_denied" : "");
  });
});
