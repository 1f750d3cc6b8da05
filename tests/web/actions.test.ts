import { beforeAll, describe, expect, test } from "bun:test";
import { chromium } from "../support/chromium.ts";
import { operator, signedIn } from "../support/pages.ts";
import { event, publish, subscribe } from "../support/publishing.ts";
import { ownReceiver, testReceiver } from "../support/receiver.ts";
import { category, isOnPostgres, json, ownServer, testServer, user } from "../support/server.ts";
import { until } from "../support/until.ts";

const server = await testServer({ args: ["--portal"] });
const receiver = testReceiver();

beforeAll(async () => {
  await server.load("users", [user(1001, "luna_bytes", { display_name: "Luna" }), user(1002, "ninja_fox")]);
  await server.load("categories", [category(1, "Chess")]);
});

const read = async <T>(path: string) => json<T>(await server.admin("GET", path));

describe.skipIf(chromium === null)("in the portal, a developer", () => {
  test("subscribes by the name of a channel, deletes the subscription, and undoes that", async () => {
    const app = await server.application({ webhook_url: receiver.url });
    await using tab = await signedIn(server, app);
    await tab.click("Subscriptions", "link");
    await tab.see("No subscriptions yet");
    await tab.click("Subscribe");
    await tab.fill("Channel", "nobody_is_called_that");
    await tab.choose("channel.followed");
    await tab.see("No user has this name or id.");
    await tab.fill("Channel", "luna_bytes");
    await tab.clickInDialog("Subscribe");
    await tab.see("Subscribed to 1 event of");
    await tab.see("luna_bytes");
    await tab.click("Delete channel.followed of luna_bytes");
    await tab.clickInDialog("Delete");
    await tab.see("No subscriptions yet");
    await tab.click("Undo");
    await tab.see("luna_bytes");
  });

  test("sees deliveries live", async () => {
    const app = await server.application({ webhook_url: receiver.url });
    await subscribe(server, app, ["channel.followed"], 1002);
    await using tab = await signedIn(server, app);
    await tab.click("Deliveries", "link");
    await tab.see("No deliveries yet");
    await tab.choose("Live");
    await tab.until('location.search === "?live=1"');
    await publish(server, event("channel.followed", { broadcaster_user_id: 1002 }));
    await tab.see("204 in");
    await tab.see("delivered");
  });

  test("rotates the signing secret, which is shown once, and sees which fields are locked", async () => {
    const app = await server.application({ webhook_url: receiver.url });
    await server.admin("PATCH", `/admin/v1/applications/${app.id}`, { locked: ["webhook_url"] });
    await using tab = await signedIn(server, app);
    await tab.click("Webhook", "link");
    await tab.see("Locked by the platform.");
    await tab.click("Rotate signing secret");
    await tab.click("Create new secret");
    await tab.see("This is shown only once.");
    expect(await tab.text()).toMatch(/whsec_[A-Za-z0-9+/=]{20,}/);
    await tab.press("Escape");
    await tab.see("This is shown only once.");
    await tab.click("I have saved it");
    await tab.gone("This is shown only once.");
    expect(await tab.text()).not.toMatch(/whsec_[A-Za-z0-9+/=]{20,}/);
  });

  test("sets headers of their webhooks, whose values are masked as soon as they are saved", async () => {
    const app = await server.application({ webhook_url: receiver.url });
    const stored = async () => (await server.app.store.applications.find(app.id))?.webhook_headers;
    await using tab = await signedIn(server, app);
    await tab.click("Webhook", "link");
    await tab.fill("Webhook headers", "Host: x");
    await tab.click("Save");
    await tab.see("is reserved");
    await tab.fill("Webhook headers", "X-Api-Key: s3cret\nX-Other: one");
    await tab.click("Save");
    await tab.see("Saved.");
    const field = () => tab.page.$eval("textarea", ({ value }) => value);
    await until(async () => (await field()) === "X-Api-Key: ••••••••\nX-Other: ••••••••");
    await tab.fill("Webhook headers", "X-Api-Key: ••••••••\nX-New: two");
    await tab.click("Save");
    await until(async () => (await stored())?.length === 2 && (await stored())?.[1]?.name === "X-New");
    expect(await stored()).toEqual([
      { name: "X-Api-Key", value: "s3cret" },
      { name: "X-New", value: "two" },
    ]);
    await tab.fill("Webhook URL", "http://127.0.0.1:9/other");
    await tab.fill("Webhook headers", "X-Api-Key: ••••••••\nX-New: three");
    await tab.click("Save");
    await tab.see("leave the header out");
    expect((await stored())?.[1]?.value).toBe("two");
  });

  test("navigates by keyboard alone", async () => {
    const app = await server.application();
    await using tab = await signedIn(server, app);
    await tab.page.bringToFront();
    await tab.see("Latest deliveries");
    await tab.page.keyboard.down("Control");
    await tab.press("k");
    await tab.page.keyboard.up("Control");
    await tab.page.waitForSelector(".palette input:focus");
    await tab.page.keyboard.type("event ty");
    await tab.press("Enter");
    await tab.see("The events that you can subscribe to");
    expect(tab.page.url()).toEndWith("/portal/event-types");
  });
});

