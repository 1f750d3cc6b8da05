import { beforeEach, describe, expect, test } from "bun:test";
import { exportSPKI, SignJWT } from "jose";
import { platformJwtReader } from "../../../src/api/http/platform-jwt.ts";
import { DomainError } from "../../../src/domain/errors.ts";
import { minute, second } from "../../../src/domain/time.ts";
import { audience, issuer, newKey, platformKeys } from "../../support/oauth.ts";
import { users } from "../../support/real-data.ts";
import { Clock, json, ownServer, refusal, startServer, testServer } from "../../support/server.ts";

/** A platform that signs access tokens by itself, and publishes its keys. */
const platform = platformKeys();
const { jwksUrl } = platform;
const clock = new Clock();

const first = await newKey("first");
const key = first.privateKey;
const publicKey = first.publicKey;
platform.keys = [first.jwk];
const server = await testServer({ clock, args: platform.args, users });
const app = await server.application({ webhook_url: "http://127.0.0.1:9/hook" });
beforeEach(() => {
  platform.respond = null;
});

const seconds = () => Math.floor(clock.ms / 1000);
const claims = (): Record<string, unknown> => ({
  iss: issuer,
  aud: audience,
  exp: seconds() + 600,
  iat: seconds(),
  jti: crypto.randomUUID(),
  sub: "1001",
  client_id: app.client_id,
  scope: "users:read events:subscribe profile",
});
const header = { alg: "ES256", kid: "first", typ: "at+jwt" };

function sign(changes: Record<string, unknown> = {}, headers: object = {}, by = key): Promise<string> {
  return new SignJWT({ ...claims(), ...changes }).setProtectedHeader({ ...header, ...headers }).sign(by);
}
const status = async (token: string) => (await server.get("/public/v1/users/xqcow", token)).status;

describe("RFC 9068: an access token of the platform", () => {
  test("is taken for its user and application", async () => {
    const token = await sign();
    expect(await status(token)).toBe(200);
    const path = "/public/v1/events/subscriptions";
    const events = [{ name: "channel.followed", version: 1 }];
    expect((await server.post(path, { events, broadcaster_user_id: 1002 }, token)).status).toBe(200);
    const { data } = await json<{ data: object[] }>(await server.get(path, token));
    expect(data).toMatchObject([{ app_id: app.id, broadcaster_user_id: 1001 }]);
  });

  test.each<[string, Record<string, unknown>, object]>([
    ["typ JWT", {}, { typ: "JWT" }],
    ["typ application/at+jwt", {}, { typ: "application/at+jwt" }],
    ["no typ", {}, { typ: undefined }],
    ["azp for client_id", { client_id: undefined, azp: "" }, {}],
    ["several audiences", { aud: ["https://other.example", audience] }, {}],
    ["the application itself as its subject", { sub: "" }, {}],
  ])("may have %s", async (_, changes, headers) => {
    const own = Object.fromEntries(
      Object.entries(changes).map(([name, value]) => [name, value === "" ? app.client_id : value]),
    );
    expect(await status(await sign(own, headers))).toBe(200);
  });

  test("without a subject is the application's own only where a setting says so", async () => {
    const token = await sign({ sub: undefined });
    expect(await status(token)).toBe(401);
    const saying = await ownServer({ clock, args: [...platform.args, "--jwt-app-without-sub"], users });
    const { client_id } = await saying.application({ webhook_url: "http://127.0.0.1:9/" });
    const own = await sign({ sub: undefined, client_id });
    const path = "/public/v1/events/subscriptions";
    const body = { events: [{ name: "channel.followed", version: 1 }], broadcaster_user_id: 1002 };
    expect((await saying.post(path, body, own)).status).toBe(200);
    // Whatever else it names is no reason to take it for the application.
    for (const sub of ["", null, 1001, "somebody"]) {
      const other = await sign({ sub, client_id });
      expect((await saying.get("/public/v1/users/xqcow", other)).status).toBe(401);
    }
  });

  test("has only scopes that exist and that the application may have", async () => {
    const reader = await server.application({ scopes: ["users:read"] });
    const token = await sign({ client_id: reader.client_id });
    expect(await status(token)).toBe(200);
    expect((await server.get("/public/v1/events/subscriptions", token)).status).toBe(403);
    expect(await status(await sign({ scope: "profile" }))).toBe(403);
    expect(await status(await sign({ scope: undefined }))).toBe(403);
    expect(await status(await sign({ scope: ["users:read"] }))).toBe(403);
  });

  test("is still taken from a clock that is up to a minute behind or ahead, and not from others", async () => {
    expect(await status(await sign({ exp: seconds() - 59 }))).toBe(200);
    expect(await status(await sign({ exp: seconds() - 61 }))).toBe(401);
    expect(await status(await sign({ nbf: seconds() + 59 }))).toBe(200);
    expect(await status(await sign({ nbf: seconds() + 61 }))).toBe(401);
  });

  test("ends when it expires, also while it is remembered", async () => {
    const token = await sign({ exp: seconds() + 10 });
    expect(await status(token)).toBe(200);
    clock.advance(10 * second + minute - 1);
    expect(await status(token)).toBe(200);
    clock.advance(1);
    expect(await status(token)).toBe(401);
  });
});

