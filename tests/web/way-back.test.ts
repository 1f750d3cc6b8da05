import { beforeAll, describe, expect, test } from "bun:test";
import type { HTTPRequest } from "puppeteer-core";
import { chromium } from "../support/chromium.ts";
import { operator, signedIn, type Tab } from "../support/pages.ts";
import { testServer } from "../support/server.ts";

const server = await testServer({ args: ["--portal"] });
/** More than two pages of a list. */
const applications = 230;

beforeAll(async () => {
  for (let i = 0; i < applications; i++)
    await server.admin("POST", "/admin/v1/applications", { name: `Bot ${i}` });
});

const focused = (selector: string) => `document.activeElement.matches(${JSON.stringify(selector)})`;

/** Scrolls to the end of the list until it has this many rows. */
const scrolledTo = (tab: Tab, rows: number) =>
  tab.until(
    `(scrollTo(0, document.body.scrollHeight), Number(document.querySelector("main table")?.ariaRowCount) === ${rows + 1})`,
  );

/** Refuses requests for further pages of a list. Returns a function that accepts them again. */
async function refuseMore({ page }: Tab): Promise<() => void> {
  let isRefusing = true;
  await page.setRequestInterception(true);
  page.on("request", (request: HTTPRequest) => {
    if (!isRefusing || !request.url().includes("cursor=")) return request.continue();
    const body = JSON.stringify({ message: "Not now.", code: "busy" });
    request.respond({ status: 503, contentType: "application/json", body });
  });
  return () => {
    isRefusing = false;
  };
}

describe.skipIf(chromium === null)("a list", () => {
  test("continues by itself after its next page was refused", async () => {
    await using tab = await signedIn(server, operator);
    const take = await refuseMore(tab);
    await tab.go("/applications");
    await tab.until(
      '(scrollTo(0, document.body.scrollHeight), document.body.innerText.includes("Not now."))',
    );
    take();
    await tab.gone("Not now.");
    await tab.until('Number(document.querySelector("main table")?.ariaRowCount) > 101');
  });

  test("keeps its scroll position and length after going back and after a reload", async () => {
    await using tab = await signedIn(server, operator, { path: "/applications" });
    await scrolledTo(tab, applications);
    await tab.until("Math.abs(history.state?.y - scrollY) < 1 && scrollY > 6000");
    const y = await tab.page.evaluate("scrollY");
    const isThere = `Math.abs(scrollY - ${y}) < 2`;
    // The row is visible, so the click does not scroll.
    await tab.click("Bot 229", "link");
    await tab.see("Rotate signing secret");
    expect(await tab.page.evaluate("scrollY")).toBe(0);
    await tab.page.goBack();
    await tab.until(isThere);
    await tab.see("Bot 229");
    await tab.page.reload();
    await tab.until(isThere);
    await tab.see("Bot 229");
    await tab.page.goForward();
    await tab.see("Rotate signing secret");
  });

  test("starts with its first page when the filter changes", async () => {
    await using tab = await signedIn(server, operator, { path: "/applications" });
    await scrolledTo(tab, applications);
    const asked: string[] = [];
    tab.page.on("request", (request) => {
      if (request.url().includes("find=Bot")) asked.push(request.url());
    });
    await tab.page.evaluate("scrollTo(0, 0)");
    await tab.fill("Find", "Bot");
    await tab.until('document.querySelector("main table")?.ariaRowCount === null');
    expect(asked.length).toBeGreaterThan(0);
    expect(asked.filter((url) => url.includes("cursor="))).toEqual([]);
  });
});

describe.skipIf(chromium === null)("the focus", () => {
  test("moves to the heading when the focused element's action removes it", async () => {
    await using tab = await signedIn(server, operator, { path: "/deliveries?type=chat" });
    await tab.click("Clear filters");
    await tab.until(focused("main h1"));
  });

  test("stays at a button while its request is in progress", async () => {
    await using tab = await signedIn(server, operator, { path: "/event-types" });
    const held = Promise.withResolvers<HTTPRequest>();
    await tab.page.setRequestInterception(true);
    tab.page.on("request", (request) => {
      if (request.method() === "POST" && request.url().endsWith("/admin/v1/backups")) held.resolve(request);
      else request.continue();
    });
    await tab.click("Backups", "link");
    await tab.click("Create backup");
    const request = await held.promise;
    const isBusy = focused('button[aria-busy="true"]');
    await tab.until(isBusy);
    // A second press does nothing.
    await tab.press("Enter");
    expect(await tab.page.evaluate(isBusy)).toBe(true);
    await request.continue();
    await tab.until(focused('button:not([aria-busy="true"])'));
  });
});
