import { describe, expect, test } from "bun:test";
import { chromium } from "../support/chromium.ts";
import { operator, signedIn, type Tab } from "../support/pages.ts";
import { event, example, publish, settled, subscribe } from "../support/publishing.ts";
import { users } from "../support/real-data.ts";
import { testReceiver } from "../support/receiver.ts";
import { json, type TestApplication, testServer } from "../support/server.ts";

/* The filters of an application in the portal and in the console. */

const server = await testServer({ args: ["--portal"], users });
const receiver = testReceiver();

async function chat(...contents: readonly string[]): Promise<void> {
  for (const content of contents) {
    const data = { ...(example("chat.message.sent") as object), content };
    expect((await publish(server, event("chat.message.sent", { data }))).status).toBe(202);
  }
  await settled(server);
}

const filtersOf = async ({ id }: TestApplication) =>
  (await json<{ filters: object }>(await server.admin("GET", `/admin/v1/applications/${id}`))).filters;

/** Selects an option by its text in the last selection with this label. */
const select = (tab: Tab, label: string, option: string) =>
  tab.until(`(() => {
    const labels = [...document.querySelectorAll("label")].filter((one) => one.textContent === ${JSON.stringify(label)});
    const control = labels.at(-1)?.control;
    const option = [...(control?.options ?? [])].find((one) => one.textContent === ${JSON.stringify(option)});
    if (!option) return false;
    control.value = option.value;
    control.dispatchEvent(new Event("change", { bubbles: true }));
    return true;
  })()`);

/** The tested events, as lines of the table. */
const tested = (tab: Tab) =>
  tab.page.$$eval('table[aria-label="Tested events"] tbody tr', (rows) =>
    rows.map((row) => [...row.querySelectorAll("td")].slice(0, 2).map((cell) => cell.textContent.trim())),
  );

const jsonText = (tab: Tab) => tab.page.$eval("textarea", ({ value }) => value);

describe.skipIf(chromium === null)("the page of filters", () => {
  test("shows which of the last deliveries a simple filter lets through, and saves it at once", async () => {
    const app = await server.application({ webhook_url: receiver.url });
    await subscribe(server, app, ["chat.message.sent"]);
    await chat("!first", "hello", "well!");
    await using tab = await signedIn(server, app);
    await tab.click("Filters", "link");
    await tab.see("All events are sent");
    await tab.click("Add a filter");
    await tab.see("Complete the condition");
    await select(tab, "Field", "content");
    await select(tab, "Condition", "begins with");
    await tab.fill("Value", "!");
    await tab.see("1 of the last 3 deliveries would be sent");
    expect(await tested(tab)).toEqual([
      ["filtered", '"well!"'],
      ["filtered", '"hello"'],
      ["sent", '"!first"'],
    ]);
    expect(await filtersOf(app)).toEqual({});
    await tab.click("Save");
    await tab.see("in force since");
    expect(await filtersOf(app)).toEqual({ "chat.message.sent": { content: { $startsWith: "!" } } });
    const before = receiver.received.length;
    await chat("quiet", "!second");
    const arrived = receiver.received.slice(before).map(({ body }) => JSON.parse(body).data.content);
    expect(arrived).toEqual(["!second"]);
    await tab.see("2 of the last 4 deliveries would be sent");
    await tab.click("Remove chat.message.sent");
    await tab.see("Remove the filter of chat.message.sent?");
    await tab.clickInDialog("Remove");
    await tab.see("All events are sent");
    expect(await filtersOf(app)).toEqual({});
    await tab.click("Overview", "link");
    await tab.see("Not sent, because it did not match a filter: 1 event.");
  }, 120_000);

  test("keeps what was written when it changes between form and text, and marks mistakes at their place", async () => {
    const app = await server.application({ delivery: "stream" });
    await using tab = await signedIn(server, app, { path: "/filters" });
    await tab.click("Add a filter");
    await select(tab, "Field", "content");
    await select(tab, "Condition", "begins with");
    await tab.fill("Value", "!");
    // Without deliveries, the sample is tested.
    await tab.see("The sample would not be sent");
    await tab.click("Add a condition");
    await select(tab, "Send events that meet", "any of these conditions");
    await tab.click("Edit as JSON");
    const either = { $or: [{ content: { $startsWith: "!" } }, { content: "" }] };
    expect(JSON.parse(await jsonText(tab))).toEqual(either);
    await tab.click("Edit as a form");
    await select(tab, "Field", "sender.identity.badges.count");
    await select(tab, "Condition", "is at least");
    await tab.click("Save");
    await tab.see("Value is required");
    expect(await filtersOf(app)).toEqual({});
    await tab.click("Edit as JSON");
    await tab.fill("Condition as JSON", '{"content": {"$startWith": "!"}}');
    await tab.see("content.$startWith is not an operator");
    await tab.see("This filter is too complex for the form.");
    await tab.fill("Condition as JSON", '{"content": ');
    await tab.see("is not valid JSON yet");
    const complex = '{ "sender": {"identity": {"badges": {"$not": {"type": "vip"}}}} }';
    await tab.fill("Condition as JSON", complex);
    await tab.see("The sample would");
    expect(await jsonText(tab)).toBe(complex);
    await tab.see("This filter is too complex for the form.");
    await tab.click("Save");
    await tab.see("in force since");
    expect(await filtersOf(app)).toEqual({ "chat.message.sent": JSON.parse(complex) });
    await tab.go("/filters?type=chat.message.sent");
    await tab.see("This filter is too complex for the form.");
    const written = '{"content":   {"$startsWith": "!"}}';
    await tab.fill("Condition as JSON", written);
    await tab.click("Edit as a form");
    await tab.click("Edit as JSON");
    expect(await jsonText(tab)).toBe(written);
  }, 120_000);

  test("is in the console, too, and can be locked for the developer", async () => {
    const app = await server.application({
      filters: { "channel.followed": { follower: { is_verified: true } } },
      locked: ["filters"],
    });
    await using portal = await signedIn(server, app, { path: "/filters" });
    await portal.see("Locked by the platform.");
    await portal.see("follower.is_verified is true");
    expect(await portal.text()).not.toContain("Add a filter");
    await portal.click("Show channel.followed");
    await portal.see('"is_verified": true');
    await using console = await signedIn(server, operator, { path: `/applications/${app.id}` });
    await console.click("Edit channel.followed");
    await select(console, "Value", "false");
    await console.see("The sample would");
    await console.click("Edit as JSON");
    await console.see("Edit as a form");
    await console.click("Remove channel.followed");
    await console.clickInDialog("Remove");
    await console.see("All events are sent");
    expect(await filtersOf(app)).toEqual({});
    const key = await json<{ key: string }>(
      await server.admin("POST", "/admin/v1/keys", { name: "Reader", role: "reader" }),
    );
    await server.admin("PATCH", `/admin/v1/applications/${app.id}`, {
      filters: { "channel.followed": { follower: { username: "maya" } } },
    });
    await using reader = await signedIn(server, key, { path: `/applications/${app.id}` });
    await reader.see('follower.username is "maya"');
    expect(await reader.text()).not.toMatch(/Add a filter|Remove/);
  }, 120_000);
});
