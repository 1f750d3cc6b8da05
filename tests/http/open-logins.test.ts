import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { join } from "node:path";
import { loginLimits } from "../../src/domain/authorizations.ts";
import { hour } from "../../src/domain/time.ts";
import { newSecret, secretHash } from "../../src/domain/tokens.ts";
import {
  accept,
  authorizationRequest,
  Browser,
  challengeFor,
  loginUrl,
  parameter,
  redirectUri,
} from "../support/oauth.ts";
import { users } from "../support/real-data.ts";
import { Clock, isOnPostgres, ownDirectory, ownServer, type TestServer } from "../support/server.ts";
import { until } from "../support/until.ts";

// What `/oauth/authorize` keeps for those who have not logged in.

const args = ["--login-url", loginUrl, "--trusted-proxies", "127.0.0.1"];

/** Begins a login as a browser at this address does; gives its challenge. */
async function begin(server: TestServer, path: string, address: string): Promise<string> {
  const response = await server.get(path, undefined, { headers: { "x-forwarded-for": address } });
  return parameter(response.headers.get("location") ?? "", "login_challenge");
}

const isOpen = async (server: TestServer, challenge: string) =>
  (await server.admin("GET", `/admin/v1/login-requests/${challenge}`)).status === 200;

test("state has at most 2,048 bytes; a longer one is an error of the application", async () => {
  const server = await ownServer({ args, users });
  const app = await server.application({ redirect_uris: [redirectUri] });
  for (const state of ["x".repeat(2048), "é".repeat(1024)]) {
    const browser = new Browser(server);
    const challenge = await challengeFor(browser, authorizationRequest(app.client_id, { state }));
    const { location } = await browser.open(await accept(server, challenge, { user_id: 1001 }));
    expect(parameter(location, "state")).toBe(state);
  }
  for (const state of ["x".repeat(2049), `${"é".repeat(1024)}x`]) {
    const { status, location } = await new Browser(server).open(
      authorizationRequest(app.client_id, { state }),
    );
    expect([status, location.split("?")[0]]).toEqual([303, redirectUri]);
    expect([parameter(location, "error"), parameter(location, "state")]).toEqual(["invalid_request", state]);
    expect(parameter(location, "error_description")).toContain("2048 bytes");
  }
});

test("an address has a limit of open logins; its oldest ones end, and none of other addresses", async () => {
  const server = await ownServer({ args, users });
  const app = await server.application({ redirect_uris: [redirectUri] });
  const path = authorizationRequest(app.client_id);
  const bystander = await begin(server, path, "198.51.100.7");
  const first = await begin(server, path, "203.0.113.5");
  const second = await begin(server, path, "203.0.113.5");
  // The last 64 bits of an IPv6 address are the client's own choice.
  const sixth = await begin(server, path, "2001:db8::1");
  for (let left = loginLimits.openPerClient - 1; left > 0; left -= 50) {
    const some = Array.from({ length: Math.min(50, left) }, () => begin(server, path, "203.0.113.5"));
    expect((await Promise.all(some)).every(Boolean)).toBe(true);
  }
  expect(await isOpen(server, first)).toBe(false);
  expect(await isOpen(server, second)).toBe(true);
  expect(await isOpen(server, bystander)).toBe(true);
  expect(await isOpen(server, sixth)).toBe(true);
  for (let left = loginLimits.openPerClient; left > 0; left -= 50) {
    await Promise.all(Array.from({ length: 50 }, (_, i) => begin(server, path, `2001:db8::${left}:${i}`)));
  }
  expect(await isOpen(server, sixth)).toBe(false);
});

test("an application has so many open, from wherever they come", async () => {
  const clock = new Clock();
  const server = await ownServer({ clock, args, users });
  const [app, other] = [
    await server.application({ redirect_uris: [redirectUri] }),
    await server.application({ redirect_uris: [redirectUri] }),
  ];
  const bystander = await begin(server, authorizationRequest(other.client_id), "198.51.100.7");
  const first = await begin(server, authorizationRequest(app.client_id), "198.51.100.7");
  const second = await begin(server, authorizationRequest(app.client_id), "198.51.100.8");
  const request = {
    applicationId: app.id,
    redirectUri,
    scopes: ["users:read"] as const,
    state: null,
    codeChallenge: "c".repeat(43),
    expiresAt: clock.ms + hour,
  };
  const { loginRequests } = server.app.store;
  for (let left = loginLimits.openPerApplication - 1; left > 0; left -= 500) {
    const some = Array.from({ length: Math.min(500, left) }, (_, i) => {
      const hash = secretHash(newSecret("onair_lc_"));
      return loginRequests.create(hash, hash, request, `client ${left - i}`);
    });
    await Promise.all(some);
  }
  await until(async () => !(await isOpen(server, first)));
  expect(await isOpen(server, second)).toBe(true);
  expect(await isOpen(server, bystander)).toBe(true);
});

test.skipIf(isOnPostgres)(
  "expired logins are removed soon after the start, however many there are",
  async () => {
    const clock = new Clock();
    const data = ownDirectory();
    const left = () => {
      using db = new Database(join(data, "onair.db"), { readonly: true });
      return db.query<{ n: number }, []>("SELECT count(*) AS n FROM login_requests").get()?.n;
    };
    const first = await ownServer({ clock, args, data });
    const { client_id } = await first.application({ redirect_uris: [redirectUri] });
    const path = authorizationRequest(client_id);
    const begun = Array.from({ length: 1200 }, (_, i) => begin(first, path, `10.0.${i % 20}.1`));
    await Promise.all(begun);
    await first.stop();
    expect(left()).toBe(1200);
    clock.advance(hour);
    await ownServer({ clock, args, data });
    await until(() => left() === 0);
  },
);
