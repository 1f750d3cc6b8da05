import { beforeAll, describe, expect, test } from "bun:test";
import { chromium } from "../support/chromium.ts";
import { operator, signedIn } from "../support/pages.ts";
import { subscribe } from "../support/publishing.ts";
import { ownReceiver, testReceiver } from "../support/receiver.ts";
import { testServer } from "../support/server.ts";

/* The form that publishes an event: its body is of the chosen channel, and it asks before it sends. */

const server = await testServer();
const receiver = testReceiver();
const picture = "https://images.example/luna.webp";

beforeAll(async () => {
  await server.load("users", [
    { id: 1001, username: "Luna_Bytes", display_name: "Luna", is_verified: true, profile_picture: picture },
    { id: 1002, username: "ninja_fox" },
  ]);
  await server.load("channels", [{ id: 70, user_id: 1001, name: "Luna", slug: "moon" }]);
});

describe.skipIf(chromium === null)("publishing an event in the console", () => {
  test("names the application that gets it, also if it is the only one", async () => {
    const app = await server.application({ name: "Only bot", webhook_url: ownReceiver().url });
    await subscribe(server, app, ["kicks.gifted"]);
    await using tab = await signedIn(server, operator, {
      path: "/publish?event=kicks.gifted&broadcaster=1002",
    });
    await tab.see("It goes to no application.");
    await tab.go("/publish?event=kicks.gifted&broadcaster=1001");
    tab.elsewhere.push("https://images.example/");
    await tab.see("It goes to 1 application.");
    await tab.click("Publish");
    await tab.clickInDialog("Send to 1 application");
    await tab.see("Deliveries of the event");
    await tab.see("Only bot");
  });

  test("shows each wrong value at its field, which gets the focus, also in JSON", async () => {
    await using tab = await signedIn(server, operator);
    tab.elsewhere.push("https://images.example/");
    await tab.go("/publish?event=chat.message.sent&broadcaster=1001");
    await tab.see("It goes to");
    const isFocused = `document.activeElement.matches("[aria-invalid=true]")`;
    const problems = () =>
      tab.page.evaluate(`[...document.querySelectorAll("[aria-invalid=true]")].map(({ id }) =>
        document.getElementById(id + "-about").textContent)`);
    // The field is in a group that is closed.
    await tab.page.evaluate(`{
      const field = document.querySelector("details.group details.group input[type=number]");
      field.value = "-5";
      field.dispatchEvent(new Event("input", { bubbles: true }));
    }`);
    await tab.click("Publish");
    await tab.see("Correct the marked fields.");
    await tab.until(isFocused);
    const [wrongId, ...others] = (await problems()) as string[];
    expect(wrongId).toMatch(/^user_id must be /);
    expect(others).toEqual([]);
    await tab.fill("message_id", "x".repeat(101));
    await tab.click("Publish");
    await tab.see("message_id must be");
    await tab.until(isFocused);
    expect(await problems()).toEqual([expect.stringMatching(/^message_id must/), wrongId]);
    expect(await tab.text()).not.toContain("data.message_id");
    await tab.click("Edit as JSON");
    await tab.see("Correct these values:");
    await tab.fill("Data as JSON", "{");
    await tab.click("Publish");
    await tab.until(isFocused);
    expect(await problems()).toEqual(["Data as JSON is not valid JSON yet"]);
    expect(await tab.text()).not.toContain("Publish chat.message.sent of");
  });

  test("is of the chosen channel and of now, keeps the channel for another type, and asks first", async () => {
    const app = await server.application({ webhook_url: receiver.url });
    const choosy = await server.application({
      webhook_url: receiver.url,
      filters: { "chat.message.sent": { content: { $startsWith: "!" } } },
    });
    for (const one of [app, choosy]) await subscribe(server, one, ["chat.message.sent"]);
    await using tab = await signedIn(server, operator);
    tab.elsewhere.push("https://images.example/");
    await tab.click("Publish an event", "link");
    await tab.fill("Channel", "luna");
    await tab.page.waitForSelector("[role=option]");
    await tab.press("Enter");
    await tab.see("It goes to no application.");
    await tab.page.select("select", "chat.message.sent");
    await tab.see("It goes to 1 application. 1 application has a filter that keeps it away.");
    const begun = Date.now();
    await tab.fill("content", "!hello");
    await tab.see("It goes to 2 applications.");
    expect(receiver.received).toHaveLength(0);
    await tab.click("Publish");
    await tab.see("Publish chat.message.sent of Luna_Bytes?");
    await tab.clickInDialog("Cancel");
    await tab.click("Publish");
    expect(receiver.received).toHaveLength(0);
    await tab.clickInDialog("Send to 2 applications");
    await tab.see("Published: 2 deliveries.");
    await receiver.arrived(2);
    const { data } = JSON.parse(receiver.received[0]?.body ?? "{}");
    expect(data.broadcaster).toMatchObject({
      user_id: 1001,
      username: "Luna_Bytes",
      is_verified: true,
      profile_picture: picture,
      channel_slug: "moon",
    });
    expect(data.content).toBe("!hello");
    expect(Math.abs(Date.parse(data.created_at) - begun)).toBeLessThan(60_000);
    // Another channel takes the place of the first one; what was typed stays.
    await tab.fill("content", "!again");
    await tab.fill("Channel", "ninja_fox");
    await tab.page.waitForSelector("[role=option]");
    await tab.press("Enter");
    await tab.see("It goes to no application.");
    await tab.click("Edit as JSON");
    await tab.until('document.querySelector("textarea")?.value.includes("1002")');
    const text = await tab.page.$eval("textarea", ({ value }) => value);
    expect(JSON.parse(text)).toMatchObject({
      broadcaster: {
        user_id: 1002,
        username: "ninja_fox",
        profile_picture: expect.stringMatching(/\/assets\/profile-picture\.png$/),
        channel_slug: "ninja_fox",
      },
      content: "!again",
    });
  });
});
