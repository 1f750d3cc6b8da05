import { beforeAll, describe, expect, test } from "bun:test";
import type { Protocol } from "puppeteer-core";
import { chromium } from "../support/chromium.ts";
import { consolePages, operator, signedIn, type Tab } from "../support/pages.ts";
import { event, publish, publishAll, subscribe } from "../support/publishing.ts";
import { testReceiver } from "../support/receiver.ts";
import { json, type TestApplication, testServer } from "../support/server.ts";
import { until } from "../support/until.ts";

/*
 * The pages as a screen reader presents them, according to Chromium's accessibility tree.
 */

const server = await testServer({ args: ["--portal"] });
const receiver = testReceiver(() => new Response("busy", { status: 500 }));
const healthy = testReceiver();
let app: TestApplication;
let delivery = "";

beforeAll(async () => {
  await server.load("users", [
    { id: 1001, username: "luna_bytes", display_name: "Luna" },
    { id: 1002, username: "luna_two", display_name: "Luna Two" },
  ]);
  await server.load(
    "categories",
    ["Chess", "Go"].map((name, i) => ({ id: i + 1, name, slug: name.toLowerCase() })),
  );
  await server.load("channels", [{ id: 70, user_id: 1001, name: "Luna", slug: "luna" }]);
  await server.load("livestreams", [{ channel_id: 70, category_id: 1, viewers: 12 }]);
  app = await server.application({ name: "Night bot", webhook_url: receiver.url });
  const other = await server.application({ name: "Day bot", webhook_url: receiver.url });
  for (const name of ["robot", "person"])
    await server.admin("POST", "/admin/v1/keys", { name, role: "reader" });
  const type = { version: 1, description: "A raid.", schema: { type: "object" }, example: {} };
  for (const name of ["raid.started", "raid.ended"])
    await server.admin("PUT", `/admin/v1/event-types/${name}`, type);
  await subscribe(server, app, ["channel.followed", "kicks.gifted"]);
  await subscribe(server, other, ["channel.followed"]);
  await publish(server, event("channel.followed"));
  await receiver.arrived(2);
  const path = `/admin/v1/deliveries?application_id=${app.id}`;
  const { data } = await json<{ data: { id: string }[] }>(await server.admin("GET", path));
  delivery = data[0]?.id ?? "";
});

type AXNode = Protocol.Accessibility.AXNode;
const roleOf = ({ role }: AXNode): string => role?.value ?? "";
const nameOf = ({ name }: AXNode): string => name?.value ?? "";
const propertyOf = ({ properties = [] }: AXNode, name: string): unknown =>
  properties.find((one) => one.name === name)?.value.value;

/** The nodes of the page's accessibility tree, without ignored ones. */
async function heard({ page }: Tab): Promise<AXNode[]> {
  const session = await page.createCDPSession();
  const { nodes } = await session.send("Accessibility.getFullAXTree");
  await session.detach();
  return nodes.filter(({ ignored }) => !ignored);
}

const named = [
  "button",
  "link",
  "textbox",
  "combobox",
  "checkbox",
  "table",
  "dialog",
  "progressbar",
  "tabpanel",
  "form",
];

