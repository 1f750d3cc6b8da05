import { describe, expect, test } from "bun:test";
import { day, hour, minute, second } from "../../src/domain/time.ts";
import { type Fields, signInServer } from "../support/oauth.ts";
import { Clock } from "../support/server.ts";

const clock = new Clock();
const { newApp, refresh, userTokens, works } = await signInServer({ clock });
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

  test.each<[string, Fields, number, string]>([
    ["no refresh_token", { refresh_token: null }, 400, "invalid_request"],
    ["an unknown one", { refresh_token: `onair_rt_${"A".repeat(43)}` }, 400, "invalid_grant"],
    ["an unknown scope", { scope: "users:write" }, 400, "invalid_scope"],
    ["a wrong secret", { client_secret: "wrong" }, 401, "invalid_client"],
    ["no secret of a confidential client", { client_secret: null }, 401, "invalid_client"],
  ])("is refused for %s, and the token stays good", async (_, fields, status, error) => {
    const { refresh_token } = await userTokens(confidential);
    const refused = await refresh(confidential, refresh_token, fields);
    expect([refused.status, refused.body.error]).toEqual([status, error]);
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
    expect((await refresh(publicClient, first.refresh_token)).status).toBe(200);
    for (const { body } of both) {
      expect((await refresh(publicClient, body.refresh_token)).status).toBe(200);
    }
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

describe("the refresh tokens of one sign-in", () => {
  /** Refreshes until this is refused; gives all refresh tokens, and the refusal. */
  async function refreshAsOftenAsPossible(first: string) {
    const given = [first];
    for (;;) {
      clock.advance(second);
      const answer = await refresh(confidential, given.at(-1) ?? "");
      if (answer.status !== 200 || given.length > 100) return { given, refused: answer };
      given.push(answer.body.refresh_token);
    }
  }

  test("are at most 60 in an hour; beyond that one has to wait, and the last one stays good", async () => {
    const bystander = await userTokens(confidential);
    const { given, refused } = await refreshAsOftenAsPossible((await userTokens(confidential)).refresh_token);
    expect(given).toHaveLength(60);
    expect([refused.status, refused.body.error]).toEqual([429, "temporarily_unavailable"]);
    expect(refused.body.error_description).toContain("60 refresh tokens");
    expect(refused.headers.get("retry-after")).toBe("3540");
    expect((await refresh(confidential, bystander.refresh_token)).status).toBe(200);
    clock.advance(hour - minute - second);
    expect((await refresh(confidential, given.at(-1) ?? "")).status).toBe(429);
    clock.advance(second);
    expect((await refresh(confidential, given.at(-1) ?? "")).status).toBe(200);
    expect((await refresh(confidential, given.at(-1) ?? "")).status).toBe(429);
  });

  test("end with a reused one also where they are so many", async () => {
    const { given } = await refreshAsOftenAsPossible((await userTokens(confidential)).refresh_token);
    clock.advance(minute);
    expect((await refresh(confidential, given[0] ?? "")).body.error).toBe("invalid_grant");
    clock.advance(hour);
    expect((await refresh(confidential, given.at(-1) ?? "")).body.error).toBe("invalid_grant");
  });
});
