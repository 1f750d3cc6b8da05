import { beforeAll, describe, expect, test } from "bun:test";
import { afterThisTest } from "../support/after-tests.ts";
import { chromium } from "../support/chromium.ts";
import { operator, signedIn } from "../support/pages.ts";
import { event, subscribe } from "../support/publishing.ts";
import { ownReceiver, type Received } from "../support/receiver.ts";
import { json, testServer } from "../support/server.ts";
import { until } from "../support/until.ts";

const server = await testServer({ args: ["--portal"] });

beforeAll(async () => {
  await server.load("users", [{ id: 1001, username: "luna_bytes" }]);
});

/** An application whose endpoint is disabled because it answered 410 to one of two events. */
async function broken(name: string) {
  const gone = ownReceiver(() => new Response("moved", { status: 410 }));
  const app = await server.application({ name, webhook_url: gone.url });
  // The events of the next test are not sent to it.
  afterThisTest(() => server.admin("DELETE", `/admin/v1/applications/${app.id}`));
  await subscribe(server, app, ["channel.followed"]);
  await server.admin("POST", "/admin/v1/events", event("channel.followed"));
  await gone.arrived(1);
  await until(async () => {
    const answer = await server.admin("GET", `/admin/v1/applications/${app.id}/endpoint`);
    return (await answer.text()).includes('"disabled"');
  });
  // This event is published while the endpoint is disabled, and stays pending.
  await server.admin("POST", "/admin/v1/events", event("channel.followed"));
  return { app, firstId: gone.received[0]?.headers["webhook-id"] };
}

const ids = (received: readonly Received[]) => received.map(({ headers }) => headers["webhook-id"]);

describe.skipIf(chromium === null).each([
  ["clicking", false],
  ["the keyboard", true],
])("an endpoint breaks: by %s alone", (_, byKeyboard) => {
  test("its developer finds the reason, fixes it and replays everything", async () => {
    const { app, firstId } = await broken("Night bot");
    const healthy = ownReceiver();
    await using tab = await signedIn(server, app, { byKeyboard });
    await tab.see("Night bot");
    await tab.see("410");
    await tab.click("View failed deliveries", "link");
    await tab.see("failed");
    await tab.click("channel.followed", "link");
    await tab.see("Failed: there are no further automatic attempts.");
    await tab.see("Response 410");
    await tab.see("moved");
    await tab.click("Webhook", "link");
    await tab.fill("Webhook URL", healthy.url);
    await tab.click("Save");
    await tab.see("Saved.");
    // A new URL is enabled at once, and pending deliveries are sent to it.
    await healthy.arrived(1);
    await tab.click("Overview", "link");
    await tab.see("1 event was missed");
    await tab.click("Send it again");
    await tab.click("Count");
    await tab.see("1 delivery would be sent again.");
    await tab.click("Send 1 again");
    await tab.see("Replay completed");
    await healthy.arrived(2);
    expect(ids(healthy.received)).toContain(firstId);
    await tab.click("Done");
    await tab.see("delivered");
    await until(async () => !(await tab.text()).includes("was missed"));
  });
});

