import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { join } from "node:path";
import { hour } from "../../src/domain/time.ts";
import { loginLimits, secretHash } from "../../src/domain/tokens.ts";
import {
  accept,
  authorizationRequest,
  Browser,
  challengeFor,
  loginUrl,
  parameter,
  redirectUri,
} from "../support/oauth.ts";
import { unusedPort } from "../support/ports.ts";
import { users } from "../support/real-data.ts";
import { Clock, isOnPostgres, ownDirectory, ownServer, type TestServer } from "../support/server.ts";
import { until } from "../support/until.ts";

// What those who have not logged in can make `/oauth/authorize` do.

const args = ["--login-url", loginUrl, "--trusted-proxies", "127.0.0.1", "--rate-limit", "0"];

/** Begins a login as a browser at this address does; gives its challenge. */
async function begin(server: TestServer, path: string, address: string): Promise<string> {
  const response = await server.get(path, undefined, { headers: { "x-forwarded-for": address } });
  return parameter(response.headers.get("location") ?? "", "login_challenge");
}

const isOpen = async (server: TestServer, challenge: string) =>
  (await server.admin("GET", `/admin/v1/login-requests/${challenge}`)).status === 200;

function storedLogins(data: string): number | undefined {
  using db = new Database(join(data, "onair.db"), { readonly: true });
  return db.query<{ n: number }, []>("SELECT count(*) AS n FROM login_requests").get()?.n;
}

test("state has at most 2,048 bytes, and returns as it was; a longer one is refused", async () => {
  const server = await ownServer({ args, users });
  const longest = `https://app.example/${"a".repeat(2028)}`;
  const app = await server.application({ redirect_uris: [longest, redirectUri] });
  for (const [state, redirect_uri] of [
    ["x".repeat(2048), longest],
    ["é".repeat(1024), redirectUri],
    ["\n\u0001".repeat(1024), redirectUri],
    ['"]\n', redirectUri],
  ] as const) {
    const browser = new Browser(server);
    const path = authorizationRequest(app.client_id, { state, redirect_uri });
    const challenge = await challengeFor(browser, path);
    expect(challenge.length).toBeLessThanOrEqual(loginLimits.maxChallengeLength);
    const { location } = await browser.open(await accept(server, challenge, { user_id: 1001 }));
    expect(location).toStartWith(`${redirect_uri}?code=`);
    expect(new URL(location).searchParams.get("state")).toBe(state);
  }
  for (const state of ["x".repeat(2049), `${"é".repeat(1024)}x`]) {
    const path = authorizationRequest(app.client_id, { state });
    const { status, location, response } = await new Browser(server).open(path);
    expect([status, location]).toEqual([400, ""]);
    expect(await response.text()).toContain("2048 bytes");
  }
});

test("however many logins an address begins, none ends another one, and nothing is stored", async () => {
  const data = ownDirectory();
  const server = await ownServer({ args, users, data });
  const app = await server.application({ redirect_uris: [redirectUri] });
  const path = authorizationRequest(app.client_id);
  const first = await begin(server, path, "203.0.113.5");
  for (let left = 1_100; left > 0; left -= 50) {
    const some = Array.from({ length: 50 }, () => begin(server, path, "203.0.113.5"));
    expect((await Promise.all(some)).every(Boolean)).toBe(true);
  }
  expect(await isOpen(server, first)).toBe(true);
  if (!isOnPostgres) expect(storedLogins(data)).toBe(0);
});

test("a login goes on after a restart", async () => {
  const data = ownDirectory();
  const port = `${await unusedPort()}`;
  const before = await ownServer({ args: [...args, "--port", port], users, data });
  const app = await before.application({ redirect_uris: [redirectUri] });
  const browser = new Browser(before);
  const challenge = await challengeFor(browser, authorizationRequest(app.client_id));
  await before.stop();
  const after = await ownServer({ args: [...args, "--port", port], data });
  expect(await isOpen(after, challenge)).toBe(true);
  const { location } = await browser.open(await accept(after, challenge, { user_id: 1001 }));
  expect(parameter(location, "code")).not.toBe("");
});

test.skipIf(isOnPostgres)(
  "the answers to expired logins are removed soon after the start, however many there are",
  async () => {
    const clock = new Clock();
    const data = ownDirectory();
    const first = await ownServer({ clock, args, data });
    const { id } = await first.application({ redirect_uris: [redirectUri] });
    const { loginRequests } = first.app.store;
    const request = {
      ...{ applicationId: id, redirectUri, scopes: [], state: null, codeChallenge: "c".repeat(43) },
      ...{ browserHash: secretHash("browser"), expiresAt: clock.ms + hour },
    };
    const answer = { error: "access_denied", errorDescription: null } as const;
    const answers = Array.from({ length: 1200 }, (_, nth) => {
      const hashes = { challenge: secretHash(`challenge ${nth}`), verifier: secretHash(`verifier ${nth}`) };
      return loginRequests.answer(request, answer, hashes);
    });
    await Promise.all(answers);
    await first.stop();
    expect(storedLogins(data)).toBe(1200);
    clock.advance(hour);
    await ownServer({ clock, args, data });
    await until(() => storedLogins(data) === 0);
  },
);
