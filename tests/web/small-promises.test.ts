import { beforeAll, describe, expect, test } from "bun:test";
import { chromium } from "../support/chromium.ts";
import { operator, signedIn } from "../support/pages.ts";
import { event, publish, subscribe } from "../support/publishing.ts";
import { ownReceiver, testReceiver } from "../support/receiver.ts";
import { type TestApplication, testServer } from "../support/server.ts";

const server = await testServer({ args: ["--portal", "--rate-limit", "777"] });
const receiver = testReceiver();
let app: TestApplication;

beforeAll(async () => {
  await server.load("users", [{ id: 1001, username: "luna_bytes", display_name: "Luna" }]);
  await server.load("categories", [{ id: 1, name: "Chess", slug: "chess" }]);
  await server.load("channels", [{ id: 70, user_id: 1001, name: "Luna", slug: "luna" }]);
  await server.load("livestreams", [{ channel_id: 70, category_id: 1, viewers: 12 }]);
  app = await server.application({ name: "Night bot", webhook_url: receiver.url });
  await subscribe(server, app, ["channel.followed"]);
  await publish(server, event("channel.followed"));
  await receiver.arrived(1);
});

describe.skipIf(chromium === null)("in the portal", () => {
  test("a time is relative, is updated, and shows date and UTC on hover", async () => {
    await using tab = await signedIn(server, app, { path: "/deliveries" });
    const time = await tab.page.waitForSelector("main tbody td:last-child time");
    const shown = () => time?.evaluate(({ textContent, title }) => ({ textContent, title }));
    const first = await shown();
    expect(first?.title).toMatch(/^\d+ \w+ \d{4}, [\d:]+ \(\d{4}-\d\d-\d\d [\d:.]+ UTC\)$/);
    await tab.until(
      `document.querySelector("main tbody td:last-child time").textContent !== ${JSON.stringify(first?.textContent)}`,
    );
    expect((await shown())?.title).toBe(first?.title ?? "");
  });

  test("the two secrets of a rotation are told apart at every width", async () => {
    const rotated = await server.application({ name: "Rotated", webhook_url: receiver.url });
    await using tab = await signedIn(server, rotated, { path: "/webhook" });
    await tab.click("Rotate signing secret");
    await tab.see("Until then both secrets sign");
    await tab.click("Create new secret");
    await tab.see("This is shown only once");
    await tab.click("I have saved it");
    await tab.see("also signs until in 23 hr.");
    for (const width of [390, 1024]) {
      await tab.page.setViewport({ width, height: 900 });
      const rows = (await tab.page.evaluate(
        `[...document.querySelectorAll("main tbody tr")].map(({ innerText }) => innerText.replaceAll(/\\s+/g, " "))`,
      )) as string[];
      expect(rows).toHaveLength(3);
      expect(rows[1]).toMatch(/^Signing secret whsec_.{4}… in force/);
      expect(rows[2]).toStartWith(
        `Signing secret ${rotated.webhook_secret.slice(0, 10)}… replaced also signs until`,
      );
    }
  });

  test("a value is copied by its button", async () => {
    await using tab = await signedIn(server, app);
    await tab.page
      .browserContext()
      .overridePermissions(new URL(tab.base).origin, ["clipboard-read", "clipboard-sanitized-write"]);
    await tab.click(`Copy ${app.client_id}`);
    await tab.page.waitForSelector('[aria-label="Copied"]');
    expect(await tab.page.evaluate("navigator.clipboard.readText()")).toBe(app.client_id);
  });

  test("the webhook page shows secrets with their ages, and a receiver in five languages", async () => {
    await using tab = await signedIn(server, app);
    await tab.click("Webhook", "link");
    await tab.see("in force");
    const rows = await tab.page.$$eval("main tbody tr", (found) =>
      found.map(({ cells }) => [cells[0]?.textContent, cells[2]?.querySelector("time") !== null]),
    );
    expect(rows).toEqual([
      [`Client secret${app.client_secret.slice(0, 13)}…`, true],
      [`Signing secret${app.webhook_secret.slice(0, 10)}…`, true],
    ]);
    expect(await tab.text()).not.toContain(app.webhook_secret);
    for (const [language, said] of [
      ["TypeScript", "standardwebhooks"],
      ["Python", "hmac.compare_digest"],
      ["Go", "hmac.Equal"],
      ["PHP", "hash_equals"],
      ["Rust", "cargo add"],
    ] as const) {
      await tab.click(language);
      await tab.see(said);
    }
  });

  test("a delivery that is sent again shows that its answer is of before, and whose channel it is", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    let isHanging = false;
    const slow = ownReceiver(async () => {
      if (isHanging) await promise;
      return new Response(null, { status: 204 });
    });
    const own = await server.application({ name: "Sent twice", webhook_url: slow.url });
    await subscribe(server, own, ["channel.followed"]);
    await publish(server, event("channel.followed"));
    await slow.arrived(1);
    isHanging = true;
    await using tab = await signedIn(server, own, { width: 1024, path: "/deliveries" });
    await tab.see("204 in");
    // At this width the channel has no column of its own.
    await tab.see("Luna luna_bytes");
    await tab.click("channel.followed", "link");
    await tab.see("Delivered with the first attempt.");
    await tab.see("luna_bytes 1001");
    await tab.click("Send again");
    await slow.arrived(2);
    await tab.see("Being sent again.");
    await tab.see("with the response 204");
    await tab.go("/deliveries");
    await tab.see("sent before: 204");
    expect(await tab.text()).not.toContain("204 in");
    resolve();
  });

  test("on a phone the menu opens over the page, receives the focus, and returns it when Escape closes it", async () => {
    await using tab = await signedIn(server, app, { width: 390 });
    await tab.click("Menu");
    await tab.until('document.activeElement.closest(".side.open .nav")');
    await tab.press("Escape");
    await tab.until('document.activeElement.matches(".menu-button button")');
    expect(await tab.page.$(".side.open")).toBeNull();
    await tab.click("Menu");
    await tab.click("Webhook", "link");
    await tab.see("Verify deliveries");
    expect(await tab.page.$(".side.open")).toBeNull();
  });
});

