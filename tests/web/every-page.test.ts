import { beforeAll, describe, expect, test } from "bun:test";
import { allSubjects } from "../../src/domain/statistics.ts";
import { minute } from "../../src/domain/time.ts";
import { chromium } from "../support/chromium.ts";
import { consolePages, operator, signedIn, type Tab, violations } from "../support/pages.ts";
import { event, subscribe } from "../support/publishing.ts";
import { testReceiver } from "../support/receiver.ts";
import { json, type TestApplication, testServer } from "../support/server.ts";

/** A text that would run as a script, break the markup or overflow if it were not escaped. */
const hostile = `"><img src=x onerror=alert(1)>{{7*7}}\u202e${"W".repeat(50)}`;

/** The most bytes that a page loads with an empty cache, its data included. */
const mostBytes = 150_000;

const server = await testServer({ args: ["--portal"] });
const receiver = testReceiver(() => new Response(`<script>alert(1)</script>${hostile}`, { status: 500 }));
let app: TestApplication;
let delivery = "";

beforeAll(async () => {
  await server.load("users", [{ id: 1001, username: "luna_bytes", display_name: hostile, bio: hostile }]);
  await server.load("categories", [{ id: 1, name: hostile, slug: "chess" }]);
  await server.load("channels", [{ id: 70, user_id: 1001, name: hostile, slug: "luna" }]);
  await server.load("livestreams", [{ channel_id: 70, category_id: 1, viewers: 12 }]);
  app = await server.application({ name: hostile, webhook_url: receiver.url });
  const key = { name: hostile.slice(0, 90), role: "reader" };
  expect((await server.admin("POST", "/admin/v1/keys", key)).status).toBe(201);
  const type = { version: 1, description: hostile, schema: { type: "object" }, example: { text: hostile } };
  expect((await server.admin("PUT", "/admin/v1/event-types/raid.started", type)).ok).toBe(true);
  await subscribe(server, app, ["channel.followed"]);
  await server.admin("POST", "/admin/v1/events", event("channel.followed"));
  await receiver.arrived(1);
  const { data } = await json<{ data: { id: string }[] }>(await server.admin("GET", "/admin/v1/deliveries"));
  delivery = data[0]?.id ?? "";
  // So that the first page has a plot, whose script it loads.
  const at = Math.floor(Date.now() / minute) * minute;
  const row = { kind: "deliveries", at, counts: { delivered: 1 }, durations: [1] } as const;
  await server.app.store.statistics.add([app.id, allSubjects].map((subject) => ({ ...row, subject })));
});

describe.skipIf(chromium === null).each(["portal", "console"] as const)("the %s", (kind) => {
  const open = async (tab: Tab, path: string) => {
    await tab.go(path.replace(":delivery", delivery).replace(":application", app.id));
    await tab.until(
      '!document.body.innerText.includes("Loading…") && !document.querySelector(".plot:empty")',
    );
  };

  test("is accessible in the light and in the dark, escapes hostile text, is small, and fits a phone", async () => {
    await using tab = await signedIn(server, kind === "console" ? operator : app);
    const network = await tab.page.createCDPSession();
    await network.send("Network.enable");
    await network.send("Network.setCacheDisabled", { cacheDisabled: true });
    // Only what this navigation asked for counts, each address once: how often a page refreshes its
    // data, and what the page before still loads, depends on how busy the machine is.
    let navigation = "";
    const addresses = new Map<string, string>();
    const bytesOf = new Map<string, number>();
    network.on("Network.requestWillBeSent", ({ requestId, loaderId, type, request }) => {
      if (type === "Document") {
        navigation = loaderId;
        addresses.clear();
        bytesOf.clear();
      }
      if (loaderId === navigation) addresses.set(requestId, `${request.method} ${request.url}`);
    });
    network.on("Network.loadingFinished", ({ requestId, encodedDataLength }) => {
      const address = addresses.get(requestId);
      if (address !== undefined) bytesOf.set(address, Math.max(bytesOf.get(address) ?? 0, encodedDataLength));
    });
    for (const path of consolePages[kind]) {
      await tab.page.setViewport({ width: 1280, height: 900 });
      await open(tab, path);
      const bytes = [...bytesOf.values()].reduce((sum, one) => sum + one, 0);
      expect([path, bytes, bytes > 100_000 && bytes < mostBytes]).toEqual([path, bytes, true]);
      expect([path, await violations(tab)]).toEqual([path, []]);
      await tab.page.evaluate('document.documentElement.dataset.theme = "dark"');
      expect([path, await violations(tab, ["color-contrast"])]).toEqual([path, []]);
      expect(await tab.page.$$eval("main img, main script, main iframe", (found) => found.length)).toBe(0);
      await tab.page.setViewport({ width: 390, height: 844 });
      const beyond = await tab.page.$eval(
        "html",
        ({ scrollWidth, clientWidth }) => scrollWidth - clientWidth,
      );
      expect([path, beyond]).toEqual([path, 0]);
      // No table is cut off.
      const cut = await tab.page.$$eval("section.scroll", (tables) =>
        tables
          .filter((one) => one.scrollWidth > one.clientWidth)
          .map((one) => one.getAttribute("aria-label")),
      );
      expect([path, cut]).toEqual([path, []]);
    }
  }, 300_000);

  test("links to documentation, and has an accessible palette, dialogs and sign-in form", async () => {
    await using tab = await signedIn(server, kind === "console" ? operator : app);
    await tab.see("Docs");
    const links = await tab.page.$$eval("header a", (found) => found.map(({ href }) => href));
    const docs = `${kind === "console" ? server.adminUrl : server.publicUrl}/docs`;
    expect(links).toEqual(expect.arrayContaining([docs, `${docs}/api`]));
    for (const link of links) expect([link, (await fetch(link)).status]).toEqual([link, 200]);
    await tab.click("Go to… Ctrl K");
    await tab.page.waitForSelector(".palette input:focus");
    expect(await violations(tab)).toEqual([]);
    await tab.press("Escape");
    await tab.click("Deliveries", "link");
    await tab.click("Replay a range");
    await tab.see("Count");
    expect(await violations(tab)).toEqual([]);
    await tab.press("Escape");
    await tab.gone("Count");
    await tab.click("Sign out");
    await tab.see("Sign in");
    expect(await violations(tab)).toEqual([]);
  });
});
