import { describe, expect, test } from "bun:test";
import type { WelcomeFacts } from "../../src/web/session.ts";
import { afterThisTest } from "../support/after-tests.ts";
import { chromium } from "../support/chromium.ts";
import { startPlatform } from "../support/dev.ts";
import { type Tab, violations, welcomePage } from "../support/pages.ts";
import { hasProxy, startPlainProxy } from "../support/proxies.ts";
import { ownDirectory, ownServer } from "../support/server.ts";

const facts: WelcomeFacts = {
  public_url: "http://127.0.0.1:1",
  admin_url: "http://127.0.0.1:2",
  receiver_url: "http://127.0.0.1:3/onair-dev",
  webhook_url: "http://127.0.0.1:3/onair-dev",
  sign_in_url: "http://127.0.0.1:4/",
  has_portal: true,
  guide_id: "01KATHZX5M9S3E6R8B2D4F7G1J",
  secrets: {
    admin_key: "onair_admin_x",
    client_id: "01KATHZX5M9S3E6R8B2D4F7G1H",
    client_secret: "onair_cs_x",
    access_token: "onair_at_x",
    webhook_secret: "whsec_x",
  },
  query: "fox",
  users: [{ id: 1001, username: "luna", display_name: "Luna <b>", is_live: true }],
  inbox: [],
};
const welcome = { facts: async () => facts, consoleCookie: async () => "onair_console=x", onInbox() {} };
const page = { "onair-page": "http", "sec-fetch-site": "same-origin" };

const signIn = (publicUrl: string, to: string, headers: Record<string, string | undefined> = page) =>
  fetch(`${publicUrl}/welcome/sign-in`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers } as Record<string, string>,
    body: JSON.stringify({ to }),
  });

describe("the click on the first page that signs in", () => {
  test("opens portal and console, for its own requests from this machine under a name of this machine alone", async () => {
    const data = ownDirectory();
    const platform = await startPlatform(data, { portal: true });
    afterThisTest(platform.stop);
    const { publicUrl: url, app } = platform;
    const { secrets } = await platform.facts();
    const portal = await signIn(url, "portal");
    expect(await portal.json()).toEqual({ location: "/portal" });
    const cookie = (answer: Response) => answer.headers.get("set-cookie") ?? "";
    expect(cookie(portal)).toMatch(/^onair_portal=[^;]+; Path=\/; Max-Age=\d+; HttpOnly; SameSite=Strict$/);
    const session = (at: string, value: string) =>
      fetch(`${at}/session`, { headers: { ...page, cookie: value.split(";")[0] ?? "" } });
    expect(await (await session(`${url}/portal`, cookie(portal))).json()).toMatchObject({
      application: { id: secrets.client_id, name: "Dev app" },
    });
    const guide = await signIn(url, "guide");
    expect(await guide.json()).toEqual({ location: "/portal" });
    expect(await (await session(`${url}/portal`, cookie(guide))).json()).toMatchObject({
      application: { name: "Guide app" },
    });
    const console = await signIn(url, "console");
    expect(await console.json()).toEqual({ location: `${app.adminUrl}/console` });
    expect(await (await session(`${app.adminUrl}/console`, cookie(console))).json()).toMatchObject({
      key: { role: "operator" },
    });
    const { port } = new URL(url);
    const local = await signIn(url, "console", { ...page, host: `localhost:${port}` });
    expect(await local.json()).toEqual({
      location: `${app.adminUrl.replace("127.0.0.1", "localhost")}/console`,
    });

    for (const headers of [
      {},
      { ...page, "sec-fetch-site": "same-site" },
      { ...page, "sec-fetch-site": "cross-site" },
      { "onair-page": "http", origin: "http://127.0.0.1:1" },
      { ...page, host: "rebound.example" },
      { ...page, host: "192.168.1.5" },
      { ...page, host: "127.0.0.1.rebound.example" },
      { ...page, "x-forwarded-for": "192.0.2.7" },
    ]) {
      const answer = await signIn(url, "console", headers);
      expect([headers, answer.status, cookie(answer)]).toEqual([headers, 404, ""]);
    }
    expect((await signIn(url, "elsewhere")).status).toBe(400);
  });

  test.skipIf(chromium === null)("needs nothing to be typed, and both pages lead back", async () => {
    const platform = await startPlatform(ownDirectory(), { portal: true });
    afterThisTest(platform.stop);
    await using tab = await welcomePage(platform);
    tab.elsewhere.push(platform.app.adminUrl);
    await tab.page.setViewport({ width: 1280, height: 900 });
    await tab.click("Open the console");
    await tab.see("Pending deliveries");
    await tab.click("Start page of onair dev", "link");
    await tab.see("A whole streaming platform");
    await tab.click("Open the portal");
    await tab.see("Your application");
    await tab.click("Sign out");
    await tab.see("Use the client id and secret");
    await tab.click("Start page of onair dev", "link");
    await tab.click("Open it as the Guide app");
    await tab.see("Guide app");
    await tab.see("Your application");
    await tab.click("Start page of onair dev", "link");
    await tab.see("Access token");
  });
});

