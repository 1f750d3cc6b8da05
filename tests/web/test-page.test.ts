import { describe, expect, test } from "bun:test";
import { chromium } from "../support/chromium.ts";
import { signedIn } from "../support/pages.ts";
import { ownReceiver } from "../support/receiver.ts";
import { testServer } from "../support/server.ts";

const server = await testServer({ args: ["--portal"] });

/** A receiver that answers when the test lets it, under a host name. */
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
  test("shows each stage before the receiver answers, and the whole exchange afterwards", async () => {
    const { receiver, url, release } = heldReceiver();
    await using tab = await signedIn(server, await server.application({ webhook_url: url }));
    await tab.click("Test", "link");
    await tab.see("No test sent yet");
    await tab.click("Send the sample");
    await tab.see("Waiting for the response");
    const text = await tab.text();
    for (const shown of ["Host name resolved", "Connected", "Request sent", `POST ${url}`])
      expect(text).toContain(shown);
    expect(text).not.toMatch(/Delivered in|Response received/);
    expect(receiver.received.length).toBe(1);
    release();
    await tab.see("Delivered in");
    await tab.see("Response 200");
    await tab.see("thanks");
    expect(await tab.text()).not.toContain("In progress");
  });

  test("describes the receiver's mistake", async () => {
    const receiver = ownReceiver(() => new Response("no such hook", { status: 404 }));
    await using tab = await signedIn(server, await server.application({ webhook_url: receiver.url }));
    await tab.click("Test", "link");
    await tab.click("Send the sample");
    await tab.see("The event would not have been delivered.");
    await tab.see("is the path of the webhook URL right?");
  });

  test("shows why nothing can be sent", async () => {
    const app = await server.application({ webhook_url: "http://127.0.0.1:9/hook" });
    await using tab = await signedIn(server, app);
    await tab.click("Test", "link");
    await tab.see("No test sent yet");
    await server.admin("PATCH", `/admin/v1/applications/${app.id}`, { webhook_url: null });
    await tab.click("Send the sample");
    await tab.see("no webhook URL");
  });
});
