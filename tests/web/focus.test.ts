import { beforeAll, describe, expect, test } from "bun:test";
import { chromium } from "../support/chromium.ts";
import { operator, type SignIn, signedIn, type Tab } from "../support/pages.ts";
import { subscribe } from "../support/publishing.ts";
import { testServer } from "../support/server.ts";

const server = await testServer({ args: ["--portal"] });
let app: SignIn;

beforeAll(async () => {
  await server.load("users", [{ id: 1001, username: "luna_bytes" }]);
  const subscriber = await server.application({ webhook_url: "http://127.0.0.1:9/hook" });
  await subscribe(server, subscriber, ["channel.followed", "kicks.gifted", "chat.message.sent"]);
  app = subscriber;
  for (const name of ["robot one", "robot two", "robot three"])
    await server.admin("POST", "/admin/v1/keys", { name, role: "reader" });
  const type = { version: 1, description: "A raid.", schema: { type: "object" }, example: {} };
  for (const name of ["raid.begun", "raid.ended"])
    await server.admin("PUT", `/admin/v1/event-types/${name}`, type);
});

/** The list's buttons with this name, each with its row. */
const buttons = ({ page }: Tab, verb: string) =>
  page.$$eval(
    "main :is(table, details) button",
    (found, verb) => found.map(({ textContent }) => textContent).filter((text) => text.startsWith(verb)),
    verb,
  );

/** Waits until the element with this name has the focus. */
const isFocused = (tab: Tab, text: string) =>
  tab.until(`document.activeElement.textContent === ${JSON.stringify(text)}`);

const lists = [
  ["portal", "/subscriptions", "Delete"],
  ["console", "/keys", "Revoke"],
  ["console", "/event-types?name=raid", "Delete"],
] as const;

describe.skipIf(chromium === null)("after a row was deleted", () => {
  test.each(lists)(
    "in the %s, at %s: the focus moves to the next row's %s, then to the previous row's, and finally to the heading",
    async (kind, path, verb) => {
      await using tab = await signedIn(server, kind === "console" ? operator : app, { path });
      // An event type shows its buttons only when it is expanded.
      const open = `document.querySelectorAll("main details").forEach((one) => { one.open = true; })`;
      await tab.until(
        `(${open}, [...document.querySelectorAll("main button")].filter((one) => one.textContent.startsWith("${verb}")).length > 1)`,
      );
      // First a row in the middle, so that there are rows before and after it.
      for (let names = await buttons(tab, verb); names.length > 0; ) {
        const at = names.length > 2 ? 1 : names.length - 1;
        await tab.click(names[at] ?? "");
        await tab.clickInDialog(verb);
        await tab.until(
          `![...document.querySelectorAll("main button")].some((one) => one.textContent === ${JSON.stringify(names[at])})`,
        );
        names = names.toSpliced(at, 1);
        const next = names[at] ?? names[at - 1];
        if (next === undefined) await tab.until('document.activeElement.matches("main h1")');
        else await isFocused(tab, next);
        expect(await buttons(tab, verb)).toEqual(names);
      }
    },
  );
});
