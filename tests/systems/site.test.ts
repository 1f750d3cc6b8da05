import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Page } from "puppeteer-core";
import { exampleUser } from "../../src/domain/examples.ts";
import { contentsOf } from "../../src/web/site/make.ts";
import { browserContext, chromium } from "../support/chromium.ts";
import { docsPage, type Tab, violations } from "../support/pages.ts";
import { adminKey, testServer } from "../support/server.ts";

const server = await testServer();
const readme = await Bun.file(`${import.meta.dir}/../../README.md`).text();
const paths = ["", ...contentsOf(readme).flatMap(({ pages }) => pages.map(({ name }) => `/${name}`))];

const beyond = ({ page }: Tab) =>
  page.$eval("html", ({ scrollWidth, clientWidth }) => scrollWidth - clientWidth);

// Errors of a tab, and its requests to other servers, fail the test.
describe.skipIf(chromium === null)("the documentation in a browser", () => {
  test.each(["light", "dark"] as const)("is accessible: %s", async (theme) => {
    await using tab = await docsPage(server, "", { theme });
    for (const path of ["", "/operating", "/doctor", "/client", "/performance"]) {
      await tab.go(path);
      expect(await tab.page.$eval("html", ({ dataset }) => dataset["theme"])).toBe(theme);
      const rules = theme === "dark" ? ["color-contrast"] : undefined;
      expect([path, await violations(tab, rules)]).toEqual([path, []]);
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

  test("says on a phone whose column a cell is: at the cell, or above a table of two columns", async () => {
    await using tab = await docsPage(server, "/from-kick", { width: 390 });
    const shown = await tab.page.evaluate(
      '[...document.querySelectorAll(".prose table")].slice(0, 2).map(({ innerText }) => innerText.split(/\\n+/).slice(0, 2))',
    );
    expect(shown).toEqual([
      ["Kick", "On Air"],
      ["envelope", expect.stringContaining("data")],
    ]);
  });

  test("is searched by keyboard: pages, sections and operations of the API", async () => {
    await using tab = await docsPage(server);
    await tab.press("/");
    await tab.see("Search pages, sections and endpoints.");
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
    await tab.see("No results.");
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

  test("opens its menu on a phone, remembers the theme, and copies code", async () => {
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

/** Elements beyond the right edge of their box or of the window, and names that are broken across lines. */
async function misfits(page: Page) {
  const cut = await page.$$eval("pre", (blocks) =>
    blocks
      .filter((block) => {
        const edge = (block.closest(".scalar-code-block") ?? block).getBoundingClientRect().right + 1;
        return [block, ...block.querySelectorAll("*")].some(
          (part) => part.getBoundingClientRect().right > edge,
        );
      })
      .map((block) => block.textContent),
  );
  const broken = await page.$$eval(".markdown :not(pre) > code", (names) =>
    names
      .filter((name) => {
        const text = name.ownerDocument.createRange();
        text.selectNodeContents(name);
        const lines = new Set(Array.from(text.getClientRects(), ({ top }) => Math.round(top)));
        return lines.size > 1 && !/[\s-]/.test(name.textContent ?? "");
      })
      .map((name) => name.textContent),
  );
  const beyond = await page.$eval("html", ({ scrollWidth, clientWidth }) => scrollWidth - clientWidth);
  return { cut, broken, beyond };
}

// One page serves all tests of a listener: the script of the reference takes seconds to start.
describe.skipIf(chromium === null).each([
  ["public", "/public/v1/users/{username}", `/public/v1/users/${exampleUser.username}`],
  ["admin", "/admin/v1/users/{id}", `/admin/v1/users/${exampleUser.id}`],
])("the reference of the %s listener in a real browser", (name, path, sent) => {
  const isPublic = name === "public";
  const url = isPublic ? server.publicUrl : server.adminUrl;
  const section = `tag/users/GET${path}`;
  const complaints: string[] = [];
  const asked = new Set<string>();
  let page: Page;
  beforeAll(async () => {
    await server.load("users", [exampleUser]);
    page = await (await browserContext()).newPage();
    page.on("console", (message) => {
      if (message.type() === "error") complaints.push(message.text());
    });
    page.on("pageerror", (error) => complaints.push(String(error)));
    page.on("request", (request) => {
      if (!request.url().startsWith("data:")) asked.add(new URL(request.url()).origin);
    });
    await page.setViewport({ width: 1280, height: 1000 });
    // Sections are rendered when they become visible.
    await page.goto(`${url}${isPublic ? "/docs/api" : "/docs"}#${section}`);
    await page.waitForSelector("input[placeholder=Token]", { timeout: 30_000 });
    await page.waitForSelector(".scalar-code-block pre .line", { timeout: 30_000 });
  }, 60_000);
  afterAll(() => page?.browserContext().close());

  test("loads without requests to any other server", async () => {
    await page.waitForSelector("::-p-text(Get an access token)", { timeout: 30_000 });
    expect(await page.title()).toBe(isPublic ? "On Air API" : "On Air Admin API");
    expect(await page.$eval("html", ({ lang }) => lang)).toBe("en");
    expect(await page.$eval("link[rel~=icon]", (link) => link.getAttribute("href"))).toStartWith(
      "data:image",
    );
    expect([...asked]).toEqual([url]);
    expect(complaints).toEqual([]);
  });

  test.each([1280, 400])("wraps code and does not break names in a window of %d pixels", async (width) => {
    await page.setViewport({ width, height: 1000 });
    await page.waitForSelector(".scalar-code-block pre .line");
    expect(await misfits(page)).toEqual({ cut: [], broken: [], beyond: 0 });
  });

  test("accepts a pasted token, and sends its example with it", async () => {
    const token = isPublic ? (await server.application({ scopes: ["users:read"] })).token : adminKey;
    await page.setViewport({ width: 1280, height: 1000 });
    const field = await page.waitForSelector("input[placeholder=Token]");
    await field?.evaluate((input) => (input as unknown as { select(): void }).select());
    await page.keyboard.sendCharacter(token);
    const button = await page.waitForSelector(`[id$="${section}"] button.show-api-client-button`);
    // Clicked by script, because sections above still load and move it.
    await button?.evaluate((element) => element.click());
    await page.waitForSelector("::-p-text(Send Request)");
    const answered = page.waitForResponse((answer) => answer.url() === url + sent);
    await page.keyboard.down("Control");
    await page.keyboard.press("Enter");
    await page.keyboard.up("Control");
    const answer = await answered;
    expect(answer.request().headers()["authorization"]).toBe(`Bearer ${token}`);
    expect([answer.status(), await answer.json()]).toMatchObject([200, { user: { id: exampleUser.id } }]);
    await page.waitForSelector("::-p-text(200 OK)");
  });
});
