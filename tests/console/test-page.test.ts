import { describe, expect, test } from "bun:test";
import { chromium } from "../support/chromium.ts";
import { signedIn } from "../support/pages.ts";
import { ownReceiver } from "../support/receiver.ts";
import { testServer } from "../support/server.ts";

const server = await testServer({ args: ["--portal"] });

/** A receiver that answers when it is told to, called by a name. */
function heldReceiver() {
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const receiver = ownReceiver(() => held.then(() => new Response("thanks", { status: 200 })));
  const { port } = new URL(receiver.url);
  return { receiver, url: `http://localhost:${port}/webhook`, release };
}

describe.skipIf(chromium === null)("the page of a test", () => {
  test("shows each stage while the receiver has not answered, and the whole exchange then", async () => {
    const { receiver, url, release } = heldReceiver();
    await using tab = await signedIn(server, await server.application({ webhook_url: url }));
    await tab.click("Test", "link");
    await tab.see("Nothing was sent yet");
    await tab.click("Send the sample");
    await tab.see("Waiting for the answer");
    const text = await tab.text();
    for (const shown of ["Host name resolved", "Connected", "Request sent", `POST ${url}`])
      expect(text).toContain(shown);
    expect(text).not.toMatch(/It arrived|Answer begun/);
    expect(receiver.received.length).toBe(1);
    release();
    await tab.see("It arrived in");
    await tab.see("Answer 200");
    await tab.see("thanks");
    expect(await tab.text()).not.toContain("Under way");
  });

  test("says what the receiver did wrong", async () => {
    const receiver = ownReceiver(() => new Response("no such hook", { status: 404 }));
    await using tab = await signedIn(server, await server.application({ webhook_url: receiver.url }));
    await tab.click("Test", "link");
    await tab.click("Send the sample");
    await tab.see("It would not have been delivered.");
    await tab.see("is the path of the webhook URL right?");
  });

  test("shows why nothing can be sent", async () => {
    const app = await server.application({ webhook_url: "http://127.0.0.1:9/hook" });
    await using tab = await signedIn(server, app);
    await tab.click("Test", "link");
    await tab.see("Nothing was sent yet");
    await server.admin("PATCH", `/admin/v1/applications/${app.id}`, { webhook_url: null });
    await tab.click("Send the sample");
    await tab.see("no webhook URL");
  });
});
