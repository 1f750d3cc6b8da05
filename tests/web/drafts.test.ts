import { beforeAll, describe, expect, test } from "bun:test";
import { chromium } from "../support/chromium.ts";
import { operator, signedIn, type Tab } from "../support/pages.ts";
import { json, testServer } from "../support/server.ts";

/* What was typed and is not saved is there again when its form is opened again. */

const server = await testServer({ args: ["--portal"] });

beforeAll(async () => {
  await server.load("users", [
    { id: 1001, username: "luna_bytes", bio: "Plays at night." },
    { id: 1002, username: "ninja_fox", bio: "Plays at noon." },
  ]);
});

const restored = "What you had not saved is here again.";

const fieldValue = (tab: Tab, label: string) =>
  tab.page.evaluate(
    `[...document.querySelectorAll("label")].findLast((one) => one.textContent === ${JSON.stringify(label)})?.control.value`,
  );

describe.skipIf(chromium === null)("unsaved input", () => {
  test("of a page is kept for its object alone, until it is saved or discarded", async () => {
    await using tab = await signedIn(server, operator);
    const open = async (query: string) => {
      await tab.click("Users", "link");
      await tab.fill("Find", query);
      await tab.click(query, "link");
      await tab.see("Edit the profile");
    };
    await open("luna_bytes");
    await tab.fill("Bio", "Plays all day.");
    await open("ninja_fox");
    expect(await fieldValue(tab, "Bio")).toBe("Plays at noon.");
    expect(await tab.text()).not.toContain(restored);
    await open("luna_bytes");
    await tab.see(restored);
    expect(await fieldValue(tab, "Bio")).toBe("Plays all day.");
    await tab.click("Discard it");
    await tab.gone(restored);
    expect(await fieldValue(tab, "Bio")).toBe("Plays at night.");
    await tab.fill("Bio", "Plays in the evening.");
    await tab.click("Save");
    await tab.see("Saved.");
    await open("ninja_fox");
    await open("luna_bytes");
    await tab.until('document.querySelector("textarea")?.value === "Plays in the evening."');
    expect(await tab.text()).not.toContain(restored);
  });

  test("of a dialog is kept by Escape, and dropped by Cancel", async () => {
    await using tab = await signedIn(server, operator);
    await tab.click("Applications", "link");
    await tab.click("New application");
    await tab.fill("Name", "Half a bot");
    await tab.press("Escape");
    await tab.until('!document.querySelector("dialog")');
    await tab.click("New application");
    await tab.see(restored);
    expect(await fieldValue(tab, "Name")).toBe("Half a bot");
    await tab.clickInDialog("Cancel");
    await tab.click("New application");
    expect([await fieldValue(tab, "Name"), (await tab.text()).includes(restored)]).toEqual(["", false]);
  });

  test("of a filter is kept when another page is looked at", async () => {
    const app = await server.application({ delivery: "stream" });
    await using tab = await signedIn(server, app);
    await tab.click("Filters", "link");
    await tab.click("Add a filter");
    await tab.click("Edit as JSON");
    await tab.fill("Condition as JSON", '{"content": {"$startsWith": "?"}}');
    await tab.click("Overview", "link");
    await tab.click("Filters", "link");
    await tab.click("Add a filter");
    await tab.see(restored);
    expect(await fieldValue(tab, "Condition as JSON")).toBe('{"content": {"$startsWith": "?"}}');
    await tab.click("Save");
    await tab.see("in force since");
    expect(await tab.text()).not.toContain(restored);
    const { filters } = await json<{ filters: object }>(
      await server.admin("GET", `/admin/v1/applications/${app.id}`),
    );
    expect(filters).toEqual({ "chat.message.sent": { content: { $startsWith: "?" } } });
  });

  test("is asked about before the page is reloaded or signed out of, and only then", async () => {
    await using tab = await signedIn(server, operator);
    const asked: string[] = [];
    tab.page.on("dialog", (dialog) => void asked.push(dialog.type()));
    await tab.go("/users/1001");
    await tab.see("Edit the profile");
    await tab.page.reload();
    await tab.fill("Bio", "Unsaved");
    await tab.page.click("textarea");
    await tab.page.reload();
    expect(asked).toEqual(["beforeunload"]);
    await tab.see("Edit the profile");
    expect(await fieldValue(tab, "Bio")).not.toBe("Unsaved");
    await tab.fill("Bio", "Unsaved");
    await tab.click("Sign out");
    await tab.until("true");
    expect(asked).toEqual(["beforeunload", "confirm"]);
    // The question was answered with no.
    expect(tab.complaints.splice(0)).toEqual(["dialog: Sign out and discard what is not saved?"]);
    expect(await fieldValue(tab, "Bio")).toBe("Unsaved");
  });
});