describe.skipIf(chromium === null)("an endpoint breaks", () => {
  test("by the keyboard alone, the operator fixes it on the developer's behalf and replays everything", async () => {
    const { firstId } = await broken("Day bot");
    const healthy = ownReceiver();
    await using tab = await signedIn(server, operator, { byKeyboard: true });
    await tab.see("An endpoint is disabled");
    await tab.see("Day bot");
    await tab.click("View and enable", "link");
    await tab.see("The endpoint is disabled: it answered 410.");
    await tab.fill("Webhook URL", healthy.url);
    await tab.click("Save");
    await healthy.arrived(1);
    await tab.see("The endpoint accepts deliveries.");
    await tab.click("View deliveries", "link");
    await tab.click("Replay a range");
    await tab.click("Count");
    await tab.click("Send 1 again");
    await tab.see("Replay completed");
    await healthy.arrived(2);
    expect(ids(healthy.received)).toContain(firstId);
  });

  test("failed attempts are shown while the delivery is still retried", async () => {
    const receiver = ownReceiver(() => new Response("busy", { status: 500 }));
    const app = await server.application({ name: "Busy bot", webhook_url: receiver.url });
    await subscribe(server, app, ["channel.followed"]);
    await server.admin("POST", "/admin/v1/events", event("channel.followed"));
    await until(async () => {
      const answer = await server.admin("GET", `/admin/v1/applications/${app.id}/endpoint`);
      return (await answer.text()).includes('"failing"');
    });
    await using tab = await signedIn(server, app);
    await tab.click("View failed deliveries", "link");
    await tab.click("channel.followed", "link");
    await tab.see("Response 500");
  });

  test("a delivery shows where it went and what was answered, and its endpoint is tried at a click", async () => {
    let isMended = false;
    const moved = () =>
      new Response("moved", { status: 301, headers: { location: "https://www.bot.example/" } });
    const receiver = ownReceiver(() => (isMended ? new Response(null, { status: 204 }) : moved()));
    const app = await server.application({ name: "Moved bot", webhook_url: receiver.url });
    await subscribe(server, app, ["channel.followed"]);
    // After the fifth failure nothing is sent for a while.
    for (let i = 0; i < 6; i++) await server.admin("POST", "/admin/v1/events", event("channel.followed"));
    await receiver.arrived(5);
    await using tab = await signedIn(server, app);
    await tab.see("Next attempt: in");
    await tab.click("View failed deliveries", "link");
    expect(await tab.page.$eval("select", (one) => (one as { value?: string }).value)).toBe("failing");
    await tab.click("channel.followed", "link");
    await tab.see("Response 301");
    for (const text of [
      `POST ${receiver.url}`,
      "location: https://www.bot.example/",
      "webhook-signature: v1,",
    ])
      await tab.see(text);
    // On a slow machine, the sixth one has been tried meanwhile.
    await server.admin("POST", "/admin/v1/events", event("channel.followed"));
    await tab.go("/deliveries?status=pending");
    await tab.see("not attempted yet");
    await tab.click("channel.followed", "link");
    await tab.see("Request, not sent yet");
    await tab.see("First attempt: in");
    await tab.see('"type": "channel.followed"');
    await tab.click("Overview", "link");
    isMended = true;
    await tab.click("Try now");
    await tab.see("The endpoint accepts deliveries.");
  });

  test("the webhook URL is changed where the advice leads, and removed only after a question", async () => {
    const receiver = ownReceiver(() => new Response(null, { status: 410 }));
    const app = await server.application({ name: "Gone bot", webhook_url: receiver.url });
    await subscribe(server, app, ["channel.followed"]);
    await server.admin("POST", "/admin/v1/events", event("channel.followed"));
    const stored = async () =>
      (
        await json<{ webhook_url: string | null }>(
          await server.admin("GET", `/admin/v1/applications/${app.id}`),
        )
      ).webhook_url;
    await using tab = await signedIn(server, app);
    const isFocused = 'document.activeElement?.name === "webhook_url"';
    // From the overview, and once more from the page that has the form.
    for (const from of ["", "/webhook"]) {
      await tab.go(from);
      await tab.click("Change the webhook URL", "link");
      await tab.until(isFocused);
      expect(tab.page.url()).toEndWith("/portal/webhook");
    }
    await tab.page.keyboard.down("Control");
    await tab.press("a");
    await tab.page.keyboard.up("Control");
    await tab.press("Delete");
    await tab.click("Save");
    await tab.see("Remove the webhook URL?");
    await tab.clickInDialog("Cancel");
    await tab.gone("Remove the webhook URL?");
    expect(await stored()).toBe(receiver.url);
    await tab.click("Save");
    await tab.clickInDialog("Remove it");
    await tab.see("There is no webhook URL");
    expect(await stored()).toBeNull();
  });
});
