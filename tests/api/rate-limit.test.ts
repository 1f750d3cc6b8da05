import { describe, expect, test } from "bun:test";
import { rateLimiter } from "../../src/api/http/access.ts";
import type { Share } from "../../src/domain/replicas.ts";
import { RateShares } from "../../src/postgres/peers.ts";
import { form } from "../support/oauth.ts";
import { RawClient } from "../support/raw-client.ts";
import { users } from "../support/real-data.ts";
import { Clock, json, ownServer, type TestServer, testServer } from "../support/server.ts";
import { until } from "../support/until.ts";

const clock = new Clock();

const server = await testServer({ clock, args: ["--rate-limit", "60"], users });

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
  expect(await json<object>(refused)).toMatchObject({ code: "rate_limited", errors: [] });
  clock.advance(10_000);
  expect((await server.get("/public/v1/users/xqcow", token)).status).toBe(200);
  expect((await server.get("/public/v1/users/xqcow", token)).status).toBe(429);
  clock.advance(60_000);
  expect(limits(await server.get("/public/v1/users/xqcow", token))).toEqual([6, 5, 10]);
});

test("the message says when to try again, in seconds or in one", async () => {
  const said = async (rate_limit: number) => {
    const { token } = await server.application({ rate_limit });
    for (let i = 0; i < rate_limit; i++) await server.get("/public/v1/users/xqcow", token);
    return (await json<{ message: string }>(await server.get("/public/v1/users/xqcow", token))).message;
  };
  expect(await said(6)).toBe("Too many requests; try again in 10 seconds");
  expect(await said(60)).toBe("Too many requests; try again in 1 second");
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
  clock.advance(60_000);
  const first = await server.get("/public/v1/categories");
  expect(limits(first)).toEqual([60, 59, 1]);
  expect(limits(await server.get("/public/v1/users/xqcow"))[1]).toBe(58);
  expect(limits(await server.get("/public/v1/users/xqcow", "onair_at_bad"))[1]).toBe(57);
  expect(limits(await server.get("/public/v1/categories", undefined, { method: "HEAD" }))[1]).toBe(56);
});

describe("routes that need no token", () => {
  const open = ["/public/v1/categories", "/public/v1/events/types", "/public/v1/public-key"];

  test.each(open)("counts for the application of a good token: %s", async (path) => {
    const own = await ownServer({ clock, args: ["--rate-limit", "3"], users });
    const { token } = await own.application({ rate_limit: 3 });
    const unlimited = await own.application({ rate_limit: 0 });
    const unused = await own.application();
    clock.advance(60_000);
    expect(limits(await own.get("/public/v1/users/xqcow", token))).toEqual([3, 2, 20]);
    expect(limits(await own.get(path, token))).toEqual([3, 1, 40]);
    expect(limits(await own.get(path, token, { method: "HEAD" }))).toEqual([3, 0, 60]);
    expect((await own.get(path, token)).status).toBe(429);
    expect((await own.get(path, unlimited.token)).headers.get("ratelimit-limit")).toBeNull();
    const overTheLimitOfTheAddress = async () => {
      clock.advance(60_000);
      await own.get(path, unlimited.token);
      for (const remaining of [2, 1, 0]) expect(limits(await own.get(path))[1]).toBe(remaining);
      expect((await own.get(path)).status).toBe(429);
      expect((await own.get(path, unused.token)).status).toBe(429);
      return (await own.get(path, unlimited.token)).status;
    };
    // A token that was looked up while its server heard of a change is looked up the next time, too.
    await until(async () => (await overTheLimitOfTheAddress()) === 200);
  });

  test.each([
    ["an unknown path", "GET", "/public/v1/nothing", 404],
    ["a wrong method", "POST", "/public/v1/categories", 405],
    ["the document", "GET", "/openapi.json", 200],
  ])(
    "%s counts for the application of a good token, else for the address",
    async (_, method, path, status) => {
      const own = await ownServer({ clock, args: ["--rate-limit", "60"], users });
      const { token } = await own.application({ rate_limit: 3 });
      clock.advance(60_000);
      const ask = async (token?: string) => {
        const answer = await own.get(path, token, { method });
        return [answer.status, ...limits(answer).slice(0, 2)];
      };
      expect(await ask()).toEqual([status, 60, 59]);
      expect(await ask("onair_at_bad")).toEqual([status, 60, 58]);
      for (const remaining of [2, 1, 0]) expect(await ask(token)).toEqual([status, 3, remaining]);
      expect(await ask(token)).toEqual([429, 3, 0]);
      const preflight = await own.get(path, token, { method: "OPTIONS" });
      expect([preflight.status, ...limits(preflight)]).toEqual([204, 0, 0, 0]);
    },
  );

  test("is answered with a token that is not good, too, which counts for the address", async () => {
    const own = await ownServer({ clock, args: ["--rate-limit", "60"], users });
    const { token, id } = await own.application();
    clock.advance(60_000);
    expect(limits(await own.get("/public/v1/categories", token))[1]).toBe(59);
    expect((await own.admin("DELETE", `/admin/v1/applications/${id}/tokens`)).status).toBe(200);
    const status = async (authorization: string) => {
      const response = await own.get("/public/v1/categories", undefined, { headers: { authorization } });
      return [response.status, limits(response)[1]];
    };
    expect(await status("Bearer onair_at_bad")).toEqual([200, 59]);
    expect(await status(`Bearer ${token}`)).toEqual([200, 58]);
    expect(await status("Basic eDp5")).toEqual([200, 57]);
  });
});

