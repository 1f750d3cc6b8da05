import { beforeAll, expect, test } from "bun:test";
import { afterTests } from "../support/after-tests.ts";
import { chromium } from "../support/chromium.ts";
import { consolePages, operator, type SignIn, signedIn, signIn, type Tab } from "../support/pages.ts";
import { event, subscribe } from "../support/publishing.ts";
import { testReceiver } from "../support/receiver.ts";
import { json, type TestApplication, testServer } from "../support/server.ts";
import { tcpProxy } from "../support/tcp-proxy.ts";

/** Every page with lost connections, ended sessions and roles. */

const server = await testServer({ args: ["--portal"] });
const receiver = testReceiver(() => new Response(null, { status: 204 }));
const proxy = {
  portal: await tcpProxy(Number(new URL(server.publicUrl).port)),
  console: await tcpProxy(Number(new URL(server.adminUrl).port)),
};
afterTests(() => {
  proxy.portal.stop();
  proxy.console.stop();
});
let app: TestApplication;
let delivery = "";

beforeAll(async () => {
  await server.load("users", [{ id: 1001, username: "luna_bytes", display_name: "Luna" }]);
  await server.load("categories", [{ id: 1, name: "Chess", slug: "chess" }]);
  app = await server.application({ name: "Night bot", webhook_url: receiver.url });
  await subscribe(server, app, ["channel.followed"]);
  const type = { version: 1, schema: { type: "object" }, example: {} };
  await server.admin("PUT", "/admin/v1/event-types/raid.started", type);
  await server.admin("POST", "/admin/v1/events", event("channel.followed"));
  await receiver.arrived(1);
  const { data } = await json<{ data: { id: string }[] }>(await server.admin("GET", "/admin/v1/deliveries"));
  delivery = data[0]?.id ?? "";
});

const placeOf = (path: string) => path.replace(":delivery", delivery).replace(":application", app.id);
const heading = (tab: Tab) => tab.page.$eval("main h1", (h1) => h1.textContent);

test.skipIf(chromium === null).each(["portal", "console"] as const)(
  "each page of the %s says that the connection is lost, recovers by itself, and continues after the session has ended",
  async (kind) => {
    const who: SignIn = kind === "console" ? operator : app;
    await using tab = await signedIn(server, who, { port: proxy[kind].port });
    for (const path of consolePages[kind]) {
      await tab.follow(placeOf(path));
      await tab.gone("Loading…");
      const place = async () => [path, tab.page.url(), await heading(tab)];
      const before = await place();
      proxy[kind].cut();
      await tab.see("Connection lost.");
      // The page still shows its data.
      expect(await place()).toEqual(before);
      proxy[kind].release();
      await tab.gone("Connection lost.");
      expect(await place()).toEqual(before);
      const ended = `fetch("/${kind}/session", { method: "DELETE", headers: { "onair-page": "http" } })`;
      await tab.page.evaluate(`${ended}.then(({ status }) => status)`);
      proxy[kind].cut();
      proxy[kind].release();
      await tab.see("Your session has ended.");
      await signIn(tab, who);
      await tab.page.waitForSelector(".shell main h1");
      await tab.see(before[2] ?? "");
      expect(tab.page.url()).toBe(before[1] ?? "");
    }
  },
  300_000,
);

test.skipIf(chromium === null)(
  "a reader sees every page, and none has a control that changes data",
  async () => {
    const name = "Only looks";
    const made = await server.admin("POST", "/admin/v1/keys", { name, role: "reader" });
    await using tab = await signedIn(server, { key: (await json<{ key: string }>(made)).key });
    const verbs =
      /^(?:New |Create |Save|Rotate|Revoke|Delete|Disable|Enable|Register|Edit|Replay|Send again|Publish)/;
    for (const path of consolePages.console) {
      await tab.follow(placeOf(path));
      await tab.gone("Loading…");
      // A row that opens is called by what it shows, such as "Published events".
      const buttons = await tab.page.$$eval("main button:not(.linklike)", (all) =>
        all.map((one) => one.textContent ?? ""),
      );
      expect([path, buttons.filter((text) => verbs.test(text))]).toEqual([path, []]);
      // None of the page's requests is refused.
      expect([path, await tab.page.$$eval("main .notice.bad [class=muted]", (all) => all.length)]).toEqual([
        path,
        0,
      ]);
      expect(await tab.text()).not.toContain("may not");
      expect([path, await tab.page.$$eval("main form", (all) => all.length)]).toEqual([path, 0]);
      const isForm = /^\/(?:publish|users\/|applications\/)/.test(path);
      expect([path, (await tab.text()).includes("Your key has the role reader")]).toEqual([path, isForm]);
    }
  },
  300_000,
);
