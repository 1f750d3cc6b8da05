import { describe, expect, test } from "bun:test";
import { chromium } from "../support/chromium.ts";
import { openPage, operator, signedIn, signIn, type Tab } from "../support/pages.ts";
import { json, testServer } from "../support/server.ts";

const server = await testServer({ args: ["--portal"] });
const typedUrl = "https://bot.example/typed";

/** The value of the field with this label, once it exists. */
async function typedIn(tab: Tab, label: string): Promise<unknown> {
  const field = `[...document.querySelectorAll("label")].find((one) => one.textContent === ${JSON.stringify(label)})?.control`;
  await tab.until(field);
  return tab.page.evaluate(`(${field}).value`);
}

/** From now on records in `sessionStorage.shown` whether a text becomes visible. */
async function noteWhatIsShown({ page }: Tab, text: string): Promise<void> {
  const note = `(function look() {
    if (document.body?.innerText.includes(${JSON.stringify(text)})) sessionStorage.shown = document.body.innerText;
    requestAnimationFrame(look);
  })()`;
  await page.evaluateOnNewDocument(note);
  await page.evaluate(note);
}

const endTokens = (id: string) => server.admin("DELETE", `/admin/v1/applications/${id}/tokens`);

describe.skipIf(chromium === null)("a session that ends while a user types", () => {
  test("keeps the input, which is saved after signing in again", async () => {
    const app = await server.application({ name: "Typing bot" });
    await using tab = await signedIn(server, app, { path: "/webhook" });
    await tab.fill("Webhook URL", typedUrl);
    await endTokens(app.id);
    await tab.click("Save");
    await tab.see("Your session has ended.");
    await signIn(tab, app);
    await tab.gone("Your session has ended.");
    expect(await typedIn(tab, "Webhook URL")).toBe(typedUrl);
    await tab.click("Save");
    await tab.see("Saved");
    const path = `/admin/v1/applications/${app.id}`;
    const saved = await json<{ webhook_url: string }>(await server.admin("GET", path));
    expect(saved.webhook_url).toBe(typedUrl);
  });

  test("keeps the dialog open with its input", async () => {
    await using tab = await signedIn(server, operator);
    await tab.click("Applications", "link");
    await tab.click("New application");
    await tab.fill("Name", "Half typed");
    await tab.page.evaluate(
      'fetch("/console/session", { method: "DELETE", headers: { "onair-page": "http" } })',
    );
    await tab.clickInDialog("Create");
    await tab.see("Your session has ended.");
    // A dialog that requires an answer stays open.
    await tab.press("Escape", "Escape");
    await signIn(tab, operator);
    await tab.gone("Your session has ended.");
    expect(await typedIn(tab, "Name")).toBe("Half typed");
    await tab.clickInDialog("Create");
    await tab.see("I have saved it");
  });

  test("does not send typed text as a key", async () => {
    const app = await server.application({ name: "Interrupted bot" });
    await using tab = await signedIn(server, app, { path: "/webhook" });
    await tab.page.focus("main input");
    await tab.page.keyboard.type("https://bot.exa");
    await endTokens(app.id);
    await tab.see("Your session has ended.");
    await tab.until('document.activeElement.matches("dialog h2")');
    const sent: string[] = [];
    tab.page.on("request", (request) => {
      if (request.method() === "POST") sent.push(request.url());
    });
    await tab.page.keyboard.type("mple/typed");
    await tab.press("Enter");
    expect(await tab.page.$$eval("dialog input", (fields) => fields.map(({ value }) => value))).toEqual([
      "",
      "",
    ]);
    expect(sent).toEqual([]);
  });

  test("hides everything behind the form, also from screen readers, and restores the focus", async () => {
    const app = await server.application({ name: "Hidden bot", webhook_url: typedUrl });
    await using tab = await signedIn(server, app, { width: 390, path: "/webhook" });
    await tab.see("Verify deliveries");
    await tab.click("Menu");
    await tab.page.evaluate("scrollTo(0, 400)");
    expect(await tab.page.evaluate("scrollY")).toBe(400);
    await tab.page.keyboard.down("Control");
    await tab.press("k");
    await tab.page.keyboard.up("Control");
    await tab.page.waitForSelector(".palette input:focus");
    await endTokens(app.id);
    await tab.page.keyboard.type("0".repeat(26));
    await tab.see("Your session has ended.");
    expect(await tab.text()).toStartWith("Your session has ended.");
    expect(JSON.stringify(await tab.page.accessibility.snapshot())).not.toContain("Hidden bot");
    await signIn(tab, app);
    await tab.gone("Your session has ended.");
    await tab.page.waitForSelector(".palette input:focus");
    expect(await tab.page.evaluate("scrollY")).toBe(400);
  });

  test("shows nothing when the Back button restores a page from the browser's cache", async () => {
    const app = await server.application({ name: "Left bot" });
    await using tab = await signedIn(server, app, { path: "/webhook" });
    await tab.see("Left bot");
    await noteWhatIsShown(tab, "Left bot");
    await tab.page.goto(`${server.publicUrl}/docs`);
    await endTokens(app.id);
    await tab.page.evaluate("delete sessionStorage.shown");
    await tab.page.goBack();
    await tab.until('location.pathname === "/portal/webhook"');
    await tab.see("Client id");
    expect(await tab.page.evaluate("sessionStorage.shown")).toBeUndefined();
    await signIn(tab, app);
    await tab.see("Left bot");
  });

  test("hides the input from another application that signs in", async () => {
    const [first, second] = [
      await server.application({ name: "First bot" }),
      await server.application({ name: "Second bot" }),
    ];
    await using tab = await signedIn(server, first);
    await tab.click("Deliveries", "link");
    await tab.click("Webhook", "link");
    await tab.fill("Webhook URL", typedUrl);
    await endTokens(first.id);
    await tab.click("Save");
    await tab.see("Your session has ended.");
    await noteWhatIsShown(tab, "First bot");
    await signIn(tab, second);
    await tab.see("Second bot");
    expect(await typedIn(tab, "Webhook URL")).toBe("");
    for (const path of ["/deliveries", ""]) {
      await tab.page.goBack();
      await tab.until(`location.pathname === "/portal${path}"`);
      await tab.see("Second bot");
    }
    expect(await tab.page.evaluate("sessionStorage.shown")).toBeUndefined();
  });
});

describe.skipIf(chromium === null)("two tabs", () => {
  test("both continue when one signs in again", async () => {
    const app = await server.application({ name: "Two tabs bot" });
    await using first = await signedIn(server, app);
    await using second = await openPage(server, app, { besides: first });
    await second.go("/webhook");
    await second.fill("Webhook URL", typedUrl);
    await endTokens(app.id);
    await second.see("Your session has ended.");
    await first.page.bringToFront();
    await first.see("Your session has ended.");
    await signIn(first, app);
    await second.page.bringToFront();
    await second.gone("Your session has ended.");
    expect(await typedIn(second, "Webhook URL")).toBe(typedUrl);
  });

  test("neither sends requests for one application while it shows another", async () => {
    const [before, after] = [
      await server.application({ name: "Bot before" }),
      await server.application({ name: "Bot after" }),
    ];
    await using first = await signedIn(server, before);
    await using second = await openPage(server, before, { besides: first });
    await second.go("/webhook");
    await second.fill("Webhook URL", typedUrl);
    await first.click("Sign out");
    await first.see("Sign in");
    await signIn(first, after);
    await first.see("Bot after");
    await second.page.bringToFront();
    await second.see("Bot after");
    await second.gone("Bot before");
    expect(await typedIn(second, "Webhook URL")).toBe("");
  });
});
