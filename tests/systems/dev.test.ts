import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { BrowserContext, Page } from "puppeteer-core";
import { openCredentials } from "../../src/dev/credentials.ts";
import type { DevPlatform } from "../../src/dev/platform.ts";
import { afterTests } from "../support/after-tests.ts";
import { browserContext, chromium } from "../support/chromium.ts";
import { startPlatform } from "../support/dev.ts";
import { Tab, violations } from "../support/pages.ts";
import { json, testDirectory } from "../support/server.ts";

/** The pages of `onair dev`, in a browser and by plain requests. */
const directory = testDirectory();
const data = join(directory, "data");
const start = (env: Record<string, string> = {}, at = data) => startPlatform(at, { env, portal: true });
const platform = await start();
afterTests(() => platform.stop());

describe.skipIf(chromium === null)("in a real browser", () => {
  let context: BrowserContext;
  let page: Page;
  const text = () => page.$eval("body", (body) => body.textContent ?? "");
  const click = (value: string) =>
    Promise.all([page.waitForNavigation(), page.click(`button[value=${value}]`)]);

  beforeAll(async () => {
    context = await browserContext();
    page = await context.newPage();
  });
  afterAll(() => context.close());

  test.each(["light", "dark"])("the pages of the sign-in look like the other pages: %s", async (theme) => {
    const { publicUrl } = platform.app;
    const { sign_in_url } = await platform.facts();
    const context = await browserContext();
    const tab = new Tab(await context.newPage(), publicUrl);
    tab.elsewhere.push(new URL(sign_in_url).origin);
    await tab.page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: theme }]);
    const missing: string[] = [];
    tab.page.on("response", (response) => response.status() === 404 && missing.push(response.url()));
    for (const [url, shown] of [
      [sign_in_url, "Allow Dev app to use your account?"],
      [`${publicUrl}/oauth/authorize`, "This sign-in does not work"],
      [`${new URL(sign_in_url).origin}/callback`, "Not signed in"],
    ] as const) {
      await tab.page.goto(url);
      await tab.see(shown);
      await tab.see("On Air");
      await tab.until(
        '[...document.fonts].some(({ family, status }) => family.includes("Inter") && status === "loaded")',
      );
      expect(await tab.page.$$eval("header svg, head link[rel=icon]", (all) => all.length)).toBe(2);
      const canvas = await tab.page.evaluate("getComputedStyle(document.body).backgroundColor");
      expect(canvas).toBe(theme === "dark" ? "rgb(13, 15, 19)" : "rgb(246, 247, 249)");
      expect(await violations(tab)).toEqual([]);
    }
    expect(missing).toEqual([]);
    await tab[Symbol.asyncDispose]();
    await context.close();
  });

  test("the owner of the Dev app signs in to the portal by the same login, without a secret", async () => {
    const context = await browserContext();
    const tab = new Tab(await context.newPage(), `${platform.publicUrl}/portal`);
    tab.elsewhere.push(new URL((await platform.facts()).sign_in_url).origin);
    await tab.page.goto(tab.base);
    await tab.click("Sign in with your account");
    await tab.see("Allow Developer portal to use your account?");
    // The first user of the list is the owner.
    await tab.click("Allow");
    await tab.see("Dev app");
    await tab.see("Latest deliveries");
    expect(tab.complaints).toEqual([]);
    await context.close();
  });

  test("picking a user and clicking Allow gives the application a token of that user", async () => {
    await page.goto((await platform.facts()).sign_in_url);
    expect(await text()).toContain("Allow Dev app to use your account?");
    expect(await text()).toContain("events:subscribe");
    const people = platform.sample.people.map(({ user }) => user);
    const third = people[2];
    if (!third) throw new Error("no sample users");
    expect(await page.$$eval("option", (options) => options.length)).toBe(50);
    await page.select("select", String(third.id));
    await click("allow");
    expect(page.url()).toStartWith(`${new URL((await platform.facts()).sign_in_url).origin}/callback?code=`);
    const shown = await text();
    expect(shown).toContain("Signed in");
    const token = /onair_at_[A-Za-z0-9_-]{43}/.exec(shown)?.[0] ?? "";
    const answer = await fetch(`${platform.publicUrl}/public/v1/events/subscriptions`, {
      headers: { authorization: `Bearer ${token}` },
    });
    expect(answer.status).toBe(200);
    const { data: rows } = await json<{ data: { broadcaster_user_id: number }[] }>(answer);
    expect(new Set(rows.map(({ broadcaster_user_id }) => broadcaster_user_id))).toEqual(new Set([third.id]));
    const [consent] = await platform.app.store.consents.ofUser(third.id);
    expect(consent?.application_name).toBe("Dev app");
  });

  test("clicking Deny gives the application an error and no token", async () => {
    await page.goto((await platform.facts()).sign_in_url);
    await click("deny");
    expect(new URL(page.url()).searchParams.get("error")).toBe("access_denied");
    const shown = await text();
    expect(shown).toContain("access_denied: The user denied access");
    expect(shown).not.toMatch(/onair_(at|rt|ac)_/);
  });

  test("going back and answering again is refused", async () => {
    await page.goto((await platform.facts()).sign_in_url);
    await click("allow");
    await page.goBack();
    await page.reload();
    expect(await text()).toContain("This sign-in has ended");
  });

  test("an unregistered redirect URI shows an error page and is not followed", async () => {
    const { client_id } = openCredentials(data);
    const query = new URLSearchParams({ client_id, redirect_uri: "https://evil.example/" });
    await page.goto(`${platform.publicUrl}/oauth/authorize?${query}`);
    expect(page.url()).toStartWith(platform.publicUrl);
    expect(await text()).toContain("This sign-in does not work");
  });
});