describe.skipIf(chromium === null)("in the console", () => {
  test("an endpoint without deliveries is not shown as healthy, and its next attempt never as just now", async () => {
    const broken = ownReceiver(() => new Response(null, { status: 500 }));
    const { id } = await server
      .application({ name: "Broken bot", webhook_url: broken.url })
      .then(async (own) => {
        await subscribe(server, own, ["kicks.gifted"]);
        return own;
      });
    await using tab = await signedIn(server, operator, { path: `/applications/${id}` });
    await tab.see("Nothing was sent to the endpoint yet.");
    expect(await tab.page.$(".notice.ok")).toBeNull();
    // Each text that the page shows on the way to the second attempt.
    await tab.page.evaluate(`
      window.seen = new Set();
      new MutationObserver(() => {
        for (const time of document.querySelectorAll("main time")) {
          if (/Next attempt/.test(time.closest("p, .figure")?.innerText ?? "")) window.seen.add(time.innerText);
        }
      }).observe(document.querySelector("main"), { subtree: true, childList: true, characterData: true });
    `);
    await publish(server, event("kicks.gifted"));
    await broken.arrived(2);
    const seen = (await tab.page.evaluate("[...window.seen]")) as string[];
    expect(seen).toContainEqual(expect.stringMatching(/^in \d/));
    expect(seen).not.toContain("just now");
  });

  test("a category shows its livestreams", async () => {
    await using tab = await signedIn(server, operator);
    await tab.click("Categories", "link");
    await tab.click("Chess");
    await tab.until(
      'document.querySelector("[aria-label=\\"Live channels\\"] tbody").innerText.includes("Luna")',
    );
  });

  test("the subscriptions of a channel are found by a name of its user, and only those", async () => {
    const other = await server.application({ name: "Day bot", webhook_url: receiver.url });
    await subscribe(server, other, ["chat.message.sent"]);
    await using tab = await signedIn(server, operator);
    await tab.click("Subscriptions", "link");
    await tab.fill("Channel", "luna");
    await tab.press("Enter");
    await tab.see("Night bot");
    await tab.see("Day bot");
    await tab.fill("Event type", "chat.message.sent");
    await tab.gone("Night bot");
    await tab.see("Day bot");
    expect(new URL(tab.page.url()).search).toContain("broadcaster=1001");
  });

  test("the effective settings of this server are shown without secrets", async () => {
    await using tab = await signedIn(server, operator, { path: "/settings?changed=1" });
    await tab.see("777");
    expect(await tab.text()).not.toContain("key" in operator ? operator.key : "");
  });
});
