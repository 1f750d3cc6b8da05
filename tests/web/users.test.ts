import { beforeAll, describe, expect, test } from "bun:test";
import { chromium } from "../support/chromium.ts";
import { operator, signedIn, type Tab, violations } from "../support/pages.ts";
import { event, publish, subscribe } from "../support/publishing.ts";
import { testReceiver } from "../support/receiver.ts";
import { json, testServer } from "../support/server.ts";
import { until } from "../support/until.ts";

/* Users are chosen by any part of a name or by their id, wherever a user or a channel is meant. */

const server = await testServer({ args: ["--portal"] });
const receiver = testReceiver();

beforeAll(async () => {
  await server.load("users", [
    { id: 1001, username: "luna_bytes", display_name: "Luna", followers_count: 9 },
    { id: 1002, username: "luna_two", display_name: "Luna", followers_count: 8, is_verified: true },
    { id: 1003, username: "other", display_name: "花火" },
    { id: 1004, username: "hostile", display_name: '\u202e"><img src=x onerror=alert(1)>' },
  ]);
});

/** The users that are offered, as they are shown. */
const offered = (tab: Tab) =>
  tab.page.$$eval("[role=option]", (options) =>
    options.map((option) =>
      [...option.querySelectorAll("bdi:not([aria-hidden])")].map((one) => one.textContent).join(" "),
    ),
  );

const offers = (tab: Tab, count: number) =>
  tab.until(`document.querySelectorAll("[role=option]").length === ${count}`);

/** The attributes of the combobox, and the option that it points to. */
const combobox = (tab: Tab) =>
  tab.page.$eval("[role=combobox]", (input) => {
    const active = input.getAttribute("aria-activedescendant") ?? "";
    const option = input.ownerDocument.getElementById(active);
    return {
      isExpanded: input.getAttribute("aria-expanded"),
      isInvalid: input.getAttribute("aria-invalid"),
      value: (input as unknown as { value: string }).value,
      active: option?.querySelector("small bdi")?.textContent ?? null,
      selected: option?.getAttribute("aria-selected") ?? null,
    };
  });

const search = (tab: Tab) => new URL(tab.page.url()).search;

