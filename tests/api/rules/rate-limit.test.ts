import { beforeEach, describe, expect, test } from "bun:test";
import { rateLimiter } from "../../../src/api/http/access.ts";
import type { Share } from "../../../src/domain/replicas.ts";
import { RateShares } from "../../../src/postgres/peers.ts";
import { form } from "../../support/oauth.ts";
import { RawClient } from "../../support/raw-client.ts";
import { users } from "../../support/real-data.ts";
import { Clock, json, type TestServer, testServer } from "../../support/server.ts";
import { until } from "../../support/until.ts";

const clock = new Clock();

const server = await testServer({ clock, args: ["--rate-limit", "60"], users });
/** Servers at which an address is soon over its limit; the second trusts the proxy in front of it. */
const tight = await testServer({ clock, args: ["--rate-limit", "3"], users });
const proxied = await testServer({ clock, args: ["--rate-limit", "3", "--trusted-proxies", "127.0.0.1"] });
beforeEach(() => clock.advance(60_000));

const limits = ({ headers }: Response) =>
  ["limit", "remaining", "reset"].map((name) => Number(headers.get(`ratelimit-${name}`)));

test("counts down, refuses with 429 and Retry-After, and refills evenly", async () => {
  const { token } = await server.application({ rate_limit: 6 });
  for (const remaining of [5, 4, 3, 2, 1, 0]) {
    const response = await server.get("/public/v1/users/xqcow", token);
    expect(response.status).toBe(200);
    expect(limits(response)).toEqual([6, remaining, (6 - remaining) * 10]);
  }
  const refused = await server.get("/public/v1/users/xqcow", token);
  expect(refused.status).toBe(429);
  expect(refused.headers.get("retry-after")).toBe("10");
  expect(limits(refused)).toEqual([6, 0, 60]);
  const message = "Too many requests; try again in 10 seconds";
  expect(await json<object>(refused)).toMatchObject({ code: "rate_limited", message, errors: [] });
  clock.advance(10_000);
  expect((await server.get("/public/v1/users/xqcow", token)).status).toBe(200);
  expect((await server.get("/public/v1/users/xqcow", token)).status).toBe(429);
  clock.advance(60_000);
  expect(limits(await server.get("/public/v1/users/xqcow", token))).toEqual([6, 5, 10]);
});

test("each application has a bucket of its own, shared by all its routes", async () => {
  const [one, two] = [
    await server.application({ rate_limit: 2 }),
    await server.application({ rate_limit: 2 }),
  ];
  expect((await server.get("/public/v1/users/xqcow", one.token)).status).toBe(200);
  expect((await server.get("/public/v1/events/subscriptions", one.token)).status).toBe(200);
  expect((await server.get("/public/v1/users/search?query=game", one.token)).status).toBe(429);
  expect((await server.get("/public/v1/users/xqcow", two.token)).status).toBe(200);
});

test("errors count and carry the headers too", async () => {
  const { token } = await server.application({ rate_limit: 10 });
  expect(limits(await server.get("/public/v1/users/nobody", token))).toEqual([10, 9, 6]);
  expect(limits(await server.get("/public/v1/users/search?query=x", token))).toEqual([10, 8, 12]);
});

test("without a token, or with a bad one, the address is limited", async () => {
  const first = await server.get("/public/v1/categories");
  expect(limits(first)).toEqual([60, 59, 1]);
  expect(limits(await server.get("/public/v1/users/xqcow"))[1]).toBe(58);
  expect(limits(await server.get("/public/v1/users/xqcow", "onair_at_bad"))[1]).toBe(57);
  expect(limits(await server.get("/public/v1/categories", undefined, { method: "HEAD" }))[1]).toBe(56);
});

