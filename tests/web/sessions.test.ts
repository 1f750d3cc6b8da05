import { describe, expect, test } from "bun:test";
import { chromium } from "../support/chromium.ts";
import { openPage, operator, signedIn, signIn } from "../support/pages.ts";
import { json, startServer, testServer } from "../support/server.ts";

const server = await testServer({ args: ["--portal"] });

async function key(role: string): Promise<string> {
  const name = `${role} ${crypto.randomUUID()}`;
  return (await json<{ key: string }>(await server.admin("POST", "/admin/v1/keys", { name, role }))).key;
}

describe.skipIf(chromium === null)("a user who signs in", () => {
  test("with a wrong key sees an error and an empty form, and may try again", async () => {
    await using tab = await openPage(server, "console");
    await tab.page.goto(tab.base);
    await signIn(tab, { key: "wrong-operator-key" });
    await tab.see("The operator key is wrong, revoked or expired");
    expect(await tab.page.$eval("input", (input) => input.value)).toBe("");
    await signIn(tab, operator);
    await tab.see("Overview");
    const kept = await tab.page.evaluate(
      "JSON.stringify({ ...localStorage, ...sessionStorage }) + document.cookie",
    );
    expect(String(kept)).not.toMatch(/onair_os_|operator-key/);
    expect(tab.page.url()).not.toContain("key");
  });

  test("with pasted text has the spaces around it ignored, and is told what a secret of another kind is for", async () => {
    const { client_id, client_secret, webhook_secret } = await server.application();
    await using tab = await openPage(server, "portal");
    await tab.page.goto(tab.base);
    await signIn(tab, { client_id, client_secret: webhook_secret });
    await tab.see("This is a webhook secret, with which a receiver verifies deliveries");
    await signIn(tab, { client_id: ` ${client_id}`, client_secret: `${client_secret}  ` });
    await tab.see("Overview");
    await using own = await openPage(server, "console");
    await own.page.goto(own.base);
    await signIn(own, { key: webhook_secret });
    await own.see("This is a webhook secret, with which a receiver verifies deliveries");
    await signIn(own, { key: `  ${await key("reader")} ` });
    await own.see("Overview");
  });

  test("with a wrong client secret sees an error of the page, not a dialog of the browser, and may try again", async () => {
    const { client_id, client_secret } = await server.application();
    await using tab = await openPage(server, "portal");
    await tab.page.goto(tab.base);
    await signIn(tab, { client_id, client_secret: "wrong" });
    await tab.see("The client_id or client_secret is wrong");
    await signIn(tab, { client_id, client_secret });
    await tab.see("Overview");
  });

  test("can type at once, without the mouse", async () => {
    const { client_id, client_secret } = await server.application();
    await using tab = await openPage(server, "portal");
    await tab.page.goto(tab.base);
    await tab.page.waitForSelector("input:focus");
    await tab.page.keyboard.type(client_id);
    await tab.page.keyboard.press("Tab");
    await tab.page.keyboard.type(client_secret);
    await tab.page.keyboard.press("Enter");
    await tab.see("Overview");
  });

  test("returns to the page where the session ended", async () => {
    const { client_id, client_secret, id } = await server.application({ name: "Evening bot" });
    const who = { client_id, client_secret };
    await using tab = await signedIn(server, who, { path: "/deliveries?type=chat" });
    await tab.see("No deliveries match these filters");
    await tab.fill("Event type", "chat.message.sent");
    await tab.see("No deliveries match these filters");
    await server.admin("DELETE", `/admin/v1/applications/${id}/tokens`);
    await tab.see("Your session has ended.");
    await signIn(tab, who);
    await tab.see("No deliveries match these filters");
    expect(tab.page.url()).toMatch(/\/portal\/deliveries\?type=chat\.message/);
  });

  test("is signed out in both tabs after signing out in one", async () => {
    await using first = await signedIn(server, operator);
    await using second = await openPage(server, operator, { besides: first });
    await second.go("/keys");
    await second.see("New key");
    await first.click("Sign out");
    await first.see("Sign in");
    // Without a click, because its event stream has ended.
    await second.page.bringToFront();
    await second.see("Your session has ended.");
  });

  test.each([
    ["reader", ["Applications", "Backups", "Audit"], ["Publish an event"]],
    ["publisher", ["Users", "Publish an event"], ["Applications", "Deliveries", "Backups", "Keys", "Audit"]],
  ])("as a %s sees the controls of that role: %p and not %p", async (role, shown, hidden) => {
    await using tab = await signedIn(server, { key: await key(role) });
    const pages = await tab.page.$$eval("nav a", (links) => links.map((link) => link.textContent ?? ""));
    expect(pages).toEqual(expect.arrayContaining(shown));
    for (const name of hidden) expect(pages).not.toContain(name);
    for (const path of ["/applications", "/keys", "/backups"]) {
      await tab.go(path);
      expect(await tab.text()).not.toMatch(/New application|New key|Make a backup/);
      // What the server would refuse is not asked for.
      expect([path, (await tab.text()).includes("Not for this key")]).toEqual([path, role === "publisher"]);
      expect(await tab.page.$(".notice.bad")).toBeNull();
    }
  });

  test("sees that the connection is lost, and misses nothing once it is back", async () => {
    const own = await startServer({ args: ["--portal"] });
    await using tab = await signedIn(own, operator);
    await tab.click("Applications", "link");
    await tab.see("No applications yet");
    await tab.page.setOfflineMode(true);
    await tab.click("Keys", "link");
    await tab.see("Connection lost.");
    await own.application({ name: "Made meanwhile" });
    await tab.page.setOfflineMode(false);
    await tab.click("Applications", "link");
    await tab.see("Made meanwhile");
    expect(await tab.text()).not.toContain("Connection lost.");
    await own.stop();
  });
});
