/*
 * The size and time budgets of the pages, and the cost of scrolling through long lists: bun tests/bench/pages.ts --help
 */
import { chromium } from "../support/chromium.ts";
import { consolePages } from "../support/console-pages.ts";
import { operator, signedIn, type Tab } from "../support/pages.ts";
import { event, publishAll, subscribe } from "../support/publishing.ts";
import { Receiver } from "../support/receiver.ts";
import { json, startServer } from "../support/server.ts";
import { benchmark, type Outcome } from "./support/bench.ts";
import { BenchError } from "./support/processes.ts";
import { table } from "./support/report.ts";
import { median } from "./support/rounds.ts";

const about = `
pages   Loads each page of portal and console with its data, with an empty and with a filled browser cache. Exits with 1 if
        a page exceeds its size budget, or the median time until its heading is shown exceeds its time budget.
list    Scrolls through ten thousand deliveries, and reports the number of elements and the longest blocking of the browser.
live    Shows a thousand events a second live.
`;

const budget = { bytes: 150_000, readyMs: 300 };
const loads = 9;

await using server = await startServer({ engineThread: true, args: ["--portal"] });
await using answering = new Receiver();
const application = await server.application({ name: "Budget", webhook_url: answering.url });

/** Records the duration of the page's longest task in `longestMs`. */
const watchingTasks = `new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) longestMs = Math.max(longestMs, Math.round(duration));
    }).observe({ type: "longtask" });`;

/** Milliseconds from the navigation until the page's heading was shown. */
const untilReady = `new Promise((resolve) => {
  const look = () => document.querySelector("main h1") ? resolve(performance.now()) : requestAnimationFrame(look);
  look();
})`;

