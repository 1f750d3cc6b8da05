import { describe, expect, test } from "bun:test";
import { chromium } from "../support/chromium.ts";
import { operator, signedIn, type Tab, violations } from "../support/pages.ts";
import { testServer } from "../support/server.ts";

const server = await testServer();
const { id } = await server.application({ name: "Night bot" });
await server.application({ name: "Day bot" });
const patch = (body: object) => server.admin("PATCH", `/admin/v1/applications/${id}`, body);
await patch({ webhook_url: "https://bot.example/hook?key=hunter2", rate_limit: 600 });
const user = { username: "luna_bytes", display_name: "Luna" };
await server.admin("PUT", "/admin/v1/users/1001", user);
await server.admin("PUT", "/admin/v1/users/1001", { ...user, display_name: "Luna Bytes" });

/** Waits until the list, without the options of its filters, shows one text, and not the other. */
async function listed(tab: Tab, label: string, shown: string, hidden = "\0"): Promise<void> {
  const text = `document.querySelector('table[aria-label="${label}"]')?.innerText ?? ""`;
  const [one, other] = [shown, hidden].map((words) => JSON.stringify(words));
  await tab.until(`(${text}).includes(${one}) && !(${text}).includes(${other})`);
}

/** The name of the first row with this change, which also says of what and when. */
async function rowOf(tab: Tab, change: string): Promise<string> {
  const found = await tab.until(
    `[...document.querySelectorAll("main .linklike")].map((one) => one.getAttribute("aria-label")).find((name) => name?.startsWith("${change}, "))`,
  );
  return `${await found.jsonValue()}`.replaceAll(/\s+/g, " ");
}

describe.skipIf(chromium === null)("the audit log", () => {
  test("is filtered by change, application, user and key, and the filters are in the URL", async () => {
    await using tab = await signedIn(server, operator, { path: "/audit" });
    await listed(tab, "Audit log", "Day bot");
    await tab.fill("Change", "changeApplication");
    await listed(tab, "Audit log", "Changed application", "Created application");
    expect(new URL(tab.page.url()).search).toBe("?action=changeApplication");
    await tab.go("/audit");
    await tab.fill("Application", "Night bot");
    await listed(tab, "Audit log", "Night bot", "Day bot");
    expect(new URL(tab.page.url()).search).toBe(`?application=${id}`);
    await tab.go("/audit");
    await tab.fill("User", "luna");
    await tab.see("followers");
    await tab.press("Enter");
    await tab.until('location.search === "?user=1001"');
    await listed(tab, "Audit log", "display_name Luna → Luna Bytes", "Night bot");
    await tab.go("/audit");
    await tab.fill("By key", "ONAIR_ADMIN_KEY");
    await listed(tab, "Audit log", "Day bot");
    await tab.fill("By key", "nobody");
    await tab.see("No changes match these filters");
  });

  test("opens an entry with old and new values, without secrets, by mouse and by keyboard", async () => {
    await using tab = await signedIn(server, operator, {
      path: `/audit?application=${id}&action=changeApplication`,
    });
    await tab.click(await rowOf(tab, "Changed application"));
    for (const text of ["https://bot.example/hook?key=…", "600", "none", "127.0.0.1", "changeApplication"])
      await tab.see(text);
    expect(await tab.text()).not.toContain("hunter2");
    expect(await violations(tab)).toEqual([]);
    await tab.click("All changes of this object", "link");
    await listed(tab, "Audit log", "Created application");
    await tab.until("!document.querySelector('dialog[open]')");

    await using keyboard = await signedIn(server, operator, {
      byKeyboard: true,
      path: `/audit?application=${id}&action=changeApplication`,
    });
    await keyboard.click(await rowOf(keyboard, "Changed application"));
    await keyboard.see("https://bot.example/hook?key=…");
    await keyboard.press("Escape");
    await keyboard.gone("All changes of this object");
  });

  test("hides nothing on a phone or on a wide screen", async () => {
    await using tab = await signedIn(server, operator, { path: "/audit?user=1001" });
    for (const width of [390, 1024, 1440]) {
      await tab.page.setViewport({ width, height: 900 });
      for (const text of [
        "Saved user",
        "luna_bytes",
        "display_name Luna → Luna Bytes",
        "ONAIR_ADMIN_KEY",
        "127.0.0.1",
      ])
        await tab.see(text);
    }
  });

  test("is the history on the pages of an application and of a user", async () => {
    await using tab = await signedIn(server, operator, { path: `/applications/${id}` });
    await listed(tab, "History", "rate_limit 600", "Day bot");
    await tab.go("/users/1001");
    await listed(tab, "History", "display_name Luna → Luna Bytes");
  });
});
