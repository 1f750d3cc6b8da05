import { describe, expect, test } from "bun:test";
import { day, hour, minute, second } from "../../src/domain/time.ts";
import { keptLog } from "../support/log.ts";
import { type Fields, signInServer } from "../support/oauth.ts";
import { Clock } from "../support/server.ts";

const clock = new Clock();
const kept = keptLog("warn", clock.now);
const { newApp, refresh, userTokens, works } = await signInServer({ clock, log: kept.log });
const confidential = await newApp();
const publicClient = await newApp({ client_type: "public" });
const other = await newApp();

const applications = [
  ["a confidential client", () => confidential],
  ["a public client", () => publicClient],
] as const;

describe("RFC 6749, section 6: refreshing", () => {
  test.each(applications)(
    "%s gets a new pair; the access token of before stays good",
    async (_, application) => {
      const first = await userTokens(application());
      const { status, body } = await refresh(application(), first.refresh_token);
      expect(status).toBe(200);
      expect(body).toEqual({ ...first, access_token: expect.any(String), refresh_token: expect.any(String) });
      expect(body.access_token).not.toBe(first.access_token);
      expect(body.refresh_token).not.toBe(first.refresh_token);
      expect(await works(body.access_token)).toBe(true);
      expect(await works(first.access_token)).toBe(true);
    },
  );

  test("may ask for fewer scopes, and for all of them again later", async () => {
    const first = await userTokens(confidential);
    const fewer = await refresh(confidential, first.refresh_token, { scope: "users:read" });
    expect(fewer.body.scope).toBe("users:read");
    const again = await refresh(confidential, fewer.body.refresh_token);
    expect(again.body.scope).toBe("users:read events:subscribe");
  });

  test("never gives more than the user granted", async () => {
    const first = await userTokens(confidential, { consent: { scopes: ["users:read"] } });
    expect(first.scope).toBe("users:read");
    const scope = "users:read events:subscribe";
    const more = await refresh(confidential, first.refresh_token, { scope });
    expect([more.status, more.body.error]).toEqual([400, "invalid_scope"]);
    expect((await refresh(confidential, first.refresh_token)).body.scope).toBe("users:read");
  });

  test("is refused for anything unknown or missing, and the token stays good", async () => {
    const { refresh_token } = await userTokens(confidential);
    const refusals: readonly (readonly [Fields, number, string])[] = [
      [{ refresh_token: null }, 400, "invalid_request"],
      [{ refresh_token: `onair_rt_${"A".repeat(43)}` }, 400, "invalid_grant"],
      [{ scope: "users:write" }, 400, "invalid_scope"],
      [{ client_secret: "wrong" }, 401, "invalid_client"],
      [{ client_secret: null }, 401, "invalid_client"],
    ];
    for (const [fields, status, error] of refusals) {
      const refused = await refresh(confidential, refresh_token, fields);
      expect([fields, refused.status, refused.body.error]).toEqual([fields, status, error]);
    }
    expect((await refresh(confidential, refresh_token)).status).toBe(200);
  });

  test("is refused to another client, and for an access token", async () => {
    const { refresh_token, access_token } = await userTokens(confidential);
    expect((await refresh(other, refresh_token)).body.error).toBe("invalid_grant");
    expect((await refresh(publicClient, refresh_token)).body.error).toBe("invalid_grant");
    expect((await refresh(confidential, access_token)).body.error).toBe("invalid_grant");
    expect((await refresh(confidential, refresh_token)).status).toBe(200);
    expect(await works(refresh_token)).toBe(false);
  });

  test("is possible for 30 days from the last time", async () => {
    const first = await userTokens(confidential);
    clock.advance(30 * day - 1);
    const { status, body } = await refresh(confidential, first.refresh_token);
    expect(status).toBe(200);
    clock.advance(30 * day);
    expect((await refresh(confidential, body.refresh_token)).body.error).toBe("invalid_grant");
  });
});

