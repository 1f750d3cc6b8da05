import { describe, expect, test } from "bun:test";
import { codeChallenge } from "../../src/domain/tokens.ts";
import { chromium } from "../support/chromium.ts";
import { accept, Browser, form, parameter, portalLogin, portalLoginServer } from "../support/oauth.ts";
import { openPage, type Tab, violations } from "../support/pages.ts";
import { json, ownDirectory, ownServer, startServer } from "../support/server.ts";

const { server, loginUrl } = await portalLoginServer();
const page = { "onair-page": "http", "sec-fetch-site": "same-origin" };

/** The requests of the page, with cookies, but without a browser. */
class Person {
  readonly cookies = new Map<string, string>();

  async post(path: string, body: object | null = null, headers: Record<string, string> = page) {
    const cookie = [...this.cookies].map((pair) => pair.join("=")).join("; ");
    const answer = await server.get(path, undefined, {
      method: "POST",
      headers: { ...headers, cookie, ...(body && { "content-type": "application/json" }) },
      ...(body && { body: JSON.stringify(body) }),
    });
    const [name = "", value = ""] = (answer.headers.get("set-cookie") ?? "").split(";")[0]?.split("=") ?? [];
    if (name) this.cookies.set(name, value);
    return answer;
  }

  /** Signs in at the platform and returns with a code. */
  async code(userId: number): Promise<string> {
    const { location } = await json<{ location: string }>(await this.post("/portal/login"));
    return codeAt(location.slice(server.publicUrl.length), userId);
  }

  answer = (code: string) => this.post("/portal/login/answer", { code });
  choose = (id: string) => this.post("/portal/login/session", { application_id: id });

  async session(): Promise<number> {
    const cookie = `onair_portal=${this.cookies.get("onair_portal")}`;
    return (await server.get("/portal/session", undefined, { headers: { ...page, cookie } })).status;
  }
}

async function codeAt(path: string, userId: number): Promise<string> {
  const browser = new Browser(server);
  const request = await browser.open(path);
  const back = await accept(server, parameter(request.location, "login_challenge"), { user_id: userId });
  return parameter((await browser.open(back)).location, "code");
}

const owned = (owner: number, name = "Owned bot") => server.application({ name, owner_user_id: owner });

const change = (id: string, changes: object) =>
  server.admin("PATCH", `/admin/v1/applications/${id}`, changes);

async function signedInOwner(owner: number, id: string): Promise<Person> {
  const person = new Person();
  await person.answer(await person.code(owner));
  expect((await person.choose(id)).status).toBe(200);
  expect(await person.session()).toBe(200);
  return person;
}