/** Problems of the page for users of screen readers: unusable elements and repeated announcements. */
async function mistakes(tab: Tab): Promise<string[]> {
  const nodes = await heard(tab);
  const byId = new Map(nodes.map((node) => [node.nodeId, node]));
  const within = (node: AXNode): AXNode[] =>
    (node.childIds ?? []).flatMap((id) => byId.get(id) ?? []).flatMap((child) => [child, ...within(child)]);
  const nameless = nodes.filter((node) => named.includes(roleOf(node)) && nameOf(node).trim() === "");
  const own = (name: string) => name !== "" && !name.startsWith("Show local date");
  const buttons = nodes
    .filter((node) => roleOf(node) === "button")
    .map(nameOf)
    .filter(own);
  const headers = nodes
    .filter((node) => roleOf(node) === "table")
    .flatMap((table) => {
      const count = within(table).filter(
        (node) => roleOf(node) === "columnheader" && nameOf(node) !== "",
      ).length;
      return count > 1 ? [] : `the table "${nameOf(table)}" has ${count} headers`;
    });
  const inHeadings = nodes
    .filter((node) => roleOf(node) === "heading")
    .flatMap((heading) => within(heading).filter((node) => ["checkbox", "button"].includes(roleOf(node))));
  const regions = nodes.filter((node) => propertyOf(node, "live") !== undefined);
  return [
    ...nameless.map((node) => `a ${roleOf(node)} has no name`),
    ...buttons
      .filter((name, i) => buttons.indexOf(name) < i)
      .map((name) => `two buttons are called "${name}"`),
    ...headers,
    ...inHeadings.map((node) => `a ${roleOf(node)} stands in a heading: ${nameOf(node)}`),
    ...regions
      .filter((node) => propertyOf(node, "live") === "assertive")
      .map((node) => `interrupts: ${nameOf(node)}`),
    // Relative times change every second.
    ...regions.flatMap((region) =>
      within(region)
        .filter((node) => roleOf(node) === "time")
        .map(() => "a time is read again and again"),
    ),
  ];
}

const focused = (tab: Tab) => tab.page.evaluate("document.activeElement.textContent");

describe.skipIf(chromium === null).each(["portal", "console"] as const)(
  "a screen reader user of the %s",
  (kind) => {
    const who = () => (kind === "console" ? operator : app);

    test("hears on every page its name and its controls, and no repeated announcements", async () => {
      await using tab = await signedIn(server, who());
      const titles = new Set<string>();
      for (const path of consolePages[kind]) {
        await tab.follow(path.replace(":delivery", delivery).replace(":application", app.id));
        await tab.until('!document.body.innerText.includes("Loading…")');
        // The heading has its name only once the data is loaded.
        await tab.until('document.title.startsWith(document.querySelector("main h1")?.textContent + " · ")');
        titles.add(await tab.page.title());
        expect([path, await mistakes(tab)]).toEqual([path, []]);
      }
      expect(titles.size).toBe(consolePages[kind].length);
    }, 300_000);

    test("has the focus at the heading after following a link and after going back, by which each page returns", async () => {
      await using tab = await signedIn(server, who());
      const links = await tab.page.$$eval(".nav a", (found) =>
        found.map(({ textContent }) => textContent ?? ""),
      );
      const seen: [url: string, title: string][] = [];
      for (const link of [...links.slice(1), ...links.slice(0, 1)]) {
        await tab.click(link, "link");
        await tab.until('document.activeElement.matches("main h1")');
        expect(await tab.page.title()).toStartWith(String(await focused(tab)));
        seen.push([tab.page.url(), await tab.page.title()]);
      }
      for (const [url, title] of seen.reverse().slice(1)) {
        await tab.page.goBack();
        expect(tab.page.url()).toBe(url);
        await tab.until(
          `document.activeElement.matches("main h1") && document.title === ${JSON.stringify(title)}`,
        );
      }
    });
  },
);

/** The buttons that open dialogs, with their pages. */
const dialogs = {
  portal: [
    ["", "Go to… Ctrl K"],
    ["/deliveries", "Replay a range"],
    ["/subscriptions", "Subscribe"],
    ["/subscriptions", "Delete kicks.gifted of Luna"],
  ],
  console: [
    ["/applications", "New application"],
    ["/applications/:application", "Rotate client secret"],
    ["/applications/:application", "Delete"],
    ["/users/1002", "Delete"],
    ["/keys", "New key"],
    ["/keys", "Revoke robot"],
    ["/event-types", "Register type"],
  ],
} as const;