describe("routes that need no token", () => {
  const open = ["/public/v1/categories", "/public/v1/events/types", "/public/v1/public-key"];

  test.each(open)("counts for the application of a good token: %s", async (path) => {
    const { token } = await tight.application({ rate_limit: 3 });
    const unlimited = await tight.application({ rate_limit: 0 });
    const unused = await tight.application();
    clock.advance(60_000);
    expect(limits(await tight.get("/public/v1/users/xqcow", token))).toEqual([3, 2, 20]);
    expect(limits(await tight.get(path, token))).toEqual([3, 1, 40]);
    expect(limits(await tight.get(path, token, { method: "HEAD" }))).toEqual([3, 0, 60]);
    expect((await tight.get(path, token)).status).toBe(429);
    expect((await tight.get(path, unlimited.token)).headers.get("ratelimit-limit")).toBeNull();
    const overTheLimitOfTheAddress = async () => {
      clock.advance(60_000);
      await tight.get(path, unlimited.token);
      for (const remaining of [2, 1, 0]) expect(limits(await tight.get(path))[1]).toBe(remaining);
      expect((await tight.get(path)).status).toBe(429);
      expect((await tight.get(path, unused.token)).status).toBe(429);
      return (await tight.get(path, unlimited.token)).status;
    };
    // A token that was looked up while its server heard of a change is looked up the next time, too.
    await until(async () => (await overTheLimitOfTheAddress()) === 200);
  });

  test.each([
    ["an unknown path", "GET", "/public/v1/nothing", 404],
    ["a path with a slash at its end", "GET", "/public/v1/categories/", 404],
    ["a wrong method", "POST", "/public/v1/categories", 405],
    ["a wrong method where a token is needed", "PUT", "/public/v1/users/xqcow", 405],
    ["percent-encoding that does not decode", "GET", "/public/v1/categories/%E0%A4%A", 400],
    ["the documentation", "GET", "/docs", 200],
    ["the reference", "GET", "/docs/api", 200],
    ["the document", "GET", "/openapi.json", 200],
    ["the metadata", "GET", "/.well-known/oauth-authorization-server", 200],
  ])(
    "%s counts for the application of a good token, else for the address",
    async (_, method, path, status) => {
      const { token } = await tight.application({ rate_limit: 3 });
      clock.advance(60_000);
      const ask = async (token?: string) => {
        const answer = await tight.get(path, token, { method });
        return [answer.status, ...limits(answer).slice(0, 2)];
      };
      for (const remaining of [2, 1, 0]) expect(await ask(token)).toEqual([status, 3, remaining]);
      expect(await ask(token)).toEqual([429, 3, 0]);
      expect(await ask()).toEqual([status, 3, 2]);
      expect(await ask("onair_at_bad")).toEqual([status, 3, 1]);
      expect(await ask()).toEqual([status, 3, 0]);
      const refused = await tight.get(path, undefined, { method });
      expect([refused.status, ...limits(refused)]).toEqual([429, 3, 0, 60]);
      expect(refused.headers.get("retry-after")).toBe("20");
      expect(await json<object>(refused)).toMatchObject({ code: "rate_limited" });
      // A preflight passes, so that a page sees the error of its request.
      for (const caller of [token, undefined])
        expect((await tight.get(path, caller, { method: "OPTIONS" })).status).toBe(204);
    },
  );

  test("is answered with a token that is not good, too, which counts for the address", async () => {
    const { token, id } = await server.application();
    clock.advance(60_000);
    expect(limits(await server.get("/public/v1/categories", token))[1]).toBe(59);
    expect((await server.admin("DELETE", `/admin/v1/applications/${id}/tokens`)).status).toBe(200);
    const status = async (authorization: string) => {
      const response = await server.get("/public/v1/categories", undefined, { headers: { authorization } });
      return [response.status, limits(response)[1]];
    };
    expect(await status("Bearer onair_at_bad")).toEqual([200, 59]);
    expect(await status(`Bearer ${token}`)).toEqual([200, 58]);
    expect(await status("Basic eDp5")).toEqual([200, 57]);
  });
});

test("over the limit of its address, a request without a good token is 429, not 401", async () => {
  const status = async (given?: string) => (await tight.get("/public/v1/users/xqcow", given)).status;
  expect([await status(), await status("onair_at_bad"), await status()]).toEqual([401, 401, 401]);
  expect([await status(), await status("onair_at_bad")]).toEqual([429, 429]);
});

