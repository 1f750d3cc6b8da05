import { describe, expect, test } from "bun:test";
import { afterThisTest } from "../support/after-tests.ts";
import { chromium } from "../support/chromium.ts";
import { openPage, operator, signedIn, signIn, type Tab } from "../support/pages.ts";
import { Clock, testServer } from "../support/server.ts";
import { tcpProxy } from "../support/tcp-proxy.ts";

/** The requests of a page, and when it reopens its event stream. */

// Its clock stands still, because the page reads everything again every minute.
const server = await testServer({ args: ["--portal"], clock: new Clock(Date.now()) });
const app = await server.application({ name: "Night bot", webhook_url: "http://127.0.0.1:9/" });
const pages = {
  portal: ["", "/webhook", "/event-types"],
  console: ["", "/event-types", "/categories", `/applications/${app.id}`],
};
const streams = /\/v1\/(?:application\/)?outcomes$/;

/** The API paths that a page requests from now on. */
function asked({ page }: Tab): string[] {
  const urls: string[] = [];
  page.on("request", (request) => {
    const { pathname, search } = new URL(request.url());
    if (/\/v1\/|readyz/.test(pathname)) urls.push(pathname + search);
  });
  return urls;
}

/**
 * Collects the stream's silence timers in `silences`, for the test to run, and in `polls` those of the polling that
 * replaces a lost stream, which do not run.
 */
const holdTimers = `{
  const [begin, end, repeat] = [setTimeout, clearTimeout, setInterval];
  let last = 0;
  globalThis.silences = new Map();
  globalThis.polls = new Set();
  globalThis.setTimeout = (run, ms, ...given) => {
    if (ms === 3_000) return 0;
    if (ms !== 45_000) return begin(run, ms, ...given);
    silences.set(--last, run);
    return last;
  };
  globalThis.setInterval = (run, ms) => {
    if (ms !== 5_000) return repeat(run, ms);
    polls.add(--last);
    return last;
  };
  globalThis.clearInterval = (id) => void (polls.delete(id) || end(id));
  globalThis.clearTimeout = (id) => void (silences.delete(id) || end(id));
}`;

describe.skipIf(chromium === null).each(["portal", "console"] as const)("a page of the %s", (kind) => {
  const who = kind === "console" ? operator : app;

  test("requests everything once", async () => {
    await using first = await signedIn(server, who);
    for (const path of pages[kind]) {
      await using tab = await openPage(server, kind, { besides: first });
      await tab.page.evaluateOnNewDocument(holdTimers);
      const urls = asked(tab);
      await tab.go(path);
      // On a slow machine the wait may end early, and the test then checks less.
      await tab.page.waitForNetworkIdle({ concurrency: 1, idleTime: 1_000 });
      const more = urls.filter((url, i) => urls.indexOf(url) !== i);
      expect([path, urls.length > 1, more]).toEqual([path, true, []]);
    }
  });

  test("polls while the connection is lost, and then requests everything again, once", async () => {
    const { publicUrl, adminUrl } = server;
    const proxy = await tcpProxy(Number(new URL(kind === "console" ? adminUrl : publicUrl).port));
    afterThisTest(() => proxy.stop());
    await using tab = await openPage(server, kind, { port: proxy.port });
    await tab.page.evaluateOnNewDocument(holdTimers);
    await tab.page.goto(tab.base);
    await signIn(tab, who);
    await tab.page.waitForSelector(".shell main h1");
    await tab.page.waitForNetworkIdle({ concurrency: 1, idleTime: 1_000 });
    expect(await tab.page.evaluate("polls.size")).toBe(0);
    proxy.cut();
    await tab.see("Connection lost.");
    await tab.until("polls.size > 0");
    const urls = asked(tab);
    proxy.release();
    await tab.gone("Connection lost.");
    await tab.until("polls.size === 0");
    await tab.page.waitForNetworkIdle({ concurrency: 1, idleTime: 1_000 });
    const read = urls.filter((url) => !streams.test(url));
    const more = read.filter((url, i) => read.indexOf(url) !== i);
    expect([read.length > 1, more]).toEqual([true, []]);
  });

  test("reopens its stream after 45 seconds of silence, and misses nothing", async () => {
    const { publicUrl, adminUrl } = server;
    const proxy = await tcpProxy(Number(new URL(kind === "console" ? adminUrl : publicUrl).port));
    afterThisTest(() => proxy.stop());
    const rename = (name: string) => server.admin("PATCH", `/admin/v1/applications/${app.id}`, { name });
    await using tab = await openPage(server, kind, { port: proxy.port });
    await tab.page.evaluateOnNewDocument(holdTimers);
    const urls = asked(tab);
    const opened = () => urls.filter((url) => streams.test(url)).length;
    await tab.page.goto(tab.base);
    await signIn(tab, who);
    await tab.page.waitForSelector(".shell");
    await tab.go(kind === "console" ? `/applications/${app.id}` : "");
    await tab.until("silences.size === 1");
    // Any message restarts the timer.
    await tab.page.evaluate("globalThis.before = [...silences.keys()][0]");
    await rename(`Heard in the ${kind}`);
    await tab.see(`Heard in the ${kind}`);
    await tab.until("silences.size === 1 && !silences.has(before)");
    const before = opened();
    proxy.hold();
    await rename(`Unheard in the ${kind}`);
    const again = tab.page.waitForRequest((request) => streams.test(new URL(request.url()).pathname));
    await tab.page.evaluate("[...silences.values()][0]()");
    await again;
    expect(opened()).toBe(before + 1);
    expect(await tab.text()).toContain(`Heard in the ${kind}`);
    proxy.release();
    await tab.see(`Unheard in the ${kind}`);
  });
});
