/*
 * The budgets of the pages: bun tests/bench/pages.ts. Each page of portal and console is loaded, with its data, with an
 * empty cache and with what the browser keeps; it fails where one is larger, or takes longer until it can be used. Then ten thousand
 * deliveries are scrolled through: how many elements the page has, and how long scrolling holds the browser up. At last a
 * thousand events a second are looked at live.
 */
import { chromium } from "../support/chromium.ts";
import { consolePages } from "../support/console-pages.ts";
import { operator, signedIn } from "../support/pages.ts";
import { event, publishAll, subscribe } from "../support/publishing.ts";
import { Receiver } from "../support/receiver.ts";
import { json, startServer } from "../support/server.ts";

const budget = { bytes: 150_000, readyMs: 300 };
const loads = 9;

/** Keeps the longest task of the page in `longestMs`. */
const watchingTasks = `new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) longestMs = Math.max(longestMs, Math.round(duration));
    }).observe({ type: "longtask" });`;

/** When the heading of the page was there, in milliseconds after the navigation. */
const untilReady = `new Promise((resolve) => {
  const look = () => document.querySelector("main h1") ? resolve(performance.now()) : requestAnimationFrame(look);
  look();
})`;

if (chromium === null) process.exit(1);
await using server = await startServer({ engineThread: true, args: ["--portal"] });
await using answering = new Receiver();
const application = await server.application({ name: "Budget", webhook_url: answering.url });
const delivery = await oneDelivery();
let isWithin = true;
for (const kind of ["portal", "console"] as const) {
  const tab = await signedIn(server, kind === "console" ? operator : application);
  for (const page of consolePages[kind]) {
    const path = page.replace(":delivery", delivery).replace(":application", application.id);
    const times: number[] = [];
    let bytes = 0;
    let dataBytes = 0;
    const data = new Set<string>();
    // Ends what the page before still loads.
    await tab.page.goto("about:blank");
    const session = await tab.page.createCDPSession();
    await session.send("Network.enable");
    session.on("Network.requestWillBeSent", ({ requestId, request }) => {
      if (/\/(?:admin|public)\/v1\//.test(request.url)) data.add(requestId);
    });
    session.on("Network.loadingFinished", ({ requestId, encodedDataLength }) => {
      if (data.has(requestId)) dataBytes += encodedDataLength;
      else bytes += encodedDataLength;
    });
    await session.send("Network.clearBrowserCache");
    await tab.go(path);
    await tab.page.waitForNetworkIdle({ idleTime: 200, timeout: 5_000 }).catch(() => {});
    const [firstBytes, firstData] = [bytes, dataBytes];
    await session.detach();
    for (let i = 0; i < loads; i++) {
      await tab.page.goto(tab.base + path, { waitUntil: "domcontentloaded" });
      times.push(Number(await tab.page.evaluate(untilReady)));
    }
    const readyMs = times.sort((a, b) => a - b)[Math.floor(loads / 2)] ?? 0;
    const fits = firstBytes + firstData <= budget.bytes && readyMs <= budget.readyMs;
    isWithin &&= fits;
    const place = `${kind}${page}`.padEnd(34);
    console.log(
      `${place} ${(firstBytes / 1_000).toFixed(1).padStart(6)} kB  + ${(firstData / 1_000).toFixed(1).padStart(5)} kB of data  ${readyMs.toFixed(0).padStart(4)} ms  ${fits ? "" : "over budget"}`,
    );
  }
  await tab.page.close();
}
const list = await longList();
console.log(
  `${list.rows} rows: ${list.elements} elements; scrolling: ${list.frames} frames, the longest task ${list.longestMs} ms`,
);
const live = await liveList();
console.log(
  `${live.perSecond} events/s live: ${live.framesPerSecond} frames/s, the longest task ${live.longestMs} ms${live.isSample ? ", said to be a sample" : ""}`,
);
console.log(
  `budget: ${budget.bytes / 1_000} kB with an empty cache, ${budget.readyMs} ms to the heading (median of ${loads})`,
);
process.exitCode = isWithin ? 0 : 1;
await server.stop();
process.exit();

/** Publishes one event, and gives the id of its delivery. */
async function oneDelivery(): Promise<string> {
  await server.load("users", [{ id: 1001, username: "luna_bytes" }]);
  await subscribe(server, application, ["channel.followed"]);
  await server.admin("POST", "/admin/v1/events", event("channel.followed"));
  await answering.arrived(1);
  const { data } = await json<{ data: { id: string }[] }>(await server.admin("GET", "/admin/v1/deliveries"));
  return data[0]?.id ?? "";
}

/** Loads a list of ten thousand, and scrolls through it from its end to its beginning. */
async function longList() {
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
  return { rows, ...scrolled };
}

/** Publishes a thousand events a second for some seconds, while the live list of an operator shows them. */
async function liveList() {
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
  return { perSecond, ...(await watched) };
}