describe("RFC 8725: is refused", () => {
  const unsigned = (head: object, payload: object) =>
    [head, payload].map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".");

  test.each<[string, () => Promise<string>]>([
    ["alg none", async () => `${unsigned({ alg: "none", typ: "at+jwt" }, claims())}.`],
    ["alg none with a key", async () => `${unsigned({ ...header, alg: "none" }, claims())}.`],
    ["no signature", async () => `${unsigned(header, claims())}.`],
    [
      "an HMAC over the public key",
      async () => {
        const pem = new TextEncoder().encode(await exportSPKI(publicKey));
        return new SignJWT(claims()).setProtectedHeader({ ...header, alg: "HS256" }).sign(pem);
      },
    ],
    ["an unknown kid", async () => sign({}, { kid: "unknown" })],
    ["the kid of another key", async () => sign({}, {}, (await newKey("first")).privateKey)],
    [
      "a key that the token brings along",
      async () => {
        const own = await newKey("own");
        return sign({}, { kid: undefined, jwk: own.jwk }, own.privateKey);
      },
    ],
    [
      "an unknown critical header",
      async () => {
        const token = new SignJWT(claims()).setProtectedHeader({ ...header, crit: ["x"], x: 1 });
        return token.sign(key, { crit: { x: true } });
      },
    ],
    [
      "a changed payload",
      async () => {
        const [head, , signature] = (await sign()).split(".");
        const payload = Buffer.from(JSON.stringify({ ...claims(), sub: "1002" })).toString("base64url");
        return `${head}.${payload}.${signature}`;
      },
    ],
    ["another issuer", () => sign({ iss: "https://evil.example" })],
    ["another audience", () => sign({ aud: "https://other.example" })],
    ["no audience", () => sign({ aud: undefined })],
    ["no end", () => sign({ exp: undefined })],
    ["a token for something else", () => sign({}, { typ: "logout+jwt" })],
    ["a token bound to a key", () => sign({ cnf: { jkt: "x" } })],
    ["an unknown application", () => sign({ client_id: "01KATHZX5M9S3E6R8B2D4F7G1H" })],
    ["no application", () => sign({ client_id: undefined })],
    ["an unknown user", () => sign({ sub: "999999999" })],
    ["a user that is no id", () => sign({ sub: "1001.0" })],
    ["a user with a leading zero", () => sign({ sub: "01001" })],
    ["a token of 8 KiB", () => sign({ padding: "x".repeat(8192) })],
    ["three parts that are none", async () => "a.b.c"],
  ])("%s", async (_, token) => {
    const answer = await server.get("/public/v1/users/xqcow", await token());
    expect(await refusal(answer)).toEqual([401, "invalid_token"]);
    expect(answer.headers.get("www-authenticate")).toContain('error="invalid_token"');
  });
});