describe("RFC 9700, section 4.14.2: refresh tokens rotate", () => {
  test("the old one works for 60 seconds more, for programs that refresh twice at once", async () => {
    const first = await userTokens(publicClient);
    const both = await Promise.all([
      refresh(publicClient, first.refresh_token),
      refresh(publicClient, first.refresh_token),
    ]);
    expect(both.map(({ status }) => status)).toEqual([200, 200]);
    clock.advance(60 * second - 1);
    const third = await refresh(publicClient, first.refresh_token);
    for (const { body } of [...both, third]) expect(await works(body.access_token)).toBe(true);
    expect((await refresh(publicClient, third.body.refresh_token)).status).toBe(200);
  });

  /** Two pairs for one refresh token, as of a client and a thief. */
  async function siblings() {
    const first = await userTokens(publicClient);
    const [one, other] = [
      (await refresh(publicClient, first.refresh_token)).body,
      (await refresh(publicClient, first.refresh_token)).body,
    ];
    // The use of an access token says nothing of who has the other pair.
    for (const { access_token } of [one, other]) expect(await works(access_token)).toBe(true);
    return { first, one, other };
  }

  test("the first of two siblings that is refreshed ends the other pair", async () => {
    const bystander = await siblings();
    const { first, one, other } = await siblings();
    clock.advance(hour);
    const next = (await refresh(publicClient, one.refresh_token)).body;
    expect(await works(other.access_token)).toBe(false);
    for (const { access_token } of [one, next]) expect(await works(access_token)).toBe(true);
    for (const { access_token } of [first, bystander.one, bystander.other])
      expect(await works(access_token)).toBe(true);
    // A lost answer to the second refresh.
    const repeated = (await refresh(publicClient, one.refresh_token)).body;
    for (const { access_token } of [next, repeated]) expect(await works(access_token)).toBe(true);
    expect((await refresh(publicClient, repeated.refresh_token)).status).toBe(200);
    expect(await works(next.access_token)).toBe(false);
  });

  test("the ended sibling, presented, ends the whole sign-in: it is the client's or a thief's", async () => {
    const { first, one, other } = await siblings();
    const next = (await refresh(publicClient, one.refresh_token)).body;
    const reused = await refresh(publicClient, other.refresh_token);
    expect([reused.status, reused.body.error]).toEqual([400, "invalid_grant"]);
    const told = (await kept.lines()).map((line) => JSON.parse(line));
    expect(told.filter(({ event }) => event === "token_reused")).toEqual([
      expect.objectContaining({ level: "warn", application_id: publicClient.id }),
    ]);
    for (const { access_token } of [first, one, other, next]) expect(await works(access_token)).toBe(false);
    expect((await refresh(publicClient, next.refresh_token)).body.error).toBe("invalid_grant");
  });

  test("the grace of a token ends when one of its children is refreshed", async () => {
    const first = await userTokens(publicClient);
    const child = (await refresh(publicClient, first.refresh_token)).body;
    const next = (await refresh(publicClient, child.refresh_token)).body;
    clock.advance(1);
    expect((await refresh(publicClient, first.refresh_token)).body.error).toBe("invalid_grant");
    expect(await works(next.access_token)).toBe(false);
  });

  test("of siblings that are refreshed at once one counts, and then none of them is left", async () => {
    const first = await userTokens(publicClient);
    const children = [];
    for (let i = 0; i < 5; i++) children.push((await refresh(publicClient, first.refresh_token)).body);
    const answers = await Promise.all(children.map((child) => refresh(publicClient, child.refresh_token)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    for (const { body } of answers) if (body.access_token) expect(await works(body.access_token)).toBe(false);
  });

  test("a refusal ends no sibling: too many scopes, another client", async () => {
    const { one, other } = await siblings();
    const scope = "users:read events:subscribe";
    expect((await refresh(confidential, one.refresh_token, { scope })).status).toBe(400);
    expect(await works(other.access_token)).toBe(true);
    expect((await refresh(publicClient, other.refresh_token)).status).toBe(200);
  });

  test("after that it ends everything that came of the same code, and nothing else", async () => {
    const bystander = await userTokens(publicClient);
    const first = await userTokens(publicClient);
    const second_ = await refresh(publicClient, first.refresh_token);
    const third = await refresh(publicClient, second_.body.refresh_token);
    expect(await works(third.body.access_token)).toBe(true);
    clock.advance(60 * second);
    const reused = await refresh(publicClient, first.refresh_token);
    expect([reused.status, reused.body.error]).toEqual([400, "invalid_grant"]);
    for (const { access_token } of [first, second_.body, third.body]) {
      expect(await works(access_token)).toBe(false);
    }
    for (const { refresh_token } of [second_.body, third.body]) {
      expect((await refresh(publicClient, refresh_token)).body.error).toBe("invalid_grant");
    }
    expect(await works(bystander.access_token)).toBe(true);
    expect((await refresh(publicClient, bystander.refresh_token)).status).toBe(200);
  });

  test("a client that presents the rotated token of another ends nothing", async () => {
    const first = await userTokens(publicClient);
    const { body } = await refresh(publicClient, first.refresh_token);
    clock.advance(60 * second);
    await refresh(confidential, first.refresh_token);
    expect((await refresh(publicClient, body.refresh_token)).status).toBe(200);
  });
});

test("the refresh tokens of one sign-in are at most 60 in an hour; beyond that one has to wait, and the last one stays good", async () => {
  const bystander = await userTokens(confidential);
  let last = (await userTokens(confidential)).refresh_token;
  for (let i = 1; i < 60; i++) {
    clock.advance(second);
    last = (await refresh(confidential, last)).body.refresh_token;
  }
  clock.advance(second);
  const refused = await refresh(confidential, last);
  expect([refused.status, refused.body.error]).toEqual([429, "temporarily_unavailable"]);
  expect(refused.body.error_description).toContain("60 refresh tokens");
  expect(refused.headers.get("retry-after")).toBe("3540");
  expect((await refresh(confidential, bystander.refresh_token)).status).toBe(200);
  clock.advance(hour - minute - second);
  expect((await refresh(confidential, last)).status).toBe(429);
  clock.advance(second);
  expect((await refresh(confidential, last)).status).toBe(200);
  expect((await refresh(confidential, last)).status).toBe(429);
});