describe("the first page of onair dev", () => {
  test("answers only its own requests, and under no host name that another site can use", async () => {
    const server = await ownServer({ welcome });
    const ask = (headers: Record<string, string>) => fetch(`${server.publicUrl}/welcome/facts`, { headers });
    expect(await (await ask(page)).json()).toEqual(facts);
    expect((await ask({})).status).toBe(404);
    expect((await ask({ ...page, "sec-fetch-site": "cross-site" })).status).toBe(404);
    expect((await ask({ ...page, host: "rebound.example" })).status).toBe(404);
  });

  test("sends no secret to another machine", async () => {
    const server = await ownServer({
      welcome,
      args: ["--trusted-proxies", "127.0.0.1"],
    });
    const headers = { ...page, "x-forwarded-for": "192.0.2.7" };
    const answer = await fetch(`${server.publicUrl}/welcome/facts`, { headers });
    expect(await answer.json()).toMatchObject({ public_url: facts.public_url, secrets: null });
  });

  test.each([
    { "x-forwarded-for": "192.0.2.7" },
    { "x-forwarded-proto": "https" },
    { forwarded: "for=192.0.2.7" },
    { via: "1.1 proxy" },
    { "x-real-ip": "192.0.2.7" },
    { "cf-connecting-ip": "192.0.2.7" },
    { host: "192.0.2.1:8080" },
    // By HTTP/1.0, as nginx does unless it is told otherwise.
    { connection: "close" },
  ])("sends no secret through a proxy or a tunnel that its headers show: %p", async (shown) => {
    const server = await ownServer({ welcome });
    const headers = { ...page, ...shown } as Record<string, string>;
    const answer = await fetch(`${server.publicUrl}/welcome/facts`, { headers });
    expect(await answer.json()).toMatchObject({ public_url: facts.public_url, secrets: null });
    expect((await signIn(server.publicUrl, "console", headers)).status).toBe(404);
  });

  test.each([
    ["nginx", ""],
    ["nginx", "proxy_http_version 1.1;"],
    ["nginx", 'proxy_http_version 1.1; proxy_set_header Connection "";'],
    ["nginx", "proxy_set_header Host $host;"],
    ["haproxy", ""],
  ] as const)("sends no secret through a plain %s: %s", async (program, also) => {
    if (!hasProxy(program)) return;
    const server = await ownServer({ welcome });
    const { host } = new URL(server.publicUrl);
    const proxy = await startPlainProxy(program, host, also);
    afterThisTest(proxy.stop);
    const visitor = { ...page, connection: "keep-alive", host: "127.0.0.1" };
    const ask = await fetch(`${proxy.url}/welcome/facts`, { headers: visitor });
    expect(await ask.json()).toMatchObject({ public_url: facts.public_url, secrets: null });
    expect((await signIn(proxy.url, "console", visitor)).status).toBe(404);
  });

  test("does not exist in production", async () => {
    const server = await ownServer();
    expect((await fetch(server.publicUrl)).status).toBe(404);
    expect((await fetch(`${server.publicUrl}/welcome/facts`, { headers: page })).status).toBe(404);
    expect((await signIn(server.publicUrl, "portal")).status).toBe(404);
    expect(await (await fetch(`${server.adminUrl}/console`)).text()).not.toContain("data-home");
  });

  test.skipIf(chromium === null)("shows deliveries live", async () => {
    let shown = facts;
    let hasCome = () => {};
    const onInbox = (listener: () => void) => {
      hasCome = listener;
    };
    const server = await ownServer({ welcome: { ...welcome, facts: async () => shown, onInbox } });
    await using tab: Tab = await welcomePage(server);
    await tab.see("Nothing has arrived yet");
    await tab.see("Luna <b>");
    const text = "luna: <img src=x onerror=alert(1)>";
    const entry = {
      id: "1",
      at: "2026-01-14T16:08:06.123Z",
      is_verified: true,
      type: "channel.followed",
      text,
      attempt: 1,
    };
    shown = { ...facts, inbox: [entry] };
    hasCome();
    await tab.see(text);
    await tab.see("verified");
    expect(await violations(tab)).toEqual([]);
    await tab.click("Use dark colours");
    expect(await violations(tab)).toEqual([]);
    await tab.page.setViewport({ width: 390, height: 844 });
    const beyond = await tab.page.$eval("html", ({ scrollWidth, clientWidth }) => scrollWidth - clientWidth);
    expect(beyond).toBe(0);
    expect(await tab.text()).not.toContain("Deliveries arrive here only");
    shown = { ...facts, webhook_url: "http://127.0.0.1:3000/webhook" };
    hasCome();
    await tab.see("The webhook URL of the Dev app is now http://127.0.0.1:3000/webhook.");
    expect(await violations(tab)).toEqual([]);
  });
});