test("a configured login page of another platform is used", async () => {
  const other = join(directory, "other");
  const elsewhere = await start({ ONAIR_LOGIN_URL: "https://login.example/" }, other);
  try {
    const begun = await fetch((await elsewhere.facts()).sign_in_url, { redirect: "manual" });
    const sent = await fetch(begun.headers.get("location") ?? "", { redirect: "manual" });
    expect(sent.headers.get("location")).toStartWith("https://login.example/?login_challenge=");
  } finally {
    await elsewhere.stop();
  }
});

test("the Dev app's redirect URI follows the port of the sample application; others stay", async () => {
  const again = join(directory, "again");
  const first = await start({}, again);
  const { client_id } = openCredentials(again);
  const callback = async (of: DevPlatform) => new URL("/callback", (await of.facts()).sign_in_url).href;
  const registered = async (of: DevPlatform) =>
    (await of.app.store.applications.find(client_id))?.redirect_uris;
  expect(await registered(first)).toEqual([await callback(first)]);
  const mine = "https://mine.example/callback";
  const changes = { redirect_uris: ["http://127.0.0.1:1/callback", mine] };
  await first.app.store.applications.update(client_id, changes, Date.now());
  await first.stop();
  const second = await start({}, again);
  try {
    expect(await registered(second)).toEqual([await callback(second), mine]);
  } finally {
    await second.stop();
  }
});

test("the login page escapes its values, and cannot be framed", async () => {
  const { store } = platform.app;
  const { client_id } = openCredentials(data);
  await store.applications.update(client_id, { name: "<b>Bad</b>" }, Date.now());
  const begun = await fetch((await platform.facts()).sign_in_url, { redirect: "manual" });
  const sent = await fetch(begun.headers.get("location") ?? "", { redirect: "manual" });
  const page = await fetch(sent.headers.get("location") ?? "");
  const html = await page.text();
  expect(html).toContain("Allow <bdi>&lt;b&gt;Bad&lt;/b&gt;</bdi> to use");
  expect(html).not.toContain("<b>");
  expect(page.headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
  await store.applications.update(client_id, { name: "Dev app" }, Date.now());
});

test.each([
  ["/login", 404, "This sign-in has ended"],
  ["/login?login_challenge=forged", 404, "This sign-in has ended"],
  ["/callback?code=x&state=forged", 400, "Not signed in"],
])("%s is refused", async (path, status, title) => {
  const page = await fetch(new URL(path, (await platform.facts()).sign_in_url));
  expect(page.status).toBe(status);
  const html = await page.text();
  expect(html).toContain(title);
  expect(html).not.toContain("<form");
});
