import { describe, expect, test } from "bun:test";
import { codeChallenge } from "../../src/domain/authorizations.ts";
import { violations } from "../support/axe.ts";
import { chromium } from "../support/chromium.ts";
import { accept, Browser, form, parameter } from "../support/oauth.ts";
import { openPage, type Tab } from "../support/pages.ts";
import { portalLogin, portalLoginServer } from "../support/portal-login.ts";
import { json, ownDirectory, ownServer, startServer } from "../support/server.ts";

const { server, loginUrl } = await portalLoginServer();
const page = { "onair-page": "http", "sec-fetch-site": "same-origin" };

/** The page in a browser, without the browser: its requests, and its cookies. */
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

  /** Signs in at the platform and comes back with a code. */
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

describe("whoever signs in with the platform's login", () => {
  test("may choose from the applications of their own, and gets a session for one", async () => {
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
    // What proved who signed in is used up.
    expect((await person.choose(id)).status).toBe(400);
  });

  test("needs the browser that began, and a code that was not used", async () => {
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

  test("is asked by the page alone", async () => {
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

  test("cannot be stood in for by a token that the application of the login got for a user", async () => {
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

  test("goes to this server's own authorization endpoint and comes back to the portal, whatever was asked", async () => {
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

describe("a server is not started with an application that cannot be the one of the login", () => {
  const url = "https://api.example.com";
  const uri = `${url}/portal/signed-in`;
  const login = ["--login-url", "https://example.com/", "--public-url", url];
  const argsFor = (id: string) => ["--portal", "--portal-login", id, ...login];

  test.each([
    ["that does not exist", null, "there is no application"],
    [
      "that does not come back to the portal",
      ["https://elsewhere.example/"],
      `lacks the redirect URI ${uri}`,
    ],
  ])("%s", async (_, redirect_uris, sentence) => {
    const data = ownDirectory();
    const first = await ownServer({ data, isOnSqlite: true });
    const made = redirect_uris && (await first.application({ redirect_uris }));
    await first.stop();
    const id = made?.id ?? portalLogin;
    await expect(startServer({ data, isOnSqlite: true, args: argsFor(id) })).rejects.toThrow(sentence);
  });

  test("but with one that does", async () => {
    const data = ownDirectory();
    const first = await ownServer({ data, isOnSqlite: true });
    const { id } = await first.application({ redirect_uris: [uri] });
    await first.stop();
    const second = await ownServer({ data, isOnSqlite: true, args: argsFor(id) });
    expect((await second.get("/portal")).status).toBe(200);
  });
});

/** A tab that has gone from the portal to the platform's login. */
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
  test.each(["light", "dark"] as const)("an owner chooses an application, and is in: %s", async (theme) => {
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
  });

  test("the owner of one application is in at once; of none is told so", async () => {
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

  test("who refuses, or comes by a link of somebody else, is not signed in and can try again", async () => {
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

  test("there is no such way where the platform has not set it up", async () => {
    const plain = await ownServer({ args: ["--portal"] });
    await using tab = await openPage(plain, "portal");
    await tab.page.goto(tab.base);
    await tab.see("Client secret");
    expect(await tab.text()).not.toContain("your account");
    expect((await plain.post("/portal/login", {})).status).toBe(405);
  });
});