describe("the owner of applications who signs in with the platform's login", () => {
  test("chooses one of their own applications, and gets a session for it", async () => {
    const { id } = await owned(1001, "Mine");
    const foreign = await owned(1002, "Another's");
    const person = new Person();
    const answer = await person.answer(await person.code(1001));
    const { applications } = await json<{ applications: { id: string; name: string }[] }>(answer);
    expect(applications).toContainEqual({ id, name: "Mine" });
    expect(applications).not.toContainEqual({ id: foreign.id, name: "Another's" });
    expect((await person.choose(foreign.id)).status).toBe(404);
    expect((await person.choose(portalLogin)).status).toBe(404);
    expect((await person.choose(id)).status).toBe(200);
    expect(await person.session()).toBe(200);
    // The proof of the sign-in can be used only once.
    expect((await person.choose(id)).status).toBe(400);
  });

  test("needs the browser that started the sign-in, and an unused code", async () => {
    const [began, another] = [new Person(), new Person()];
    const code = await began.code(1001);
    expect((await another.answer(code)).status).toBe(400);
    await another.post("/portal/login");
    expect((await another.answer(code)).status).toBe(400);
    const fresh = await began.code(1001);
    const verifier = began.cookies.get("onair_portal_login") ?? "";
    expect((await began.answer(fresh)).status).toBe(200);
    began.cookies.set("onair_portal_login", verifier);
    expect((await began.answer(fresh)).status).toBe(400);
  });

  test("can be signed in only by requests of the page itself", async () => {
    const person = new Person();
    for (const path of ["/portal/login", "/portal/login/answer", "/portal/login/session"]) {
      const body = path.endsWith("answer") ? { code: "x" } : { application_id: portalLogin };
      for (const headers of [{}, { ...page, "sec-fetch-site": "cross-site" }]) {
        const answer = await person.post(path, path === "/portal/login" ? null : body, headers);
        expect([path, answer.status]).toEqual([path, 400]);
        expect(answer.headers.get("set-cookie")).toBeNull();
      }
    }
  });

  test("cannot be impersonated with a token that the login's application obtained for a user", async () => {
    const { id } = await owned(1001);
    const verifier = "a-verifier-of-at-least-forty-three-characters";
    const query = new URLSearchParams({
      response_type: "code",
      client_id: portalLogin,
      code_challenge: codeChallenge(verifier),
      code_challenge_method: "S256",
    });
    const code = await codeAt(`/oauth/authorize?${query}`, 1001);
    const fields = {
      grant_type: "authorization_code",
      client_id: portalLogin,
      code,
      code_verifier: verifier,
    };
    const { body } = await form(server, "/oauth/token", fields);
    expect(body.access_token).toStartWith("onair_at_");
    const person = new Person();
    person.cookies.set("onair_portal_login", body.access_token);
    expect((await person.choose(id)).status).toBe(400);
  });

  test("is sent to this server's own authorization endpoint and back to the portal, whatever the request's parameters", async () => {
    const answer = await new Person().post("/portal/login?redirect_uri=https://evil.example/");
    const { location } = await json<{ location: string }>(answer);
    expect(location).toStartWith(`${server.publicUrl}/oauth/authorize?`);
    expect(parameter(location, "redirect_uri")).toBe(`${server.publicUrl}/portal/signed-in`);
    expect((await server.get(location.slice(server.publicUrl.length))).status).toBe(303);
  });

  test.each([
    ["the application gets another owner", (id: string) => change(id, { owner_user_id: 1002 })],
    ["the application gets no owner", (id: string) => change(id, { owner_user_id: null })],
    ["the application is disabled", (id: string) => change(id, { disabled: true })],
  ])("is signed out when %s", async (_, changeOf) => {
    const { id } = await owned(1001);
    const person = await signedInOwner(1001, id);
    expect((await changeOf(id)).status).toBe(200);
    expect(await person.session()).toBe(401);
  });

  test("is signed out, and cannot choose, when the user is removed", async () => {
    await server.load("users", [{ id: 1003, username: "leaving" }]);
    const { id } = await owned(1003);
    const person = await signedInOwner(1003, id);
    const choosing = new Person();
    await choosing.answer(await choosing.code(1003));
    expect((await server.admin("DELETE", "/admin/v1/users/1003")).status).toBe(204);
    expect(await person.session()).toBe(401);
    expect((await choosing.choose(id)).status).toBe(400);
  });
});

describe("a server does not start with an application that is unsuitable for the login", () => {
  const url = "https://api.example.com";
  const uri = `${url}/portal/signed-in`;
  const login = ["--login-url", "https://example.com/", "--public-url", url];
  const argsFor = (id: string) => ["--portal", "--portal-login", id, ...login];

  test.each([
    ["that does not exist", null, "there is no application"],
    ["that does not redirect to the portal", ["https://elsewhere.example/"], `lacks the redirect URI ${uri}`],
  ])("%s", async (_, redirect_uris, sentence) => {
    const data = ownDirectory();
    const first = await ownServer({ data, isOnSqlite: true });
    const made = redirect_uris && (await first.application({ redirect_uris }));
    await first.stop();
    const id = made?.id ?? portalLogin;
    await expect(startServer({ data, isOnSqlite: true, args: argsFor(id) })).rejects.toThrow(sentence);
  });

  test("a suitable application is accepted", async () => {
    const data = ownDirectory();
    const first = await ownServer({ data, isOnSqlite: true });
    const { id } = await first.application({ redirect_uris: [uri] });
    await first.stop();
    const second = await ownServer({ data, isOnSqlite: true, args: argsFor(id) });
    expect((await second.get("/portal")).status).toBe(200);
  });
});

