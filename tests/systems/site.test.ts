import { describe, expect, test } from "bun:test";
import { exampleUser } from "../../src/domain/examples.ts";
import { contentsOf } from "../../src/web/site/make.ts";
import { chromium } from "../support/chromium.ts";
import { docsPage, type Tab, violations } from "../support/pages.ts";
import { adminKey, testServer } from "../support/server.ts";

const server = await testServer();
const readme = await Bun.file(`${import.meta.dir}/../../README.md`).text();

/** The pages of each listener. */
const pathsOf = (isForOperators: boolean) => {
  const groups = contentsOf(readme).filter(({ reader }) => (reader === "operator") === isForOperators);
  return ["", "/api", ...groups.flatMap(({ pages }) => pages.map(({ name }) => `/${name}`))];
};

const beyond = ({ page }: Tab) =>
  page.$eval("html", ({ scrollWidth, clientWidth }) => scrollWidth - clientWidth);

/** Leaves the first operations of the reference, and one more: they are of one kind, and axe looks at each element. */
const leaveSomeOperations = ({ page }: Tab, besides = "html") =>
  page.$$eval(
    ".operation",
    (all, besides) => {
      for (const one of all.slice(10)) if (!one.matches(besides)) one.remove();
    },
    besides,
  );

// Errors of a tab, and its requests to other servers, fail the test.
describe.skipIf(chromium === null)("the documentation in a browser", () => {
  test.each([
    ["light", false, ["", "/first-webhook", "/client", "/api"]],
    ["dark", false, ["", "/client", "/api"]],
    ["light", true, ["", "/operating", "/doctor", "/performance", "/api"]],
    ["dark", true, ["/operating", "/api"]],
  ] as const)("is accessible: %s, for operators: %p", async (theme, isForOperators, paths) => {
    await using tab = await docsPage(server, "", { theme, isForOperators });
    for (const path of paths) {
      await tab.go(path);
      expect(await tab.page.$eval("html", ({ dataset }) => dataset["theme"])).toBe(theme);
      await leaveSomeOperations(tab);
      const rules = theme === "dark" ? ["color-contrast"] : undefined;
      expect([path, await violations(tab, rules)]).toEqual([path, []]);
      expect([path, await beyond(tab)]).toEqual([path, 0]);
    }
  });

  test.each([false, true])(
    "fits a phone, every page with its tables; for operators: %p",
    async (isForOperators) => {
      await using tab = await docsPage(server, "", { width: 390, isForOperators });
      for (const path of pathsOf(isForOperators)) {
        await tab.go(path);
        expect([path, await beyond(tab)]).toEqual([path, 0]);
        const tables = await tab.page.$$eval(".prose .scroll", (all) =>
          all.map(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth),
        );
        expect([path, Math.max(0, ...tables)]).toEqual([path, 0]);
      }
    },
  );

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
    await tab.until('location.pathname === "/docs/was-it-sent"');
    await tab.page.waitForSelector("main h1");
    await tab.page.keyboard.down("Control");
    await tab.press("k");
    await tab.page.keyboard.up("Control");
    await tab.page.keyboard.type("no such word anywhere");
    await tab.see("No results.");
    await tab.page.evaluate('document.querySelector("dialog input").select()');
    await tab.page.keyboard.type("get /public/v1/users/search");
    await tab.until(
      'document.querySelector("[role=option][aria-selected=true]")?.textContent.includes("users/search")',
    );
    await tab.press("Enter");
    await tab.until('location.pathname + location.hash === "/docs/api#searchUsers"');
    // The operation is below the bar at the top.
    await tab.until('Math.abs(document.getElementById("searchUsers").getBoundingClientRect().top - 60) < 30');
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
    await tab.until('location.pathname === "/docs/was-it-sent"');
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
    await tab.go("/client");
    const link = await tab.page.$('.nav a[href="stream"]');
    expect(await link?.isVisible()).toBe(true);
    await link?.click();
    await tab.page.waitForSelector("::-p-text(The event stream)");
  });
});

describe.skipIf(chromium === null).each([
  ["public", "/public/v1/users/{username}", `/public/v1/users/${exampleUser.username}`],
  ["admin", "/admin/v1/users/{id}", `/admin/v1/users/${exampleUser.id}`],
])("the reference of the %s listener in a browser", (name, path, sent) => {
  const isForOperators = name === "admin";

  test("sends a request with a pasted token, and shows the answer", async () => {
    await server.load("users", [exampleUser]);
    const token = isForOperators ? adminKey : (await server.application({ scopes: ["users:read"] })).token;
    await using tab = await docsPage(server, "/api", { isForOperators });
    const operation = `[data-method=GET][data-path="${path}"]`;
    const button = await tab.page.waitForSelector(`${operation} .try`);
    await leaveSomeOperations(tab, operation);
    await button?.evaluate((one) => one.click());
    await tab.fill(isForOperators ? "Operator key" : "Access token", token);
    expect(await violations(tab)).toEqual([]);
    const answered = tab.page.waitForResponse((answer) => new URL(answer.url()).pathname === sent);
    await tab.clickInDialog("Send");
    const answer = await answered;
    expect(answer.request().headers()["authorization"]).toBe(`Bearer ${token}`);
    await tab.see("200");
    await tab.see(`"username": "${exampleUser.username}"`);
    expect(await violations(tab)).toEqual([]);
    await tab.press("Escape");
    expect(await tab.page.$("dialog")).toBeNull();
  });

  test("can be read without scripts", async () => {
    await using tab = await docsPage(server, "", { isForOperators });
    await tab.page.setJavaScriptEnabled(false);
    await tab.go("/api");
    const operation = await tab.page.waitForSelector(`[data-method=GET][data-path="${path}"]`);
    const text = await operation?.evaluate((one) => one.textContent);
    expect(text).toContain(`curl -H "Authorization: Bearer $`);
    expect(text).toContain(sent);
  });
});

test.skipIf(chromium === null)("on paper there is only the content, in dark text on white", async () => {
  await using tab = await docsPage(server, "/client", { theme: "dark" });
  await tab.page.emulateMediaType("print");
  const seen = await tab.page.evaluate(`[".side", ".top", ".contents", ".take"].filter((one) =>
    document.querySelector(one).checkVisibility())`);
  expect(seen).toEqual([]);
  const colors = await tab.page.evaluate(`[document.body, document.querySelector(".prose h1")].map((one) => {
    const { backgroundColor, color } = getComputedStyle(one);
    return [backgroundColor, color];
  })`);
  const dark = "rgb(20, 23, 28)";
  expect(colors).toEqual([
    ["rgb(255, 255, 255)", dark],
    ["rgba(0, 0, 0, 0)", dark],
  ]);
  // Nothing is cut off: code wraps.
  const cut = await tab.page.$$eval(
    ".code > div",
    (all) => all.filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth).length,
  );
  expect(cut).toBe(0);
});
