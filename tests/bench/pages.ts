/*
 * The budgets of the pages: bun tests/bench/pages.ts. Each page of portal and console is loaded with an empty cache and
 * with what the browser keeps; it fails where one is larger, or takes longer until it can be used.
 */
import { chromium } from "../support/chromium.ts";
import { operator, signedIn } from "../support/pages.ts";
import { startServer } from "../support/server.ts";

const budget = { bytes: 150_000, readyMs: 300 };
const loads = 9;

const places = {
  portal: ["", "/deliveries", "/subscriptions", "/test", "/webhook", "/event-types"],
  console: [
    "",
    "/traffic",
    "/applications",
    "/deliveries",
    "/subscriptions",
    "/users",
    "/categories",
    "/event-types",
    "/keys",
  ],
};

/** When the heading of the page was there, in milliseconds after the navigation. */
const untilReady = `new Promise((resolve) => {
  const look = () => document.querySelector("main h1") ? resolve(performance.now()) : requestAnimationFrame(look);
  look();
})`;

if (chromium === null) process.exit(1);
await using server = await startServer({ args: ["--portal"] });
const application = await server.application({ name: "Budget" });
let isWithin = true;
for (const kind of ["portal", "console"] as const) {
  const tab = await signedIn(server, kind === "console" ? operator : application);
  for (const path of places[kind]) {
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
    const fits = firstBytes <= budget.bytes && readyMs <= budget.readyMs;
    isWithin &&= fits;
    const place = `${kind}${path}`.padEnd(24);
    console.log(
      `${place} ${(firstBytes / 1_000).toFixed(1).padStart(6)} kB  + ${(firstData / 1_000).toFixed(1).padStart(5)} kB of data  ${readyMs.toFixed(0).padStart(4)} ms  ${fits ? "" : "over budget"}`,
    );
  }
  await tab.page.close();
}
console.log(
  `budget: ${budget.bytes / 1_000} kB with an empty cache, ${budget.readyMs} ms to the heading (median of ${loads})`,
);
process.exitCode = isWithin ? 0 : 1;
await server.stop();
process.exit();