describe.skipIf(chromium === null)("a user is chosen", () => {
  test("by keyboard: offered users are told apart by both names, and Escape only closes the list", async () => {
    const app = await server.application({ webhook_url: receiver.url });
    await subscribe(server, app, ["channel.followed"], 1002);
    await using tab = await signedIn(server, operator, { byKeyboard: true, path: "/subscriptions" });
    await tab.fill("Channel", "una");
    await offers(tab, 2);
    expect(await offered(tab)).toEqual(["Luna luna_bytes", "Luna luna_two"]);
    expect(await combobox(tab)).toMatchObject({ isExpanded: "true", active: "luna_bytes", selected: "true" });
    expect(await violations(tab)).toEqual([]);
    await tab.press("ArrowDown");
    expect((await combobox(tab)).active).toBe("luna_two");
    await tab.press("ArrowDown", "ArrowUp", "ArrowUp", "ArrowDown", "Enter");
    await tab.until('location.search === "?broadcaster=1002"');
    const { isExpanded, value, active } = await combobox(tab);
    expect([isExpanded, active]).toEqual(["false", null]);
    expect(value.replace(/[\u2068\u2069]/g, "")).toBe("Luna (luna_two)");
    // The row has both names, too.
    await tab.until('document.querySelector("tbody")?.innerText.includes("luna_two")');
    await tab.go("/subscriptions");
    await tab.fill("Channel", "una");
    await offers(tab, 2);
    await tab.press("Escape");
    expect(await combobox(tab)).toMatchObject({ isExpanded: "false", value: "una" });
    expect(search(tab)).toBe("");
  });

  test("by its id, a name of two characters, and a click; a text without a user is marked at its field", async () => {
    await using tab = await signedIn(server, operator, { path: "/deliveries" });
    await tab.fill("Channel", "1003");
    await tab.until('location.search === "?broadcaster=1003"');
    await tab.fill("Channel", "花");
    await offers(tab, 1);
    expect(search(tab)).toBe("");
    await tab.page.click("[role=option]");
    await tab.until('location.search === "?broadcaster=1003"');
    await tab.fill("Channel", "nobody at all");
    await tab.see("No user has this name or id.");
    expect(await combobox(tab)).toMatchObject({ isInvalid: "true", isExpanded: "false" });
    await tab.fill("Channel", "hostile");
    await offers(tab, 1);
    expect(await tab.page.$$eval("[role=option] img", ({ length }) => length)).toBe(0);
  });

  test("as the owner of an application, which is not saved while the text names no user", async () => {
    const app = await server.application({ name: "Owned" });
    const owner = async () => {
      const answer = await server.admin("GET", `/admin/v1/applications/${app.id}`);
      return (await json<{ owner_user_id: number | null }>(answer)).owner_user_id;
    };
    await using tab = await signedIn(server, operator, { path: `/applications/${app.id}` });
    await tab.fill("Owner", "luna");
    await offers(tab, 2);
    await tab.press("ArrowDown", "Enter");
    await tab.click("Save");
    await tab.see("Saved.");
    expect(await owner()).toBe(1002);
    await tab.fill("Owner", "somebody else");
    await tab.see("No user has this name or id.");
    await tab.click("Save");
    const isRefused = 'document.querySelector("input:invalid")?.getAttribute("role") === "combobox"';
    await tab.until(isRefused);
    expect(await owner()).toBe(1002);
    await tab.page.focus("[role=combobox]");
    await tab.press("Backspace");
    await tab.click("Save");
    await until(async () => (await owner()) === null);
  });

  test("in the portal, also by a name of two characters; without users:read by the id", async () => {
    const app = await server.application({ webhook_url: receiver.url });
    {
      await using tab = await signedIn(server, app, { path: "/subscriptions?event=channel.followed" });
      await tab.fill("Channel", "花火");
      await tab.page.waitForSelector("dialog [role=option]");
      await tab.press("Enter");
      await tab.clickInDialog("Subscribe");
      await tab.see("Subscribed to 1 event of");
      await publish(server, event("channel.followed", { broadcaster_user_id: 1003 }));
      await tab.until('document.querySelector("tbody")?.innerText.includes("花火")');
    }
    const blind = await server.application({ webhook_url: receiver.url, scopes: ["events:subscribe"] });
    await using tab = await signedIn(server, blind, { path: "/subscriptions?event=channel.followed" });
    await tab.fill("Channel", "luna");
    await tab.see("it lacks the scope users:read");
    await tab.fill("Channel", "1001");
    await tab.clickInDialog("Subscribe");
    await tab.see("Subscribed to 1 event of channel 1001.");
  });

  test("in the portal without users:read, each channel of a list is looked up once", async () => {
    const app = await server.application({ webhook_url: receiver.url, scopes: ["events:subscribe"] });
    for (const id of [1001, 1002]) await subscribe(server, app, ["channel.followed"], id);
    await using tab = await signedIn(server, app);
    const lookups: (string | null)[] = [];
    tab.page.on("request", (request) => {
      const { pathname, searchParams } = new URL(request.url());
      if (pathname === "/portal/users") lookups.push(searchParams.get("id"));
    });
    await tab.go("/deliveries?live=1");
    for (const [i, broadcaster_user_id] of [1001, 1002, 1001].entries()) {
      await publish(server, event("channel.followed", { broadcaster_user_id }));
      await tab.until(`document.querySelectorAll("tbody tr").length === ${i + 1}`);
      await until(() => lookups.length > Math.min(i, 1));
      await tab.page.waitForNetworkIdle({ idleTime: 500, concurrency: 1 });
    }
    expect(lookups).toEqual(["1001", "1002"]);
  });
});
