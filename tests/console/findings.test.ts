import { describe, expect, test } from "bun:test";
import { chmodSync } from "node:fs";
import { join } from "node:path";
import { minute } from "../../src/domain/time.ts";
import { chromium } from "../support/chromium.ts";
import { operator, signedIn } from "../support/pages.ts";
import { Clock, isOnPostgres, testServer } from "../support/server.ts";

const clock = new Clock(Date.now());
const server = await testServer({ clock, args: ["--public-url", "http://api.example.com"] });

describe.skipIf(chromium === null)("the overview of the console", () => {
  test("shows a finding, and leads to where it is mended", async () => {
    await using tab = await signedIn(server, operator);
    await tab.see("http://api.example.com is not encrypted: tokens can be read on the way.");
    await tab.see("Put TLS in front of it: https.");
    await tab.click("See the settings", "link");
    await tab.see("public-url");
    expect(tab.page.url()).toEndWith("/console/settings?changed=1");
  });

  test.skipIf(isOnPostgres)("shows one that comes while it is open", async () => {
    await using tab = await signedIn(server, operator);
    await tab.see("is not encrypted");
    expect(await tab.text()).not.toContain("onair.db");
    chmodSync(join(server.data, "onair.db"), 0o644);
    clock.advance(minute);
    await tab.see("onair.db holds secrets and is open to others (mode 0644).");
    await tab.see(`chmod 600 ${join(server.data, "onair.db")}`);
    await tab.click("Make a backup first", "link");
    await tab.see("Make a backup");
  });
});
