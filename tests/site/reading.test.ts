import { describe, expect, test } from "bun:test";
import { contentsOf } from "../../src/site/contents.ts";
import { violations } from "../support/axe.ts";
import { chromium } from "../support/chromium.ts";
import { docsPage, type Tab } from "../support/pages.ts";
import { testServer } from "../support/server.ts";

const server = await testServer();
const readme = await Bun.file(`${import.meta.dir}/../../README.md`).text();
const paths = ["", ...contentsOf(readme).flatMap(({ pages }) => pages.map(({ name }) => `/${name}`))];

const beyond = ({ page }: Tab) =>
  page.$eval("html", ({ scrollWidth, clientWidth }) => scrollWidth - clientWidth);

// A tab fails its test with what it complained of: errors, and requests to other servers.
describe.skipIf(chromium === null)("the documentation in a browser", () => {
  test.each(["light", "dark"] as const)("can be read by everybody: %s", async (theme) => {
    await using tab = await docsPage(server, "", { theme });
    for (const path of ["", "/operating", "/doctor", "/client", "/performance"]) {
      await tab.go(path);
      expect(await tab.page.$eval("html", ({ dataset }) => dataset["theme"])).toBe(theme);
      expect([path, await violations(tab)]).toEqual([path, []]);
      expect([path, await beyond(tab)]).toEqual([path, 0]);
    }
  });

  test("fits a phone, every page with its tables", async () => {
    await using tab = await docsPage(server, "", { width: 390 });
    for (const path of paths) {
      await tab.go(path);
      expect([path, await beyond(tab)]).toEqual([path, 0]);
      const tables = await tab.page.$$eval(".prose .scroll", (all) =>
        all.map(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth),
      );
      expect([path, Math.max(0, ...tables)]).toEqual([path, 0]);
    }
  });

  test("is searched by keyboard: pages, sections and operations of the API", async () => {
    await using tab = await docsPage(server);
    await tab.press("/");
    await tab.see("Pages, sections, endpoints.");
    await tab.page.keyboard.type("was sent?");
    await tab.page.waitForSelector("[role=option]");
    expect(await violations(tab)).toEqual([]);
    await tab.press("Enter");
    await tab.page.waitForFunction('location.pathname === "/docs/was-it-sent"');
    await tab.page.waitForSelector("main h1");
    await tab.page.keyboard.down("Control");
    await tab.press("k");
    await tab.page.keyboard.up("Control");
    await tab.page.keyboard.type("no such word anywhere");
    await tab.see("Nothing has these words.");
    await tab.page.evaluate('document.querySelector("dialog input").select()');
    await tab.page.keyboard.type("get /public/v1/users/search");
    await tab.page.waitForFunction(
      'document.querySelector("[role=option][aria-selected=true]")?.textContent.includes("users/search")',
    );
    await tab.press("Enter");
    await tab.page.waitForFunction(
      'location.pathname + location.hash === "/docs/api#tag/users/GET/public/v1/users/search"',
    );
  });

  test("opens its menu on a phone, remembers the colours, and copies code", async () => {
    await using tab = await docsPage(server, "/stream", { width: 390 });
    // Which pages may use the clipboard differs between browsers.
    await tab.page.evaluateOnNewDocument(
      "navigator.clipboard.writeText = async (text) => { window.copied = text; }",
    );
    await tab.click("Menu");
    expect(await violations(tab)).toEqual([]);
    await tab.click("Was it sent?", "link");
    await tab.page.waitForFunction('location.pathname === "/docs/was-it-sent"');
    await tab.go("/stream");
    await tab.click("Copy");
    await tab.see("Copied");
    const code = await tab.page.$eval(".code pre", ({ textContent }) => textContent?.trimEnd());
    expect(await tab.page.evaluate("copied")).toBe(code);
    await tab.click("Use dark colours");
    const button = await tab.page.$eval("#theme", (one) => one.getAttribute("aria-label"));
    expect(button).toBe("Use light colours");
    expect(await tab.page.evaluate('localStorage.getItem("onair-theme")')).toBe("dark");
  });

  test("can be read without scripts, the list of pages included", async () => {
    await using tab = await docsPage(server, "", { width: 390 });
    await tab.page.setJavaScriptEnabled(false);
    await tab.go("/oauth");
    const link = await tab.page.$('.nav a[href="stream"]');
    expect(await link?.isVisible()).toBe(true);
    await link?.click();
    await tab.page.waitForSelector("::-p-text(The event stream)");
  });
});