test("over the limit of its address, a request without a good token is 429, not 401", async () => {
  const own = await ownServer({ clock, args: ["--rate-limit", "3"], users });
  const status = async (given?: string) => (await own.get("/public/v1/users/xqcow", given)).status;
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
    const own = await ownServer({ clock, args: ["--rate-limit", "1"], users });
    const { token } = await own.application();
    clock.advance(60_000);
    const authorization = `Authorization: Bearer ${token}\r\n`;
    expect(await ask(own, path, authorization)).toEqual([404, false]);
    expect(await ask(own, path, authorization)).toEqual([429, false]);
    expect(await ask(own, path)).toEqual([401, false]);
    for (const one of [path, "/nothing", "/docs"]) expect(await ask(own, one)).toEqual([429, true]);
  });

  test("is kept where it is the connection of a trusted proxy, which has requests of others", async () => {
    const args = ["--rate-limit", "1", "--trusted-proxies", "127.0.0.1"];
    const own = await ownServer({ clock, args, users });
    const forwarded = "X-Forwarded-For: 203.0.113.1\r\n";
    expect(await ask(own, path, forwarded)).toEqual([401, false]);
    expect(await ask(own, path, forwarded)).toEqual([429, false]);
  });
});

test("a clock that jumps back neither refills nor locks", async () => {
  const { token } = await server.application({ rate_limit: 2 });
  await server.get("/public/v1/users/xqcow", token);
  clock.advance(-3_600_000);
  expect(limits(await server.get("/public/v1/users/xqcow", token))[1]).toBe(0);
  clock.advance(60_000);
  expect((await server.get("/public/v1/users/xqcow", token)).status).toBe(200);
});

describe("behind a proxy", () => {
  const remaining = async (to: TestServer, forwardedFor?: string[]) => {
    const headers = (forwardedFor ?? []).map((value): [string, string] => ["x-forwarded-for", value]);
    return limits(await to.get("/public/v1/categories", undefined, { headers }))[1];
  };

  test("that is trusted, each forwarded address has a bucket, whatever callers forge", async () => {
    const behind = await ownServer({
      clock,
      args: ["--rate-limit", "60", "--trusted-proxies", "127.0.0.1,10.0.0.0/8"],
    });
    expect(await remaining(behind, ["203.0.113.1"])).toBe(59);
    expect(await remaining(behind, ["203.0.113.2"])).toBe(59);
    expect(await remaining(behind, ["198.51.100.7, 203.0.113.1"])).toBe(58);
    expect(await remaining(behind, ["10.0.0.1, 203.0.113.1, 10.0.0.2"])).toBe(57);
    expect(await remaining(behind, ["198.51.100.8", "203.0.113.1"])).toBe(56);
    expect(await remaining(behind)).toBe(59);
  });

  test("IPv6 is counted by its /64, the range of one caller, and IPv4 by address", async () => {
    const behind = await ownServer({
      clock,
      args: ["--rate-limit", "60", "--trusted-proxies", "127.0.0.1"],
    });
    expect(await remaining(behind, ["2001:db8:1:2::1"])).toBe(59);
    expect(await remaining(behind, ["2001:db8:1:2:ffff:0:0:9"])).toBe(58);
    expect(await remaining(behind, ["[2001:DB8:1:2::3]:443"])).toBe(57);
    expect(await remaining(behind, ["2001:db8:1:3::1"])).toBe(59);
    expect(await remaining(behind, ["::ffff:203.0.113.1"])).toBe(59);
    expect(await remaining(behind, ["::ffff:203.0.113.2"])).toBe(59);
    const badToken = { headers: { "x-forwarded-for": "2001:db8:1:3::2" } };
    expect(limits(await behind.get("/public/v1/users/xqcow", "onair_at_bad", badToken))[1]).toBe(58);
    const wrongSecret = async (address: string) => {
      const fields = { grant_type: "client_credentials", client_id: "x", client_secret: "wrong" };
      return (await form(behind, "/oauth/token", fields, { "x-forwarded-for": address })).status;
    };
    const statuses: number[] = [];
    for (let i = 0; i < 61; i++) statuses.push(await wrongSecret(`2001:db8:9:9::${i.toString(16)}`));
    expect(statuses).toEqual([...Array(60).fill(401), 429]);
    expect(await wrongSecret("2001:db8:9:a::1")).toBe(401);
  });

  test("that is not, the header counts for nothing", async () => {
    const open = await ownServer({ clock, args: ["--rate-limit", "60"] });
    expect(await remaining(open, ["203.0.113.1"])).toBe(59);
    expect(await remaining(open, ["203.0.113.2"])).toBe(58);
  });
});

describe("the limiter", () => {
  test("keeps at most the buckets of a bounded number of addresses, and drops the least recently used", () => {
    const limiter = rateLimiter(clock.now);
    limiter.take("busy", 10);
    let wrong = 0;
    for (let i = 0; i < 200_000; i++) {
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

test("tokens that are returned before the notification are not notified", async () => {
  const { here, told } = replicas();
  here.take("key", 20);
  here.giveBack("key", 20);
  here.take("last", 20);
  await until(() => told.length > 0);
  expect(told).toEqual([["last", 20, 1]]);
});
