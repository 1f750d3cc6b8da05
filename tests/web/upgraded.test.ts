import { beforeAll, describe, expect, test } from "bun:test";
import type { HTTPRequest, ResponseForRequest } from "puppeteer-core";
import { allSubjects } from "../../src/domain/statistics.ts";
import { minute } from "../../src/domain/time.ts";
import { afterThisTest } from "../support/after-tests.ts";
import { chromium } from "../support/chromium.ts";
import { openPage, operator, signedIn, signIn, type Tab } from "../support/pages.ts";
import { testServer } from "../support/server.ts";
import { tcpProxy } from "../support/tcp-proxy.ts";

const server = await testServer({ args: ["--portal"] });
const upgraded = "On Air was upgraded. Reload the page.";

const unloaded = "This part of the page could not be loaded. Reload the page.";
/** What Chromium takes a connection for that was closed within the response's header. */
const empty = { status: 200, contentType: "text/javascript", body: "" };

beforeAll(async () => {
  // So that the first page has a plot.
  const at = Math.floor(Date.now() / minute) * minute;
  const row = { kind: "deliveries", at, counts: { delivered: 1 }, durations: [1] } as const;
  await server.app.store.statistics.add([{ ...row, subject: allSubjects }]);
});

/** Refuses the page's files, like a server of another version, until the page is reloaded. */
async function upgrade({ page }: Tab, answer: Partial<ResponseForRequest> = { status: 404 }): Promise<void> {
  let isOld = true;
  await page.setRequestInterception(true);
  page.on("request", (request: HTTPRequest) => {
    if (request.isNavigationRequest()) isOld = false;
    if (isOld && request.url().includes("/files/")) request.respond(answer);
    else request.continue();
  });
}

describe.skipIf(chromium === null)("a page that is older than its server", () => {
  test("says so when the connection is back, and is current after a reload", async () => {
    const proxy = await tcpProxy(Number(new URL(server.adminUrl).port));
    afterThisTest(() => proxy.stop());
    await using tab = await signedIn(server, operator, { port: proxy.port });
    await tab.click("Keys", "link");
    await tab.see("New key");
    await tab.page.waitForNetworkIdle({ concurrency: 1, idleTime: 100 });
    await upgrade(tab);
    proxy.cut();
    await tab.see("Connection lost.");
    expect(await tab.text()).not.toContain(upgraded);
    proxy.release();
    await tab.see(upgraded);
    await tab.click("Reload");
    await tab.gone(upgraded);
    await tab.see("New key");
  });

  test("says so when it is older than the session", async () => {
    const app = await server.application({ name: "Late bot" });
    await using tab = await openPage(server, app);
    await tab.page.goto(tab.base);
    await tab.see("Sign in");
    await upgrade(tab);
    await signIn(tab, app);
    await tab.see(upgraded);
  });
});

/** Waits until the page has this heading, the only one, as its title and with the focus. */
const isAt = (tab: Tab, heading: string) =>
  tab.until(
    `((h1, ...more) => h1?.textContent === "${heading}" && more.length === 0 && h1 === document.activeElement &&
      document.title.startsWith("${heading} · "))(...document.querySelectorAll("main h1"))`,
  );

describe.skipIf(chromium === null)("a page of the console with a script of its own", () => {
  test("has its heading and title before the script arrives, can be left until then, and is shown at once later", async () => {
    await using tab = await signedIn(server, operator, { path: "/keys" });
    const held: HTTPRequest[] = [];
    await tab.page.setRequestInterception(true);
    const hold = (request: HTTPRequest) => {
      if (request.url().includes("/files/")) held.push(request);
      else request.continue();
    };
    tab.page.on("request", hold);
    await tab.click("Applications", "link");
    await isAt(tab, "Applications");
    expect(await tab.text()).toContain("Loading…");
    await tab.click("Users", "link");
    await isAt(tab, "Users");
    await tab.click("Backups", "link");
    await isAt(tab, "Backups");
    await tab.page.goBack();
    await isAt(tab, "Users");
    tab.page.off("request", hold).on("request", (request) => request.continue());
    for (const request of held) await request.continue();
    await tab.see("Search for a user");
    await isAt(tab, "Users");
    await tab.page.goBack();
    await tab.see("New application");
    await isAt(tab, "Applications");
    const isWithout = await tab.page.evaluate(`new Promise((done) => {
      new MutationObserver(() => done(document.querySelector("main input") === null)).observe(
        document.querySelector("main"), { childList: true, subtree: true });
      history.forward();
    })`);
    expect(isWithout).toBe(false);
  });

  test.each([
    ["refused", { status: 404 }],
    ["empty", empty],
  ])("says so when the script is %s, and is mended by a reload", async (_, answer) => {
    await using tab = await signedIn(server, operator, { path: "/keys" });
    await upgrade(tab, answer);
    for (const name of ["Applications", "Users"]) {
      await tab.click(name, "link");
      await isAt(tab, name);
      await tab.see(unloaded);
    }
    await tab.click("Keys", "link");
    await tab.see("New key");
    await isAt(tab, "Keys");
    await tab.page.goBack();
    await tab.see(unloaded);
    await tab.page.reload();
    await tab.see("Search for a user");
    await tab.gone(unloaded);
  });

  test("shows the sums of a plot whose script is empty", async () => {
    await using tab = await signedIn(server, operator, { path: "/keys" });
    await upgrade(tab, empty);
    const isAnswered = tab.page.waitForResponse((response) => response.url().includes("/files/"));
    await tab.click("Overview", "link");
    await isAnswered;
    await tab.page.waitForNetworkIdle({ concurrency: 1, idleTime: 200 });
    await tab.page.waitForSelector("main .legend");
    expect(await tab.page.$eval("main .plot", ({ childElementCount }) => childElementCount)).toBe(0);
  });
});