/** A tab that went from the portal to the platform's login. */
async function atLogin(theme: "light" | "dark" = "light", path = ""): Promise<Tab> {
  const tab = await openPage(server, "portal", { theme });
  tab.elsewhere.push(new URL(loginUrl).origin);
  await tab.page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: theme }]);
  await tab.page.goto(tab.base + path);
  await tab.see("Sign in with your account");
  expect(await violations(tab)).toEqual([]);
  await tab.click("Sign in with your account");
  await tab.see("Allow Developer portal to use your account?");
  expect(await violations(tab)).toEqual([]);
  return tab;
}

describe.skipIf(chromium === null)("in a browser", () => {
  test.each(["light", "dark"] as const)(
    "an owner chooses an application and is signed in: %s",
    async (theme) => {
      const [name, other] = [`Morning bot ${theme}`, `Evening bot ${theme}`];
      await owned(1002, name);
      await owned(1002, other);
      await using tab = await atLogin(theme, "/deliveries?status=failed");
      await tab.page.select("select", "1002");
      await tab.click("Allow");
      await tab.see("Choose an application");
      expect(tab.page.url()).toBe(`${tab.base}/signed-in`);
      expect(await violations(tab)).toEqual([]);
      await tab.click(other);
      await tab.page.waitForSelector(".shell");
      expect(tab.page.url()).toBe(`${tab.base}/deliveries?status=failed`);
      expect(await tab.text()).toContain(other);
      expect(await tab.page.evaluate("JSON.stringify({ ...sessionStorage }) + document.cookie")).toBe("{}");
      await tab.click("Sign out");
      await tab.see("Sign in with your account");
    },
  );

  test("the owner of a single application is signed in at once; a user without one sees a message", async () => {
    await server.load("users", [{ id: 1004, username: "single" }]);
    for (const [owner, shown] of [
      [null, "No applications"],
      [1004, "Only bot"],
    ] as const) {
      await server.application({ name: "Only bot", owner_user_id: owner });
      await using tab = await atLogin();
      await tab.page.$eval("option", (option) => option.setAttribute("value", "1004"));
      await tab.click("Allow");
      await tab.see(shown);
      await tab.page.waitForSelector("h1");
      expect(await violations(tab)).toEqual([]);
    }
  });

  test("a user who refuses, or follows another user's link, is not signed in and can try again", async () => {
    await using tab = await atLogin();
    await tab.click("Deny");
    await tab.see("The sign-in was refused.");
    await tab.page.goto(`${tab.base}/signed-in?code=onair_ac_of-another`);
    await tab.see("began in another browser");
    await tab.page.goto(`${tab.base}/signed-in?error=x&error_description=Call+555-0100`);
    await tab.see("The sign-in failed.");
    expect(await tab.text()).not.toContain("555-0100");
    expect(await violations(tab)).toEqual([]);
    await tab.click("Back to sign-in", "link");
    await tab.see("Client secret");
    for (const value of ["light", "dark"]) {
      await tab.page.emulateMediaFeatures([{ name: "prefers-color-scheme", value }]);
      await tab.page.goto(`${server.publicUrl}/oauth/authorize?client_id=unknown`);
      await tab.see("This sign-in does not work");
      expect([value, await violations(tab)]).toEqual([value, []]);
    }
  });

  test("the button is absent if the platform has not configured it", async () => {
    const plain = await ownServer({ args: ["--portal"] });
    await using tab = await openPage(plain, "portal");
    await tab.page.goto(tab.base);
    await tab.see("Client secret");
    expect(await tab.text()).not.toContain("your account");
    expect((await plain.post("/portal/login", {})).status).toBe(405);
  });
});
