import { describe, expect, test } from "bun:test";
import { minute } from "../../src/domain/time.ts";
import {
  accept,
  authorizationRequest,
  Browser,
  challengeFor,
  type Fields,
  loginUrl,
  parameter,
  redirectUri,
} from "../support/oauth.ts";
import { users } from "../support/real-data.ts";
import { Clock, json, ownServer, testServer } from "../support/server.ts";

const clock = new Clock();

const server = await testServer({ clock, args: ["--login-url", `${loginUrl}?theme=dark`], users });
const app = await server.application({ redirect_uris: [redirectUri] });

const open = (fields: Fields, clientId = app.client_id) =>
  new Browser(server).open(authorizationRequest(clientId, fields));

describe("RFC 6749, section 4.1.1: a good request", () => {
  test("redirects to the login page with a challenge, and sets a cookie", async () => {
    const browser = new Browser(server);
    const { status, location, response } = await browser.open(authorizationRequest(app.client_id));
    expect(status).toBe(303);
    expect(location).toMatch(
      /^https:\/\/platform\.example\/login\?theme=dark&login_challenge=onair_lc_[A-Za-z0-9_-]{300,500}$/,
    );
    expect(response.headers.get("set-cookie")).toMatch(
      /^onair_browser_[0-9a-f]{8}=onair_br_[A-Za-z0-9_-]{43}; Path=\/; Max-Age=1800; HttpOnly; SameSite=Lax$/,
    );
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(response.headers.get("referrer-policy")).toBe("no-referrer");
  });

  test("behind https the cookie is Secure and its name keeps other hosts from setting it", async () => {
    const secure = await ownServer({
      clock,
      args: ["--login-url", loginUrl, "--public-url", "https://api.example"],
    });
    const { client_id } = await secure.application({ redirect_uris: [redirectUri] });
    const { response } = await new Browser(secure).open(authorizationRequest(client_id));
    expect(response.headers.get("set-cookie")).toMatch(/^__Host-onair_browser_.*; Secure$/);
  });

  test("may leave out a redirect_uri that is the only one", async () => {
    const browser = new Browser(server);
    const request = authorizationRequest(app.client_id, { redirect_uri: null });
    const challenge = await challengeFor(browser, request);
    const { location } = await browser.open(await accept(server, challenge, { user_id: 1001 }));
    expect(location).toStartWith(`${redirectUri}?code=`);
  });
});

test("RFC 8707: resource is ignored, also where it is repeated", async () => {
  const path = `${authorizationRequest(app.client_id)}&resource=https://a.example&resource=https://b.example`;
  const { location } = await new Browser(server).open(path);
  expect(location).toStartWith(loginUrl);
});

describe("RFC 6749, section 4.1.2.1: errors that must not be redirected end on a page", () => {
  test.each<[string, Fields]>([
    ["no client_id", { client_id: null }],
    ["an unknown client_id", { client_id: "01KATHZX5M9S3E6R8B2D4F7G1H" }],
    ["an unregistered redirect_uri", { redirect_uri: "https://evil.example/" }],
    [
      "a redirect_uri that only begins like the registered one",
      { redirect_uri: `${redirectUri}.evil.example` },
    ],
    ["a relative redirect_uri", { redirect_uri: "/callback" }],
    ["a query that is far too long", { state: "x".repeat(9000) }],
    ["a verifier out of thin air", { login_verifier: `onair_lv_${"A".repeat(43)}` }],
  ])("%s", async (_, fields) => {
    const path = authorizationRequest(app.client_id, fields);
    const { status, location, response } = await new Browser(server).open(path);
    expect([status, location, response.headers.get("set-cookie")]).toEqual([400, "", null]);
    expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(response.headers.get("content-security-policy")).toContain("default-src 'none'");
    expect(await response.text()).not.toContain("evil.example");
    const program = await server.get(path);
    expect([program.status, await json(program)]).toEqual([
      400,
      expect.objectContaining({ error: "invalid_request", error_description: expect.any(String) }),
    ]);
  });

  test.each(["client_id", "redirect_uri"])("%s given twice", async (name) => {
    const path = `${authorizationRequest(app.client_id)}&${name}=${encodeURIComponent(redirectUri)}`;
    expect(await new Browser(server).open(path)).toMatchObject({ status: 400, location: "" });
    const { error_description } = await json<{ error_description: string }>(await server.get(path));
    expect(error_description).toBe(`${name} is given more than once`);
  });

  test("no redirect_uri where the application has several or none", async () => {
    const several = await server.application({ redirect_uris: [redirectUri, `${redirectUri}/2`] });
    const none = await server.application();
    for (const { client_id } of [several, none]) {
      expect(await open({ redirect_uri: null }, client_id)).toMatchObject({ status: 400, location: "" });
    }
  });
});