describe.skipIf(chromium === null)("a dialog", () => {
  test.each(["portal", "console"] as const)(
    "in the %s has a name, keeps the focus, and returns it when closed",
    async (kind) => {
      await using tab = await signedIn(server, kind === "console" ? operator : app, { byKeyboard: true });
      for (const [path, button] of dialogs[kind]) {
        await tab.follow(path.replace(":application", app.id));
        await tab.click(button);
        await tab.until('document.activeElement.closest("dialog")');
        const found = (await heard(tab)).filter((node) => roleOf(node) === "dialog");
        const told = found.map((node) => [nameOf(node) !== "", propertyOf(node, "modal")]);
        expect([button, told]).toEqual([button, [[true, true]]]);
        expect([button, await mistakes(tab)]).toEqual([button, []]);
        await tab.page.evaluate("window.begun = document.activeElement");
        const places: unknown[] = [];
        do {
          await tab.press("Tab");
          // Between the last and the first element the browser itself has the focus.
          const place = `document.activeElement === window.begun ? "begun" :
            document.activeElement === document.body ? "browser" :
            document.activeElement.closest("dialog") ? "dialog" : "outside"`;
          places.push(await tab.page.evaluate(place));
        } while (places.at(-1) !== "begun" && places.length < 60);
        expect([button, places.at(-1), places.includes("outside")]).toEqual([button, "begun", false]);
        await tab.press("Escape");
        await tab.until('!document.querySelector("dialog")');
        expect(await focused(tab)).toBe(button.replace(" Ctrl K", "Ctrl K"));
      }
    },
    300_000,
  );

  test("with a secret that is shown once is not closed by Escape", async () => {
    await using tab = await signedIn(server, operator, { path: "/keys" });
    await tab.click("New key");
    await tab.fill("Name", "shown once");
    await tab.clickInDialog("Create");
    await tab.see("I have saved it");
    await tab.press("Escape", "Escape", "Escape");
    await tab.see("onair_admin_");
    await tab.click("I have saved it");
    await tab.gone("I have saved it");
  });
});

describe.skipIf(chromium === null)("announcements", () => {
  test("report the user's action; the error of a field is part of its description, shown nowhere else, and without terms of the API", async () => {
    await using tab = await signedIn(server, app);
    await tab.click("Webhook", "link");
    await tab.fill("Webhook URL", "http://127.0.0.1:1/hook?x=\u00e9#fragment");
    await tab.click("Save");
    await tab.page.waitForSelector("[role=alert]");
    await tab.see("Correct the marked fields.");
    const text = await tab.text();
    expect(text.split("must not contain a fragment").length).toBe(2);
    expect(text).not.toContain("webhook_url");
    const nodes = await heard(tab);
    const field = nodes.find((node) => nameOf(node) === "Webhook URL" && roleOf(node) === "textbox");
    expect([propertyOf(field as AXNode, "invalid"), field?.description?.value]).toEqual([
      "true",
      "The URL must not contain a fragment (#).",
    ]);
    await tab.fill("Webhook URL", receiver.url);
    await tab.click("Save");
    await tab.until('document.querySelector("[role=status].toasts").innerText.includes("Saved.")');
  });

  test("are not made for updates of a live list", async () => {
    const busy = await server.application({ name: "Busy bot", webhook_url: healthy.url });
    await subscribe(server, busy, ["channel.followed"]);
    await using tab = await signedIn(server, busy);
    for (const path of ["/deliveries?live=1", ""]) {
      await tab.go(path);
      await tab.until('!document.body.innerText.includes("Loading…")');
      await tab.page.evaluate(`window.said = [];
        new MutationObserver((changes) => {
          for (const { target } of changes) {
            const region = (target.nodeType === 1 ? target : target.parentElement).closest("[aria-live], [role=status], [role=alert]");
            if (region) window.said.push(region.innerText);
          }
        }).observe(document.body, { subtree: true, childList: true, characterData: true })`);
      const before = healthy.received.length;
      await publishAll(
        server,
        Array.from({ length: 300 }, () => event("channel.followed")),
      );
      await healthy.arrived(before + 300);
      const newest = healthy.received.at(-1)?.headers["webhook-id"];
      await until(async () =>
        (await tab.page.$$eval("main tbody a", (links) => links.map(({ href }) => href).join())).includes(
          newest ?? "",
        ),
      );
      expect([path, new Set((await tab.page.evaluate("window.said")) as string[])]).toEqual([
        path,
        new Set(),
      ]);
    }
  });
});
