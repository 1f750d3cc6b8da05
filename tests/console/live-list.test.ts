import { beforeAll, expect, test } from "bun:test";
import { chromium } from "../support/chromium.ts";
import { operator, signedIn, type Tab } from "../support/pages.ts";
import { event, publishAll, subscribe } from "../support/publishing.ts";
import { testReceiver } from "../support/receiver.ts";
import { json, testServer } from "../support/server.ts";

/** Each event becomes a delivery to each of these. */
const applications = 50;
/** With a burst every 50 ms, 1,000 deliveries a second where the machine keeps up. */
const betweenMs = 50;
const longList = 10_000;
/** However long the list is. */
const mostDrawn = 200;
const timeout = 60_000;
/** For a machine that has much else to do. */
const testTimeout = 300_000;

const server = await testServer();
const receiver = testReceiver(() => new Response(null, { status: 204 }));

beforeAll(async () => {
  await server.load("users", [{ id: 1001, username: "luna_bytes" }]);
  for (let i = 0; i < applications; i++) {
    const app = await server.application({ name: `Bot ${i}`, webhook_url: receiver.url });
    await subscribe(server, app, ["channel.followed"]);
  }
});

/** The rows of the list, and how many of them are drawn. */
async function rows({ page }: Tab): Promise<{ all: number; drawn: number }> {
  return (await page.evaluate(`(() => {
    const drawn = document.querySelectorAll("tbody tr:not(.spacer)").length;
    return { all: Number(document.querySelector("table")?.ariaRowCount ?? drawn + 1) - 1, drawn };
  })()`)) as { all: number; drawn: number };
}

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
    try {
      await tab.see("More happens than can be shown: this is a sample.");
      await tab.page.waitForFunction('Number(document.querySelector("table")?.ariaRowCount) > 300', {
        timeout,
      });
      // However many arrive, the page reads them at its own pace, and draws no more than can be seen.
      expect(reads).toBeLessThanOrEqual((performance.now() - began) / 700 + 2);
      expect((await rows(tab)).drawn).toBeLessThanOrEqual(mostDrawn);
      await tab.choose("Live");
      await tab.gone("this is a sample");
      await tab.page.waitForFunction('!location.search.includes("live")', { timeout });
      await tab.page.waitForFunction('document.querySelectorAll("tbody tr").length > 10', { timeout });
      await tab.click("Keys", "link");
      await tab.see("New key");
    } finally {
      isGoingOn = false;
      await publishing;
    }
  },
  testTimeout,
);

test.skipIf(chromium === null)(
  "ten thousand deliveries are read as they are scrolled to, and no more is drawn than can be seen",
  async () => {
    const events = Array.from({ length: longList / applications }, () => event("channel.followed"));
    await publishAll(server, events);
    await using tab = await signedIn(server, operator);
    await tab.go("/deliveries");
    await tab.see("channel.followed");
    await tab.page.bringToFront();
    let shown = await rows(tab);
    expect(shown.all).toBeLessThanOrEqual(100);
    while (shown.all < longList) {
      await tab.page.evaluate("scrollTo(0, document.documentElement.scrollHeight)");
      await tab.page.waitForFunction(
        `Number(document.querySelector("table")?.ariaRowCount ?? 0) - 1 > ${shown.all}`,
        { timeout },
      );
      shown = await rows(tab);
      expect(shown.drawn).toBeLessThanOrEqual(mostDrawn);
    }
    // The last one that was read can be seen, is the right one, and can be opened.
    await tab.page.evaluate("scrollTo(0, document.documentElement.scrollHeight / 2)");
    const found = await tab.page.waitForFunction(
      `(() => {
        const isInSight = ({ top }) => top > 200 && top < innerHeight - 200;
        const row = [...document.querySelectorAll("tbody tr:not(.spacer)")].find((one) =>
          isInSight(one.getBoundingClientRect()) && Number(one.ariaRowIndex) > ${longList / 4});
        return row && [row.ariaRowIndex, row.querySelector("a").pathname];
      })()`,
      { timeout },
    );
    const [index, href] = (await found.jsonValue()) as [string, string];
    const before = await idsUpTo(Number(index) - 2);
    expect(href).toBe(`/console/deliveries/${before.at(-1)}`);
    // And what is above is drawn again.
    await tab.page.evaluate("scrollTo(0, 0)");
    await tab.page.waitForFunction('document.querySelector("tbody tr")?.ariaRowIndex === "2"', { timeout });
    expect((await rows(tab)).drawn).toBeLessThanOrEqual(mostDrawn);
  },
  testTimeout,
);

/** The ids of the newest deliveries, so many and one more. */
async function idsUpTo(count: number): Promise<string[]> {
  const ids: string[] = [];
  let cursor = "";
  while (ids.length <= count) {
    const answer = await server.admin("GET", `/admin/v1/deliveries?limit=100&cursor=${cursor}`);
    const { data, pagination } = await json<{ data: { id: string }[]; pagination: { cursor: string } }>(
      answer,
    );
    ids.push(...data.map(({ id }) => id));
    cursor = pagination.cursor;
  }
  return ids.slice(0, count + 1);
}