describe.skipIf(chromium === null)("in the console, an operator", () => {
  test("creates an application, sees its secrets once, changes, disables and deletes it", async () => {
    await using tab = await signedIn(server, operator);
    await tab.click("Applications", "link");
    await tab.click("New application");
    await tab.fill("Name", "Clip collector");
    await tab.fill("Webhook URL", "ftp://nowhere");
    await tab.click("Create");
    await tab.see("This is not a valid http or https URL.");
    await tab.fill("Webhook URL", receiver.url);
    await tab.click("Create");
    await tab.see("Clip collector is created");
    expect(await tab.text()).toMatch(/onair_cs_[\w-]{43}[\s\S]*whsec_/);
    await tab.click("I have saved it");
    await tab.see("Nothing was sent to the endpoint yet.");
    const id = new URL(tab.page.url()).pathname.split("/").at(-1);
    await tab.fill("Requests per minute", "1234");
    await tab.choose("webhook URL");
    await tab.click("Save");
    await tab.see("Saved.");
    const saved = { rate_limit: 1234, locked: ["webhook_url"] };
    expect(await read(`/admin/v1/applications/${id}`)).toMatchObject(saved);
    await tab.click("Disable");
    await tab.clickInDialog("Disable");
    await tab.see("The application is disabled");
    await tab.click("Undo");
    await tab.see("Nothing was sent to the endpoint yet.");
    await tab.click("Delete");
    await tab.clickInDialog("Delete it for good");
    await tab.see("Clip collector is deleted.");
    expect((await server.admin("GET", `/admin/v1/applications/${id}`)).status).toBe(404);
  });

  test("filters deliveries by the name of an application, and the URL contains its id", async () => {
    const app = await server.application({ name: "Filtered bot" });
    await using tab = await signedIn(server, operator);
    await tab.click("Deliveries", "link");
    await tab.fill("Application", "Filtered bot");
    await tab.until(`location.search === "?application_id=${app.id}"`);
    await tab.see("No deliveries match these filters");
    await tab.go(`/deliveries?application_id=${app.id}`);
    const shown = `[...document.querySelectorAll("label")].find((one) => one.textContent === "Application").control.value`;
    await tab.until(`${shown} === "Filtered bot"`);
  });

  test("follows a delivery to the deliveries of its event to all subscribers", async () => {
    const first = ownReceiver();
    const names = ["First follower", "Second follower"];
    const following = names.map((name) => server.application({ name, webhook_url: first.url }));
    const apps = await Promise.all(following);
    for (const one of apps) await subscribe(server, one, ["channel.followed"]);
    for (const id of ["follow-1", "follow-2"]) await publish(server, event("channel.followed", { id }));
    await first.arrived(4);
    await using tab = await signedIn(server, operator, {
      path: `/deliveries/${first.received[0]?.headers["webhook-id"]}`,
    });
    await tab.click("all its subscribers", "link");
    await tab.until('location.search === "?event_id=follow-1"');
    await tab.see("First follower");
    await tab.see("Second follower");
    // Once each: deliveries of the other event are not listed.
    expect((await tab.text()).match(/(First|Second) follower/g)).toHaveLength(2);
    // A replay covers a time range.
    expect(await tab.text()).not.toContain("Replay a range");
    for (const one of apps) await server.admin("DELETE", `/admin/v1/applications/${one.id}`);
  });

  test("rotates secrets and revokes tokens", async () => {
    const app = await server.application({ name: "Rotated" });
    await using tab = await signedIn(server, operator, { path: `/applications/${app.id}` });
    await tab.click("Rotate client secret");
    await tab.click("Create new secret");
    await tab.see("onair_cs_");
    await tab.click("I have saved it");
    await tab.click("Revoke all tokens");
    await tab.clickInDialog("Revoke");
    await tab.see("It has no active tokens.");
    expect((await server.get("/public/v1/application", app.token)).status).toBe(401);
  });

  test("finds a user, edits the profile, and undoes that", async () => {
    await using tab = await signedIn(server, operator);
    await tab.click("Users", "link");
    await tab.fill("Find", "ninja");
    await tab.click("ninja_fox", "link");
    await tab.fill("Display name", "Ninja Fox");
    await tab.click("Save");
    await tab.see("Saved.");
    const shown = () => read<object>("/admin/v1/users/1002");
    expect(await shown()).toMatchObject({ user: { display_name: "Ninja Fox" } });
    await tab.click("Undo");
    await tab.page.waitForNetworkIdle({ idleTime: 300 });
    expect(await shown()).toMatchObject({ user: { display_name: "ninja_fox" } });
  });

  test("edits a category, and sees the ranking", async () => {
    await using tab = await signedIn(server, operator);
    await tab.click("Categories", "link");
    await tab.click("Edit");
    await tab.fill("Description", "Kings and pawns");
    await tab.clickInDialog("Save");
    await tab.see("Saved.");
    const category = { description: "Kings and pawns" };
    expect(await read("/admin/v1/categories/1")).toMatchObject({ category });
  });

  test("registers an event type, is warned of breaking changes, publishes an event, and deletes the type", async () => {
    const app = await server.application({ webhook_url: receiver.url });
    await using tab = await signedIn(server, operator);
    await tab.click("Event types", "link");
    await tab.click("Register type");
    await tab.fill("Name", "raid.started");
    await tab.click("Register");
    await tab.see("raid.started version 1 is registered.");
    await subscribe(server, app, ["raid.started"]);
    await tab.click("Edit or add a version raid.started");
    await tab.fill("JSON Schema", '{"type": "object", "properties": {}}');
    await tab.see("message is removed");
    await tab.click("Cancel");
    await tab.go("/publish?event=raid.started");
    await tab.see("Choose a channel to see how many applications get the event.");
    await tab.fill("Channel", "luna_bytes");
    await tab.fill("message", "Over to you");
    await tab.see("It goes to 1 application.");
    await tab.click("Publish");
    await tab.see("Publish raid.started of luna_bytes?");
    const before = receiver.received.length;
    const sent = await receiver.next(() => tab.clickInDialog("Send to 1 application"));
    expect(receiver.received).toHaveLength(before + 1);
    await tab.see("Published: 1 delivery.");
    // Its delivery is shown below, and its status is updated live.
    await tab.see("delivered");
    expect(sent.body).toContain("Over to you");
    const unused = { version: 1, schema: { type: "object" }, example: {} };
    await server.admin("PUT", "/admin/v1/event-types/raid.ended", unused);
    await tab.go("/event-types?name=raid.ended");
    await tab.click("Delete raid.ended");
    await tab.clickInDialog("Delete");
    await tab.see("raid.ended version 1 is deleted.");
  });

  // The server cannot know the free space of a PostgreSQL database.
  test.skipIf(isOnPostgres)("sees the free disk space, and is warned of a disk that fills up", async () => {
    const own = await ownServer();
    const { free_bytes } = await json<{ free_bytes: number }>(await own.admin("GET", "/admin/v1/storage"));
    await using tab = await signedIn(own, operator);
    await tab.see("Last backup");
    await tab.see("Applications, tokens and consents"); // storage by kind of data
    expect(await tab.text()).toMatch(/[0-9.]+ GB\s+free of [0-9.]+ GB\n/);
    expect(await tab.text()).not.toContain("The disk will be full");
    // Two days ago twice as much space was free, so it lasts for two more days.
    const at = Date.now() - 48 * 3_600_000;
    const counts = { samples: 1, free_bytes: 2 * free_bytes, database_bytes: 1 };
    await own.app.store.statistics.add([{ kind: "storage", subject: "", at, counts, durations: [] }]);
    await tab.go("");
    await tab.see("The disk will be full");
    expect(await tab.text()).toMatch(/GB, full in (?:1 day|2 days|tomorrow|4[0-9] hr)/);
    await tab.click("Go to backups", "link");
    await tab.until('location.pathname === "/console/backups"');
  });

  test("creates, downloads and deletes a backup", async () => {
    await using tab = await signedIn(server, operator);
    await tab.click("Backups", "link");
    await tab.see("No backups yet");
    await tab.click("Create backup");
    await tab.see("done");
    // The name of each button contains that of its backup.
    const made = await tab.page.$eval("main table time", (time) => time.getAttribute("title"));
    const content = tab.page.waitForResponse((response) => response.url().endsWith("/content"));
    await tab.click(`Download ${made}`);
    expect((await content).status()).toBe(200);
    await tab.click(`Delete ${made}`);
    await tab.clickInDialog("Delete");
    await tab.see("No backups yet");
  });

  test("creates a key and revokes it, and finds both in the audit trail", async () => {
    await using tab = await signedIn(server, operator);
    await tab.click("Keys", "link");
    await tab.click("New key");
    await tab.fill("Name", "Grace");
    await tab.click("Create");
    await tab.see("onair_admin_");
    await tab.click("I have saved it");
    await tab.click("Revoke Grace");
    await tab.clickInDialog("Revoke");
    await tab.see("Key revoked.");
    await tab.click("Audit", "link");
    await tab.see("Created key");
    await tab.see("Revoked key");
  });

  test("finds an application, a user and a delivery by the palette", async () => {
    const app = await server.application({ name: "Palette bot", webhook_url: receiver.url });
    await subscribe(server, app, ["channel.followed"]);
    const { headers } = await receiver.next(() => publish(server, event("channel.followed")));
    const id = headers["webhook-id"] ?? "";
    await using tab = await signedIn(server, operator);
    for (const [typed, shown, found] of [
      ["Palette", "Palette bot", "Palette bot"],
      ["luna", "luna_bytes", "Edit the profile"],
      [id, "channel.followed", "Delivered with the first attempt."],
    ] as const) {
      await tab.click("Go to… Ctrl K");
      await tab.page.waitForSelector(".palette input:focus");
      await tab.page.keyboard.type(typed);
      const isShown = `document.querySelector(".options")?.innerText.startsWith(${JSON.stringify(shown)})`;
      await tab.until(isShown);
      await tab.press("Enter");
      await tab.see(found);
    }
  });
});
