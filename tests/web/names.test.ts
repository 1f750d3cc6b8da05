import { beforeAll, describe, expect, test } from "bun:test";
import { chromium } from "../support/chromium.ts";
import { consolePages, docsPage, operator, signedIn, type Tab } from "../support/pages.ts";
import { event, subscribe } from "../support/publishing.ts";
import { testReceiver } from "../support/receiver.ts";
import { json, type TestApplication, testServer } from "../support/server.ts";

/*
 * A name stays where it is: one that is written from right to left, or has characters that turn the text, does not
 * reorder the text around it, and a long one stretches nothing.
 */

const hebrew = "שלום 42";
/** Turns what follows, and is never closed. */
const turning = "Luna\u202e\u2067 bytes";
const long = "W".repeat(100);

const server = await testServer({ args: ["--portal", "--portal-name", hebrew] });
const receiver = testReceiver(() => new Response("no", { status: 500 }));
let app: TestApplication;
let delivery = "";

beforeAll(async () => {
  await server.load("users", [
    { id: 1001, username: "luna_bytes", display_name: hebrew, bio: hebrew },
    { id: 1002, username: "turning", display_name: turning },
    { id: 1003, username: "long", display_name: long },
  ]);
  await server.load("categories", [
    { id: 1, name: hebrew, slug: "chess" },
    { id: 2, name: turning, slug: "go" },
  ]);
  await server.load("channels", [
    { id: 70, user_id: 1001, name: hebrew, slug: "luna" },
    { id: 71, user_id: 1002, name: turning, slug: "turning" },
  ]);
  await server.load("livestreams", [
    { channel_id: 70, category_id: 1, viewers: 12, title: hebrew },
    { channel_id: 71, category_id: 2, viewers: 5, title: turning },
  ]);
  app = await server.application({ name: hebrew, webhook_url: receiver.url, owner_user_id: 1001 });
  await server.application({ name: turning });
  for (const name of [hebrew, turning])
    expect((await server.admin("POST", "/admin/v1/keys", { name, role: "reader" })).status).toBe(201);
  const type = { version: 1, description: hebrew, schema: { type: "object" }, example: { text: hebrew } };
  expect((await server.admin("PUT", "/admin/v1/event-types/raid.started", type)).ok).toBe(true);
  await subscribe(server, app, ["channel.followed"]);
  await server.admin("POST", "/admin/v1/events", event("channel.followed"));
  await receiver.arrived(1);
  const { data } = await json<{ data: { id: string }[] }>(await server.admin("GET", "/admin/v1/deliveries"));
  delivery = data[0]?.id ?? "";
});

/** Returns the texts of the page in which a name that turns text is beside other text and not isolated from it. */
const turned = ({ page }: Tab) =>
  page.evaluate(`(() => {
    const turning = /[\\u0590-\\u08ff\\u202a-\\u202e\\u2066\\u2067]/;
    const rest = (text) => text.replace(/\\u2068[^\\u2068\\u2069]*\\u2069/g, "");
    const isAlone = (text) => !/[\\p{L}\\p{N}]/u.test(text.replace(/[\\u0590-\\u08ff]+( 42)?|Luna\\u202e\\u2067 bytes/g, ""));
    const isIsolated = (node) => {
      for (let at = node.parentElement; at && at.textContent.trim() === node.data.trim(); at = at.parentElement)
        if (/isolate|plaintext/.test(getComputedStyle(at).unicodeBidi)) return true;
      return false;
    };
    const wrong = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      if (node.parentElement.closest("script, style, textarea, option, noscript")) continue;
      if (turning.test(rest(node.data)) && !(isAlone(node.data) && isIsolated(node))) wrong.push(node.parentElement.outerHTML.slice(0, 160));
    }
    for (const one of document.querySelectorAll("[aria-label], [title]"))
      for (const name of ["aria-label", "title"]) {
        const value = one.getAttribute(name) ?? "";
        if (turning.test(rest(value)) && !isAlone(value)) wrong.push(name + "=" + value);
      }
    if (turning.test(rest(document.title)) && !isAlone(document.title)) wrong.push("title: " + document.title);
    return wrong;
  })()`) as Promise<string[]>;

describe.skipIf(chromium === null).each(["portal", "console"] as const)("names in the %s", (kind) => {
  test("turn no text", async () => {
    await using tab = await signedIn(server, kind === "console" ? operator : app);
    const wrong: string[] = [];
    let count = 0;
    for (const path of consolePages[kind]) {
      await tab.follow(path.replace(":delivery", delivery).replace(":application", app.id));
      await tab.until('!document.body.innerText.includes("Loading…")');
      if ((await tab.text()).includes(hebrew)) count++;
      wrong.push(...(await turned(tab)).map((text) => `${path}: ${text}`));
    }
    expect(wrong).toEqual([]);
    expect(count).toBeGreaterThan(3);
  }, 300_000);
});

describe.skipIf(chromium === null)("a name", () => {
  test("of the platform turns no text of the documentation", async () => {
    await using tab = await docsPage(server);
    for (const path of ["", "/from-kick", "/client", "/api"]) {
      await tab.go(path);
      expect([path, await turned(tab)]).toEqual([path, []]);
    }
  });

  test("is cut in the question and the report of an action, and turns neither", async () => {
    for (const name of [hebrew, long]) {
      const { id } = await server.application({ name });
      await using tab = await signedIn(server, operator, { width: 390, path: `/applications/${id}` });
      await tab.click("Disable");
      await tab.page.waitForSelector("dialog h2");
      expect(await turned(tab)).toEqual([]);
      await tab.clickInDialog("Disable");
      const toast = await tab.page.waitForSelector(".toast");
      const box = await toast?.boundingBox();
      expect(box?.height).toBeLessThan(90);
      expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThanOrEqual(390);
      await tab.see("is disabled.");
      expect(await turned(tab)).toEqual([]);
    }
  });
});
