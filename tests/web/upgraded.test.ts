import { describe, expect, test } from "bun:test";
import type { HTTPRequest } from "puppeteer-core";
import { afterThisTest } from "../support/after-tests.ts";
import { chromium } from "../support/chromium.ts";
import { openPage, operator, signedIn, signIn, type Tab } from "../support/pages.ts";
import { testServer } from "../support/server.ts";
import { tcpProxy } from "../support/tcp-proxy.ts";

const server = await testServer({ args: ["--portal"] });
const upgraded = "On Air was upgraded. Reload the page.";

/** Refuses the page's files, like a server of another version, until the page is reloaded. */
async function upgrade({ page }: Tab): Promise<void> {
  let isOld = true;
  await page.setRequestInterception(true);
  page.on("request", (request: HTTPRequest) => {
    if (request.isNavigationRequest()) isOld = false;
    if (isOld && request.url().includes("/files/")) request.respond({ status: 404 });
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