/** The address to which a page links. */
function linkIn(html: string): string {
  const [, href = ""] = /<a rel="noreferrer" href="([^"]*)">/.exec(html) ?? [];
  const characters: Record<string, string> = { amp: "&", quot: '"', "#x27": "'", lt: "<", gt: ">" };
  return href.replace(/&([a-z0-9#]+);/g, (entity, name) => characters[name] ?? entity);
}

async function linkFor(path: string, at = server): Promise<string> {
  const { status, location, response } = await new Browser(at).open(path);
  expect([status, location]).toEqual([400, ""]);
  return linkIn(await response.text());
}

describe("RFC 9700, section 4.11.2: before a login no error is a redirect; a page links to the application, with", () => {
  test.each<[string, Fields, string]>([
    ["no response_type", { response_type: null }, "invalid_request"],
    ["the implicit grant", { response_type: "token" }, "unsupported_response_type"],
    ["an empty response_type", { response_type: "" }, "invalid_request"],
    ["no code_challenge", { code_challenge: null }, "invalid_request"],
    ["no code_challenge_method, which means plain", { code_challenge_method: null }, "invalid_request"],
    ["plain", { code_challenge_method: "plain" }, "invalid_request"],
    ["a code_challenge that is none", { code_challenge: "short" }, "invalid_request"],
    ["another response_mode", { response_mode: "fragment" }, "invalid_request"],
    ["an unknown scope", { scope: "users:read users:write" }, "invalid_scope"],
    ["an empty list of scopes", { scope: " " }, "invalid_scope"],
  ])("%s", async (_, fields, error) => {
    const { status, location, response } = await open(fields);
    expect([status, location, response.headers.get("set-cookie")]).toEqual([400, "", null]);
    expect(response.headers.get("content-security-policy")).toContain("default-src 'none'");
    const link = linkIn(await response.text());
    expect(link.split("?")[0]).toBe(redirectUri);
    expect(Object.fromEntries(new URL(link).searchParams)).toEqual({
      error,
      error_description: expect.any(String),
      state: "xyz",
      iss: server.publicUrl,
    });
    const program = await server.get(authorizationRequest(app.client_id, fields));
    const problem = { error, code: error, error_description: expect.any(String) };
    expect([program.status, await json(program)]).toEqual([400, expect.objectContaining(problem)]);
  });

  test("a repeated parameter", async () => {
    const path = `${authorizationRequest(app.client_id)}&state=abc`;
    const link = await linkFor(path);
    expect([parameter(link, "error"), parameter(link, "state")]).toEqual(["invalid_request", ""]);
    expect(parameter(link, "error_description")).toBe("state is given more than once");
    const unknown = await linkFor(`${authorizationRequest(app.client_id)}&x=1&x=2`);
    expect(parameter(unknown, "error_description")).toBe("A parameter is given more than once");
  });

  test("a scope that the application may not have", async () => {
    const reader = await server.application({ redirect_uris: [redirectUri], scopes: ["users:read"] });
    const link = await linkFor(authorizationRequest(reader.client_id, { scope: "events:subscribe" }));
    expect(parameter(link, "error")).toBe("invalid_scope");
  });

  test("no scope, of an application that has none", async () => {
    const bare = await server.application({ redirect_uris: [redirectUri], scopes: [] });
    expect(parameter(await linkFor(authorizationRequest(bare.client_id)), "error")).toBe("invalid_scope");
  });

  test("a platform without a login page", async () => {
    const without = await ownServer({ clock });
    const { client_id } = await without.application({ redirect_uris: [redirectUri] });
    const link = await linkFor(authorizationRequest(client_id), without);
    expect(parameter(link, "error")).toBe("server_error");
  });

  test("its values escaped", async () => {
    const uri = "https://app.example/?a='\"><script>1</script>&b";
    const bad = await server.application({ name: "<b>Bad</b>", redirect_uris: [uri] });
    const path = authorizationRequest(bad.client_id, { redirect_uri: uri, scope: "x", state: '"><script>' });
    const html = await (await new Browser(server).open(path)).response.text();
    expect(html).toContain("“<bdi>&lt;b&gt;Bad&lt;/b&gt;</bdi>”");
    for (const text of ["<b>", "<script>"]) expect(html).not.toContain(text);
    expect(linkIn(html)).toStartWith(`${uri}&error=invalid_scope`);
  });
});

describe("the way back from the login page", () => {
  test("RFC 6749, section 4.1.2 and RFC 9207: leads to the application with code, state and issuer", async () => {
    const browser = new Browser(server);
    const challenge = await challengeFor(browser, authorizationRequest(app.client_id));
    const back = await accept(server, challenge, { user_id: 1001 });
    expect(back).toStartWith(`${server.publicUrl}/oauth/authorize?login_verifier=onair_lv_`);
    const { status, location } = await browser.open(back);
    expect([status, location.split("?")[0]]).toEqual([303, redirectUri]);
    expect(Object.fromEntries(new URL(location).searchParams)).toEqual({
      code: expect.stringMatching(/^onair_ac_[A-Za-z0-9_-]{43}$/),
      state: "xyz",
      iss: server.publicUrl,
    });
  });

  test("leads to the application with the error of a rejection", async () => {
    const browser = new Browser(server);
    const challenge = await challengeFor(browser, authorizationRequest(app.client_id, { state: null }));
    const body = { error_description: "The user said no" };
    const answer = await server.admin("PUT", `/admin/v1/login-requests/${challenge}/reject`, body);
    const { redirect_to } = await json<{ redirect_to: string }>(answer);
    const { location } = await browser.open(redirect_to);
    expect(Object.fromEntries(new URL(location).searchParams)).toEqual({
      error: "access_denied",
      error_description: "The user said no",
      iss: server.publicUrl,
    });
    expect(await browser.open(redirect_to)).toMatchObject({ status: 400, location: "" });
  });

  test("works once", async () => {
    const browser = new Browser(server);
    const challenge = await challengeFor(browser, authorizationRequest(app.client_id));
    const back = await accept(server, challenge, { user_id: 1001 });
    const answers = await Promise.all([browser.open(back), browser.open(back), browser.open(back)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([303, 400, 400]);
    expect(await browser.open(back)).toMatchObject({ status: 400, location: "" });
  });

  test("ends well for each of two logins that were begun at once in a browser without the cookie", async () => {
    const [one, other, browser] = [new Browser(server), new Browser(server), new Browser(server)];
    const first = await challengeFor(one, authorizationRequest(app.client_id, { state: "1" }));
    const second = await challengeFor(other, authorizationRequest(app.client_id, { state: "2" }));
    // Both answers set their cookies in one browser.
    const cookies = [one, other].map(({ cookie }) => cookie?.split("=") ?? []);
    browser.cookie = [...new Map(cookies.map(([name, value]) => [name, value]))]
      .map((one) => one.join("="))
      .join("; ");
    for (const [challenge, state] of [
      [first, "1"],
      [second, "2"],
    ] as const) {
      const { location } = await browser.open(await accept(server, challenge, { user_id: 1001 }));
      expect([parameter(location, "state"), parameter(location, "error")]).toEqual([state, ""]);
    }
    // Later logins add no cookie.
    const { response } = await browser.open(authorizationRequest(app.client_id));
    expect(response.headers.get("set-cookie")).toStartWith(`${one.cookie};`);
  });

  test("works only in the browser that began, which another one does not disturb", async () => {
    const browser = new Browser(server);
    const challenge = await challengeFor(browser, authorizationRequest(app.client_id));
    const back = await accept(server, challenge, { user_id: 1001 });
    const other = new Browser(server);
    expect(await other.open(back)).toMatchObject({ status: 400, location: "" });
    await challengeFor(other, authorizationRequest(app.client_id));
    expect(await other.open(back)).toMatchObject({ status: 400, location: "" });
    expect(await browser.open(back)).toMatchObject({ status: 303 });
  });

  test.each([
    ["a redirect URI that was removed meanwhile", { redirect_uris: ["https://app.example/other"] }],
    ["an application that was disabled meanwhile", { disabled: true }],
  ])("does not lead to %s", async (_, changes) => {
    const own = await server.application({ redirect_uris: [redirectUri] });
    const address = `/admin/v1/applications/${own.id}`;
    const browser = new Browser(server);
    const first = await challengeFor(browser, authorizationRequest(own.client_id));
    const second = await challengeFor(browser, authorizationRequest(own.client_id));
    const back = await accept(server, first, { user_id: 1001 });
    const rejected = await server.admin("PUT", `/admin/v1/login-requests/${second}/reject`, {});
    expect((await server.admin("PATCH", address, changes)).status).toBe(200);
    for (const to of [back, (await json<{ redirect_to: string }>(rejected)).redirect_to])
      expect(await browser.open(to)).toMatchObject({ status: 400, location: "" });
  });

  test("is closed after 30 minutes", async () => {
    const browser = new Browser(server);
    const challenge = await challengeFor(browser, authorizationRequest(app.client_id));
    const back = await accept(server, challenge, { user_id: 1001 });
    clock.advance(30 * minute);
    expect(await browser.open(back)).toMatchObject({ status: 400, location: "" });
  });
});