/** Loads a page once with an empty cache, and then for each measurement with the browser's cache. */
async function loadPage(tab: Tab, path: string) {
  const bytes = { page: 0, data: 0 };
  const data = new Set<string>();
  // Ends what the page before still loads.
  await tab.page.goto("about:blank");
  const session = await tab.page.createCDPSession();
  await session.send("Network.enable");
  session.on("Network.requestWillBeSent", ({ requestId, request }) => {
    if (/\/(?:admin|public)\/v1\//.test(request.url)) data.add(requestId);
  });
  session.on("Network.loadingFinished", ({ requestId, encodedDataLength }) => {
    bytes[data.has(requestId) ? "data" : "page"] += encodedDataLength;
  });
  await session.send("Network.clearBrowserCache");
  await tab.go(path);
  await tab.page.waitForNetworkIdle({ idleTime: 200, timeout: 5_000 }).catch(() => {});
  await session.detach();
  const times: number[] = [];
  for (let i = 0; i < loads; i++) {
    await tab.page.goto(tab.base + path, { waitUntil: "domcontentloaded" });
    times.push(Number(await tab.page.evaluate(untilReady)));
  }
  return { ...bytes, readyMs: median(times) };
}

async function measurePages(): Promise<Outcome> {
  const delivery = await oneDelivery();
  const measured = [];
  for (const kind of ["portal", "console"] as const) {
    const tab = await signedIn(server, kind === "console" ? operator : application);
    for (const page of consolePages[kind]) {
      const path = page.replace(":delivery", delivery).replace(":application", application.id);
      measured.push({ name: `${kind}${page}`, ...(await loadPage(tab, path)) });
    }
    await tab.page.close();
  }
  const over = measured.filter((one) => one.page + one.data > budget.bytes || one.readyMs > budget.readyMs);
  const kilobytes = (bytes: number) => `${(bytes / 1_000).toFixed(1)} kB`;
  return {
    shown: table([
      ["Page, with an empty cache", "itself", "its data", "until its heading"],
      ...measured.map((one) => [
        one.name,
        ...[one.page, one.data].map(kilobytes),
        `${one.readyMs.toFixed(0)} ms`,
      ]),
      ["budget", kilobytes(budget.bytes), "with its data", `${budget.readyMs} ms`],
    ]),
    figures: { measured },
    problems: over.map(({ name }) => `${name} is over budget`),
  };
}

/** Publishes one event and returns the id of its delivery. */
async function oneDelivery(): Promise<string> {
  await server.load("users", [{ id: 1001, username: "luna_bytes" }]);
  await subscribe(server, application, ["channel.followed"]);
  await server.admin("POST", "/admin/v1/events", event("channel.followed"));
  await answering.arrived(1);
  const { data } = await json<{ data: { id: string }[] }>(await server.admin("GET", "/admin/v1/deliveries"));
  return data[0]?.id ?? "";
}

/** Loads a list of ten thousand, and scrolls through it from its end to its beginning. */
async function longList(): Promise<Outcome> {
  const rows = 10_000;
  const applications = 50;
  await using receiver = new Receiver();
  for (let i = 0; i < applications; i++) {
    const app = await server.application({ name: `Bot ${i}`, webhook_url: receiver.url });
    await subscribe(server, app, ["channel.followed"]);
  }
  await publishAll(
    server,
    Array.from({ length: rows / applications }, () => event("channel.followed")),
  );
  const { page, base } = await signedIn(server, operator);
  await page.goto(`${base}/deliveries`);
  await page.waitForSelector("tbody tr");
  await page.bringToFront();
  const counted = `Number(document.querySelector("table")?.ariaRowCount ?? 0) - 1`;
  for (let shown = 0; shown < rows; shown = Number(await page.evaluate(counted))) {
    await page.evaluate("scrollTo(0, document.documentElement.scrollHeight)");
    await page.waitForFunction(`${counted} > ${shown}`);
  }
  const scrolled = (await page.evaluate(`new Promise((resolve) => {
    let [frames, longestMs] = [0, 0];
    ${watchingTasks}
    const step = () => {
      frames++;
      scrollBy(0, -2_000);
      if (scrollY > 0) requestAnimationFrame(step);
      else setTimeout(() => resolve({ frames, longestMs, elements: document.querySelectorAll("*").length }), 500);
    };
    step();
  })`)) as { frames: number; longestMs: number; elements: number };
  const { elements, frames, longestMs } = scrolled;
  return {
    shown: `${rows} rows: ${elements} elements; scrolling: ${frames} frames, the longest task ${longestMs} ms`,
    figures: { rows, ...scrolled },
  };
}

/** Publishes a thousand events a second for some seconds, while the live list of an operator shows them. */
async function liveList(): Promise<Outcome> {
  const [seconds, steps, perStep] = [5, 10, 100];
  const app = await server.application({ name: "Chat", delivery: "stream" });
  await subscribe(server, app, ["chat.message.sent"]);
  const { page, base } = await signedIn(server, operator);
  await page.goto(`${base}/deliveries?live=1`);
  await page.waitForSelector("tbody tr");
  await page.bringToFront();
  const watched = page.evaluate(`new Promise((resolve) => {
    let [frames, longestMs, isSample] = [0, 0, false];
    ${watchingTasks}
    const beganAt = performance.now();
    const step = (now) => {
      frames++;
      isSample ||= document.querySelector(".sample") !== null;
      if (now - beganAt < ${seconds * 1_000}) requestAnimationFrame(step);
      else resolve({ framesPerSecond: Math.round(frames / (now - beganAt) * 1_000), longestMs, isSample });
    };
    requestAnimationFrame(step);
  })`) as Promise<{ framesPerSecond: number; longestMs: number; isSample: boolean }>;
  const beganAt = performance.now();
  let published = 0;
  for (let step = 0; step < seconds * steps; step++) {
    await publishAll(
      server,
      Array.from({ length: perStep }, () => event("chat.message.sent")),
    );
    published += perStep;
    await Bun.sleep(Math.max(0, beganAt + ((step + 1) * 1_000) / steps - performance.now()));
  }
  const perSecond = Math.round((published / (performance.now() - beganAt)) * 1_000);
  const { framesPerSecond, longestMs, isSample } = await watched;
  const sample = isSample ? ", said to be a sample" : "";
  return {
    shown: `${perSecond} events/s live: ${framesPerSecond} frames/s, the longest task ${longestMs} ms${sample}`,
    figures: { perSecond, framesPerSecond, longestMs, isSample },
  };
}

const parts: Record<string, () => Promise<Outcome>> = { pages: measurePages, list: longList, live: liveList };

await benchmark({ about, parts: Object.keys(parts) }, async ({ only, measure }) => {
  if (chromium === null) throw new BenchError("This needs Chromium");
  for (const name of only) await measure(name, parts[name] as () => Promise<Outcome>);
});
