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

/** Leaves one operation of the reference, by default one of each method: they are of one kind, and axe looks at each element. */
const leaveOperations = ({ page }: Tab, only?: string) =>
  page.$$eval(
    ".operation",
    (all, only) => {
      const methods = new Set<string>();
      for (const one of all) {
        const method = one.getAttribute("data-method") ?? "";
        if (only === undefined ? methods.has(method) : !one.matches(only)) one.remove();
        methods.add(method);
      }
    },
    only,
  );

// Errors of a tab, and its requests to other servers, fail the test.
describe.skipIf(chromium === null)("the documentation in a browser", () => {
  test.each([
    [false, ["", "/client", "/api"], ["/first-webhook"]],
    [true, ["/operating", "/api"], ["", "/doctor", "/performance"]],
  ] as const)(
    "is accessible in the light and in the dark; for operators: %p",
    async (isForOperators, both, light) => {
      await using tab = await docsPage(server, both[0], { isForOperators });
      for (const path of [...both, ...light]) {
        if (path !== both[0]) await tab.go(path);
        await leaveOperations(tab);
        expect([path, await violations(tab)]).toEqual([path, []]);
        expect([path, await beyond(tab)]).toEqual([path, 0]);
        if (!both.some((one) => one === path)) continue;
        await tab.page.evaluate('document.documentElement.dataset.theme = "dark"');
        expect([path, await violations(tab, ["color-contrast"])]).toEqual([path, []]);
      }
    },
    300_000,
  );

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
    // A tab of its own, because each page of the other one starts in the theme that the test has given it.
    const page = await tab.page.browserContext().newPage();
    await page.goto(`${tab.base}/client`);
    expect(await page.$eval("html", ({ dataset }) => dataset["theme"])).toBe("dark");
    await page.close();
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
    await leaveOperations(tab, operation);
    await button?.evaluate((one) => one.click());
    await tab.fill(isForOperators ? "Operator key" : "Access token", token);
    // The dialog of both listeners is one component.
    if (!isForOperators) expect(await violations(tab)).toEqual([]);
    const answered = tab.page.waitForResponse((answer) => new URL(answer.url()).pathname === sent);
    await tab.clickInDialog("Send");
    const answer = await answered;
    expect(answer.request().headers()["authorization"]).toBe(`Bearer ${token}`);
    await tab.see("200");
    await tab.see(`"username": "${exampleUser.username}"`);
    if (!isForOperators) expect(await violations(tab)).toEqual([]);
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
