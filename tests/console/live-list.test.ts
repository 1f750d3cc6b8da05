import { beforeAll, expect, test } from "bun:test";
import { chromium } from "../support/chromium.ts";
import { operator, signedIn } from "../support/pages.ts";
import { event, subscribe } from "../support/publishing.ts";
import { testReceiver } from "../support/receiver.ts";
import { testServer } from "../support/server.ts";

/** Each event becomes a delivery to each of these. */
const applications = 50;
/** With a burst every 50 ms, 1,000 deliveries a second where the machine keeps up. */
const betweenMs = 50;

const server = await testServer();
const receiver = testReceiver(() => new Response(null, { status: 204 }));

beforeAll(async () => {
  await server.load("users", [{ id: 1001, username: "luna_bytes" }]);
  for (let i = 0; i < applications; i++) {
    const app = await server.application({ name: `Bot ${i}`, webhook_url: receiver.url });
    await subscribe(server, app, ["channel.followed"]);
  }
});

test.skipIf(chromium === null)(
  "the live list under a thousand deliveries a second shows a sample, says so, and can be used",
  async () => {
    await using tab = await signedIn(server, operator);
    await tab.go("/deliveries?live=1");
    await tab.see("Nothing was sent yet");
    let reads = 0;
    tab.page.on("request", (request) => {
      if (request.url().includes("/admin/v1/deliveries")) reads++;
    });
    const began = performance.now();
    let isGoingOn = true;
    const publishing = (async () => {
      while (isGoingOn) {
        const next = Bun.sleep(betweenMs);
        expect((await server.admin("POST", "/admin/v1/events", event("channel.followed"))).status).toBe(202);
        await next;
      }
    })();
    const rows = () => tab.page.$$eval("tbody tr", (found) => found.length);
    try {
      await tab.see("More happens than can be shown: this is a sample.");
      await tab.page.waitForFunction('document.querySelectorAll("tbody tr").length === 200');
      // However many arrive, the page reads them at its own pace, and keeps no more than it can show.
      expect(reads).toBeLessThanOrEqual((performance.now() - began) / 700 + 2);
      expect(await rows()).toBe(200);
      await tab.choose("Live");
      await tab.gone("this is a sample");
      await tab.page.waitForFunction('!location.search.includes("live")');
      await tab.page.waitForFunction('document.querySelectorAll("tbody tr").length === 50');
      await tab.click("Keys", "link");
      await tab.see("New key");
    } finally {
      isGoingOn = false;
      await publishing;
    }
  },
);
