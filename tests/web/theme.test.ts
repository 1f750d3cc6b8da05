import { describe, expect, test } from "bun:test";
import { chromium } from "../support/chromium.ts";
import { docsPage, operator, signedIn, type Tab } from "../support/pages.ts";
import { testServer } from "../support/server.ts";

const server = await testServer({ args: ["--portal"] });

const pages: readonly [string, () => Promise<Tab>][] = [
  ["console", () => signedIn(server, operator)],
  ["portal", async () => signedIn(server, await server.application())],
  ["documentation", () => docsPage(server)],
];

describe.skipIf(chromium === null)("the theme", () => {
  test.each(pages)("follows that of the system until one is chosen: %s", async (_, open) => {
    await using tab = await open();
    const { page } = tab;
    const system = (value: string) => page.emulateMediaFeatures([{ name: "prefers-color-scheme", value }]);
    const shown = () => page.$eval("html", ({ dataset }) => dataset["theme"]);
    await system("light");
    await page.evaluate("localStorage.clear()");
    await system("dark");
    await page.waitForSelector('[data-theme="dark"] [aria-label="Use light colours"]');
    await tab.click("Use light colours");
    expect(await shown()).toBe("light");
    await system("light");
    await system("dark");
    await tab.until("matchMedia('(prefers-color-scheme: dark)').matches");
    expect(await shown()).toBe("light");
    expect(await page.evaluate("localStorage['onair-theme']")).toBe("light");
  });
});
