import { beforeAll, expect, test } from "bun:test";
import { chromium } from "../support/chromium.ts";
import { operator, signedIn, type Tab } from "../support/pages.ts";
import { event, publishAll, subscribe } from "../support/publishing.ts";
import { testReceiver } from "../support/receiver.ts";
import { json, testServer } from "../support/server.ts";

/** Each event has a delivery to each of these. */
const applications = 50;
/** Two pages of the list in one request: the page shows a sample however slow the machine is. */
const eventsAtOnce = 4;
/** 1,000 deliveries a second if the machine keeps up. */
const betweenMs = 200;
const longList = 2_000;
/** The most rows in the document, however long the list is. */
const mostDrawn = 200;
const timeout = 60_000;
/** For a busy machine. */
const testTimeout = 300_000;

const server = await testServer();
const receiver = testReceiver();
const followed = (count: number) => Array.from({ length: count }, () => event("channel.followed"));

beforeAll(async () => {
  await server.load("users", [{ id: 1001, username: "luna_bytes" }]);
  for (let i = 0; i < applications; i++) {
    const app = await server.application({ name: `Bot ${i}`, webhook_url: receiver.url });
    await subscribe(server, app, ["channel.followed"]);
  }
});

const drawnRows = 'document.querySelectorAll("tbody tr:not(.spacer)").length';
/** A short table is in the document as a whole, and does not say how many rows it has. */
const allRows = `Number(document.querySelector("table")?.ariaRowCount ?? ${drawnRows} + 1) - 1`;

/** The number of rows of the list, and of those in the document. */
async function rows({ page }: Tab): Promise<{ all: number; drawn: number }> {
  return (await page.evaluate(`({ all: ${allRows}, drawn: ${drawnRows} })`)) as {
    all: number;
    drawn: number;
  };
}

test.skipIf(chromium === null)(
  "the live list shows a sample of a thousand deliveries a second, says so, and can be used",
  async () => {
    await using tab = await signedIn(server, operator);
    // A busy server answers with pages that are shorter than asked for.
    await tab.page.evaluateOnNewDocument(`{
      const real = fetch;
      const shortened = (url) => url.replace("limit=100", "limit=60");
      fetch = (asked, init) =>
        real(asked instanceof Request ? new Request(shortened(asked.url), asked) : asked, init);
    }`);
    await tab.go("/deliveries?live=1");
    await tab.see("No deliveries yet");
    let reads = 0;
    tab.page.on("request", (request) => {
      if (request.url().includes("/admin/v1/deliveries")) reads++;
    });
    const began = performance.now();
    let isGoingOn = true;
    const publishing = (async () => {
      while (isGoingOn) {
        const next = Bun.sleep(betweenMs);
        await publishAll(server, followed(eventsAtOnce));
        await next;
      }
    })();
    try {
      await tab.see("Too many deliveries to show them all: this is a sample.");
      await tab.until(`${allRows} > 300`, { timeout });
      // The page reads at its own pace, and renders only visible rows.
      expect(reads).toBeLessThanOrEqual((performance.now() - began) / 700 + 2);
      expect((await rows(tab)).drawn).toBeLessThanOrEqual(mostDrawn);
      await tab.choose("Live");
      await tab.gone("this is a sample");
      await tab.until('!location.search.includes("live")', { timeout });
      await tab.until('document.querySelectorAll("tbody tr").length > 10', { timeout });
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
  "thousands of deliveries are loaded while scrolling, and only visible rows are in the document",
  async () => {
    await publishAll(server, followed(longList / applications));
    await using tab = await signedIn(server, operator, { path: "/deliveries" });
    await tab.see("channel.followed");
    await tab.page.bringToFront();
    let shown = await rows(tab);
    expect(shown.all).toBeLessThanOrEqual(100);
    while (shown.all < longList) {
      // A page may be too short to need scrolling, and a reloaded list is shorter than before.
      await tab.until(`(scrollTo(0, document.documentElement.scrollHeight), ${allRows} !== ${shown.all})`, {
        timeout,
      });
      shown = await rows(tab);
      expect(shown.drawn).toBeLessThanOrEqual(mostDrawn);
    }
    // A row in the middle is the right delivery, and links to it.
    await tab.page.evaluate("scrollTo(0, document.documentElement.scrollHeight / 2)");
    const found = await tab.until(
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
    // The first row is rendered again.
    await tab.page.evaluate("scrollTo(0, 0)");
    await tab.until('document.querySelector("tbody tr")?.ariaRowIndex === "2"', { timeout });
    expect((await rows(tab)).drawn).toBeLessThanOrEqual(mostDrawn);
  },
  testTimeout,
);

/** The ids of the `count + 1` newest deliveries. */
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

test.skipIf(chromium === null)(
  "a list that is not live says how many deliveries are new, and shows them when asked",
  async () => {
    await using tab = await signedIn(server, operator, {
      path: "/deliveries?type=channel.subscription.gifts",
    });
    const app = await server.application({ name: "Gift bot", webhook_url: receiver.url });
    await subscribe(server, app, ["channel.subscription.gifts"]);
    await tab.see("No deliveries match these filters");
    await publishAll(server, [event("channel.subscription.gifts"), event("channel.subscription.gifts")]);
    await tab.see("2 new");
    expect((await rows(tab)).all).toBe(0);
    await tab.click("2 new");
    await tab.see("Gift bot");
    expect((await rows(tab)).all).toBe(2);
    await tab.gone("2 new");
  },
);
