import { beforeEach, describe, expect, test } from "bun:test";
import { SignJWT } from "jose";
import { audience, issuer, newKey, platformKeys } from "../support/oauth.ts";
import { users } from "../support/real-data.ts";
import { Clock, ownServer, testServer } from "../support/server.ts";

/** Nothing is looked up, verified or fetched for a caller who has used up the limit of the address. */
const limit = 8;
const clock = new Clock();
const platform = platformKeys();
const args = ["--rate-limit", String(limit), ...platform.args];
const server = await testServer({ clock, args, users });
const app = await server.application({ rate_limit: 100 });
let lookUps = 0;
const { tokens } = server.app.store;
const { find } = tokens;
/** What happens while a token is looked up. */
let meanwhile = async () => {};
Object.assign(tokens, {
  async find(hash: Uint8Array) {
    lookUps++;
    const found = await find(hash);
    await meanwhile();
    return found;
  },
});

beforeEach(() => {
  platform.respond = null;
  // The bucket of the address is full again, and the keys are fetched again.
  clock.advance(20 * 60_000);
  lookUps = 0;
  meanwhile = async () => {};
  platform.fetches = 0;
});

const path = "/public/v1/users/xqcow";
const limitsOf = ({ status, headers }: Response) => [
  status,
  ...["limit", "remaining"].map((name) => Number(headers.get(`ratelimit-${name}`) ?? Number.NaN)),
];

async function useUp(): Promise<void> {
  for (let i = 0; i < limit; i++) await server.get("/public/v1/categories");
  expect((await server.get("/public/v1/categories")).status).toBe(429);
}

/** A token as long as ours, or one of three parts. */
const unknown = (i: number) => `onair_at_${String(i).padStart(43, "x")}`;
const jwtLike = (i: number) =>
  [{ alg: "ES256", kid: `k${i}`, typ: "at+jwt" }, { iss: issuer, aud: audience, exp: 1e10, i }, "x"]
    .map((part) => Buffer.from(JSON.stringify(part)).toString("base64url"))
    .join(".");

describe("a token that is not known", () => {
  test.each([
    ["opaque", unknown],
    ["JWT-shaped", jwtLike],
  ])("%s: takes from the address before it is looked up", async (_, make) => {
    const statuses: number[] = [];
    for (let i = 0; i < 3 * limit; i++) statuses.push((await server.get(path, make(i))).status);
    expect(statuses).toEqual([...Array(limit).fill(401), ...Array(2 * limit).fill(429)]);
    expect(lookUps).toBe(limit);
    expect(platform.fetches).toBeLessThanOrEqual(limit);
  });

  test("has no key fetched for it, with the key server down and the address over its limit", async () => {
    platform.respond = () => new Response("down", { status: 500 });
    const cold = await ownServer({ clock, args });
    for (let i = 0; i < limit; i++) expect((await cold.get(path, jwtLike(i))).status).toBe(503);
    const before = platform.fetches;
    for (let i = 0; i < limit; i++) {
      const answer = await cold.get(path, jwtLike(i));
      expect(limitsOf(answer)).toEqual([429, limit, 0]);
      expect(answer.headers.get("retry-after")).not.toBeNull();
    }
    expect(platform.fetches).toBe(before);
  });

  test("that is good returns the token to the bucket of the address", async () => {
    for (let i = 0; i < 3; i++) {
      const { token } = await server.application({ rate_limit: 100 });
      clock.advance(60_000);
      expect(limitsOf(await server.get(path, token))).toEqual([200, 100, 99]);
      // Taken by this request alone.
      expect(limitsOf(await server.get("/public/v1/categories"))).toEqual([200, limit, limit - 1]);
    }
  });

  test("of the platform likewise", async () => {
    const { jwk, privateKey } = await newKey("first");
    platform.keys = [jwk];
    const cold = await ownServer({ clock, args, users });
    const { client_id } = await cold.application({ rate_limit: 100 });
    clock.advance(60_000);
    const token = await new SignJWT({ client_id, scope: "users:read", sub: "1001" })
      .setProtectedHeader({ alg: "ES256", kid: "first", typ: "at+jwt" })
      .setIssuer(issuer)
      .setAudience(audience)
      .setExpirationTime(Math.floor(clock.ms / 1000) + 600)
      .sign(privateKey);
    // A token of a user has half of the application's limit.
    expect(limitsOf(await cold.get(path, token))).toEqual([200, 50, 49]);
    expect(limitsOf(await cold.get("/public/v1/categories"))).toEqual([200, limit, limit - 1]);
  });
});

describe("a token that was good", () => {
  test("goes on being let in where the address is used up, also when something was changed meanwhile", async () => {
    expect((await server.get(path, app.token)).status).toBe(200);
    await useUp();
    expect((await server.get(path, app.token)).status).toBe(200);
    const other = `/admin/v1/applications/${app.id}`;
    expect((await server.admin("PATCH", other, { name: "Changed" })).status).toBe(200);
    expect((await server.get(path, app.token)).status).toBe(200);
    // A new one has to wait.
    expect((await server.get(path, unknown(1))).status).toBe(429);
  });

  test("also where something was changed while it was looked up for the first time", async () => {
    const { token } = await server.application({ rate_limit: 100 });
    meanwhile = async () => {
      await server.admin("PATCH", `/admin/v1/applications/${app.id}`, { name: "Changed" });
    };
    clock.advance(60_000);
    expect(limitsOf(await server.get(path, token))).toEqual([200, 100, 99]);
    meanwhile = async () => {};
    await useUp();
    expect((await server.get(path, token)).status).toBe(200);
  });

  test("and is revoked while it is looked up, is refused from then on", async () => {
    const { id, token } = await server.application({ rate_limit: 100 });
    meanwhile = async () => {
      meanwhile = async () => {};
      await server.admin("DELETE", `/admin/v1/applications/${id}/tokens`);
    };
    clock.advance(60_000);
    expect((await server.get(path, token)).status).toBe(401);
    expect((await server.get(path, token)).status).toBe(401);
  });

  test("and is revoked takes from the address, and is then unknown", async () => {
    const gone = await server.application({ rate_limit: 100 });
    clock.advance(60_000);
    expect((await server.get(path, gone.token)).status).toBe(200);
    await server.admin("DELETE", `/admin/v1/applications/${gone.id}/tokens`);
    for (let i = 1; i <= limit; i++) {
      expect(limitsOf(await server.get(path, gone.token))).toEqual([401, limit, limit - i]);
    }
    lookUps = 0;
    expect(limitsOf(await server.get(path, gone.token))).toEqual([429, limit, 0]);
    expect(lookUps).toBe(0);
  });
});

test("a preflight and a default picture have no limit", async () => {
  for (let i = 0; i < 2 * limit; i++) {
    for (const to of [path, "/nothing"])
      expect((await server.get(to, undefined, { method: "OPTIONS" })).status).toBe(204);
    expect((await server.get("/assets/profile-picture.png")).status).toBe(200);
  }
  expect(limitsOf(await server.get("/public/v1/categories"))).toEqual([200, limit, limit - 1]);
});