describe("the connection of a request that is refused", () => {
  const ask = async (to: TestServer, path: string, more = "") => {
    const client = new RawClient(to.publicUrl).send(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n${more}\r\n`);
    const [answer] = await client.answers();
    const isClosed = answer?.headers.get("connection") === "close";
    if (isClosed) await until(() => client.hasEnded || client.isClosed);
    client.reset();
    return [answer?.status, isClosed];
  };
  const path = "/public/v1/users/nobody";

  test("because of its address is closed, that of an application is kept", async () => {
    const { token } = await tight.application({ rate_limit: 1 });
    clock.advance(60_000);
    const authorization = `Authorization: Bearer ${token}\r\n`;
    expect(await ask(tight, path, authorization)).toEqual([404, false]);
    expect(await ask(tight, path, authorization)).toEqual([429, false]);
    for (let i = 0; i < 3; i++) expect(await ask(tight, path)).toEqual([401, false]);
    for (const one of [path, "/nothing", "/docs"]) expect(await ask(tight, one)).toEqual([429, true]);
  });

  test("is kept where it is the connection of a trusted proxy, which has requests of others", async () => {
    const forwarded = "X-Forwarded-For: 203.0.113.1\r\n";
    for (let i = 0; i < 3; i++) expect(await ask(proxied, path, forwarded)).toEqual([401, false]);
    expect(await ask(proxied, path, forwarded)).toEqual([429, false]);
  });
});

test("a clock that jumps back neither refills nor locks", async () => {
  const { token } = await server.application({ rate_limit: 2 });
  await server.get("/public/v1/users/xqcow", token);
  clock.advance(-3_600_000);
  expect(limits(await server.get("/public/v1/users/xqcow", token))[1]).toBe(0);
  clock.advance(60_000);
  expect((await server.get("/public/v1/users/xqcow", token)).status).toBe(200);
  clock.advance(3_600_000);
});

describe("behind a proxy", () => {
  const remaining = async (to: TestServer, forwardedFor?: string[]) => {
    const headers = (forwardedFor ?? []).map((value): [string, string] => ["x-forwarded-for", value]);
    return limits(await to.get("/public/v1/categories", undefined, { headers }))[1];
  };

  // `client-address.test.ts` has which address counts.
  test("that is trusted, each forwarded address has a bucket, whatever callers forge", async () => {
    expect(await remaining(proxied, ["203.0.113.1"])).toBe(2);
    expect(await remaining(proxied, ["203.0.113.2"])).toBe(2);
    expect(await remaining(proxied, ["198.51.100.7, 203.0.113.1"])).toBe(1);
    expect(await remaining(proxied, ["198.51.100.8", "203.0.113.1"])).toBe(0);
    expect(await remaining(proxied)).toBe(2);
  });

  test("IPv6 is counted by its /64, the range of one caller, also with bad tokens and secrets", async () => {
    expect(await remaining(proxied, ["2001:db8:1:2::1"])).toBe(2);
    expect(await remaining(proxied, ["[2001:DB8:1:2::3]:443"])).toBe(1);
    const badToken = { headers: { "x-forwarded-for": "2001:db8:1:2::2" } };
    expect(limits(await proxied.get("/public/v1/users/xqcow", "onair_at_bad", badToken))[1]).toBe(0);
    const wrongSecret = async (address: string) => {
      const fields = { grant_type: "client_credentials", client_id: "x", client_secret: "wrong" };
      return (await form(proxied, "/oauth/token", fields, { "x-forwarded-for": address })).status;
    };
    const statuses: number[] = [];
    for (let i = 0; i < 4; i++) statuses.push(await wrongSecret(`2001:db8:9:9::${i}`));
    expect(statuses).toEqual([401, 401, 401, 429]);
    expect(await wrongSecret("2001:db8:9:a::1")).toBe(401);
  });

  test("that is not, the header counts for nothing", async () => {
    expect(await remaining(tight, ["203.0.113.1"])).toBe(2);
    expect(await remaining(tight, ["203.0.113.2"])).toBe(1);
  });
});

describe("the limiter", () => {
  test("keeps at most the buckets of a bounded number of addresses, and drops the least recently used", () => {
    const limiter = rateLimiter(clock.now);
    limiter.take("busy", 10);
    let wrong = 0;
    for (let i = 0; i < 70_000; i++) {
      const address = `2001:db8::${i.toString(16)}`;
      if (limiter.take(address, 10)?.remaining !== 9) wrong++;
      if (limiter.take(address, 10)?.remaining !== 8) wrong++;
      if (i % 1_000 === 0) {
        clock.advance(1);
        limiter.take("busy", 10);
      }
    }
    expect(wrong).toBe(0);
    expect(limiter.take("busy", 10)?.allowed).toBe(false);
    expect(limiter.take("2001:db8::1", 10)?.remaining).toBe(9);
  });
});

/** A replica's limiter, what it tells, and the limiter of another replica that hears it. */
function replicas() {
  const told: Share[] = [];
  const other = rateLimiter(() => 0);
  const here = rateLimiter(
    () => 0,
    new RateShares((shares) => {
      for (const share of shares) {
        told.push(share);
        other.takenByReplica(share);
      }
    }),
  );
  return { here, other, told };
}

test("returned tokens are notified as well, and never more than were taken", async () => {
  const { here, other, told } = replicas();
  const leftAtOther = () => other.peek("key", 20)?.remaining;
  here.take("key", 20);
  await until(() => leftAtOther() === 19);
  here.giveBack("key", 20);
  await until(() => leftAtOther() === 20);
  other.takenByReplica(["key", 20, -3]);
  expect(leftAtOther()).toBe(20);
  expect(told).toEqual([
    ["key", 20, 1],
    ["key", 20, -1],
  ]);
});

test("a request that takes from two buckets is notified for both, and one that is refused for neither", async () => {
  const { here, other, told } = replicas();
  const buckets = [
    ["user", 10],
    ["application", 20],
  ] as const;
  for (let i = 0; i < 4; i++) here.takeEach(buckets);
  await until(
    () => other.peek("user", 10)?.remaining === 6 && other.peek("application", 20)?.remaining === 16,
  );
  for (let i = 0; i < 6; i++) other.takeEach(buckets);
  expect(other.takeEach(buckets)).toMatchObject({ allowed: false, limit: 10, remaining: 0 });
  expect(other.peek("application", 20)?.remaining).toBe(10);
  const sum = (of: string) => told.reduce((all, [key, , count]) => all + (key === of ? count : 0), 0);
  expect([sum("user"), sum("application")]).toEqual([4, 4]);
});