describe("the keys of the platform", () => {
  const settings = { jwksUrl, issuer, audience, appWithoutSub: false };
  const reader = (cooldownMs: number, url = jwksUrl) =>
    platformJwtReader({
      settings: { ...settings, jwksUrl: url },
      store: server.app.store,
      now: clock.now,
      cooldownMs,
    });

  test("may be rotated: a new one is fetched when it is first seen, and one that is gone ends", async () => {
    const read = reader(0);
    const old = await sign();
    expect((await read(old))?.grant.userId).toBe(1001);
    const before = platform.keys;
    const next = await newKey("next", "RS256");
    const token = await sign({}, { kid: "next", alg: "RS256" }, next.privateKey);
    expect(await read(token)).toBeNull();
    platform.keys = [next.jwk];
    try {
      expect((await read(token))?.grant.userId).toBe(1001);
      expect(await read(old)).toBeNull();
    } finally {
      platform.keys = before;
    }
  });

  test("are not fetched for each unknown one", async () => {
    const read = reader(30 * second);
    await read(await sign());
    const before = platform.fetches;
    for (let i = 0; i < 20; i++) expect(await read(await sign({}, { kid: `unknown${i}` }))).toBeNull();
    expect(platform.fetches).toBe(before);
  });

  test("are fetched once for many tokens at a time", async () => {
    const read = reader(30 * second);
    const tokens = await Promise.all(Array.from({ length: 20 }, () => sign()));
    const before = platform.fetches;
    const callers = await Promise.all(tokens.map(read));
    expect(callers.every((caller) => caller?.grant.userId === 1001)).toBe(true);
    expect(platform.fetches).toBe(before + 1);
  });

  test.each<[string, () => Response]>([
    ["an error", () => new Response("down", { status: 500 })],
    ["no JSON", () => new Response("<html>")],
    ["no key set", () => Response.json({ key: [] })],
    ["more than 256 KiB", () => Response.json({ keys: platform.keys, padding: "x".repeat(300_000) })],
    ["a redirect", () => Response.redirect(`${jwksUrl}/elsewhere`)],
  ])(
    "that come as %s make the token neither good nor bad: unavailable, and later it is good",
    async (_, answer) => {
      const read = reader(0);
      const token = await sign();
      platform.respond = answer;
      const failure = await read(token).catch((error: unknown) => error);
      if (!(failure instanceof DomainError)) throw failure;
      expect(failure.code).toBe("unavailable");
      platform.respond = null;
      expect((await read(token))?.grant.userId).toBe(1001);
    },
  );

  test("that cannot be fetched at all are 503 for the caller, and other tokens go on", async () => {
    const alone = await ownServer({
      clock,
      args: ["--jwks-url", "http://127.0.0.1:9/", "--jwt-issuer", issuer, "--jwt-audience", audience],
    });
    const { token } = await alone.application();
    expect((await alone.get("/public/v1/users/nobody", token)).status).toBe(404);
    const answer = await alone.get("/public/v1/users/nobody", await sign());
    expect(await refusal(answer)).toEqual([503, "unavailable"]);
    expect(answer.headers.get("retry-after")).toBe("5");
  });
});

test("without the settings no JWT is taken, and none of them works alone", async () => {
  const without = await ownServer({ clock });
  expect((await without.get("/public/v1/users/xqcow", await sign())).status).toBe(401);
  for (const args of [
    ["--jwks-url", jwksUrl],
    ["--jwt-issuer", issuer, "--jwt-audience", audience],
  ]) {
    await expect(startServer({ args })).rejects.toThrow("must be given together");
  }
});
