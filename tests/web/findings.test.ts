import { describe, expect, test } from "bun:test";
import { chmodSync } from "node:fs";
import { join } from "node:path";
import { minute } from "../../src/domain/time.ts";
import { chromium } from "../support/chromium.ts";
import { operator, signedIn } from "../support/pages.ts";
import { event, publish, publishAll, subscribe } from "../support/publishing.ts";
import { ownReceiver } from "../support/receiver.ts";
import { Clock, isOnPostgres, json, ownServer, testServer, user } from "../support/server.ts";
import { until } from "../support/until.ts";

const clock = new Clock(Date.now());
const server = await testServer({ clock, args: ["--public-url", "http://api.example.com"] });

describe.skipIf(chromium === null)("the overview of the console", () => {
  test("shows a finding, and links to the page where it can be fixed", async () => {
    await using tab = await signedIn(server, operator);
    await tab.see("http://api.example.com is not encrypted: tokens can be read on the network.");
    await tab.see("Use https: set --tls-cert, or put a TLS proxy in front.");
    await tab.click("View the settings", "link");
    await tab.see("public-url");
    expect(tab.page.url()).toEndWith("/console/settings?changed=1");
  });

  test("reports a delivery that has waited for long, however many are newer, but not one that has just begun to wait", async () => {
    const receiver = ownReceiver(() => new Response(null, { status: 500 }));
    const past = new Clock(Date.now() - 20 * minute);
    const own = await ownServer({ clock: past });
    const app = await own.application({ webhook_url: receiver.url });
    await own.load("users", [user(1001, "luna_bytes")]);
    await subscribe(own, app, ["channel.followed"]);
    await publish(own, event("channel.followed"));
    const warning = "A delivery has been pending since";
    await using then = await signedIn(own, operator);
    await then.page.evaluateOnNewDocument(
      `{ const now = Date.now; Date.now = () => now() - ${20 * minute}; }`,
    );
    await then.go("");
    await then.see("An endpoint is failing");
    expect(await then.text()).not.toContain(warning);
    past.advance(20 * minute);
    await publishAll(
      own,
      Array.from({ length: 120 }, () => event("channel.followed")),
    );
    await using now = await signedIn(own, operator);
    await now.see(`${warning} 20 min. ago`);
    await now.click("View pending deliveries", "link");
    await now.until('location.search === "?status=pending"');
    await now.see("channel.followed");
  });

  test("counts pending deliveries and shows the age of the oldest, however many were delivered since", async () => {
    const [bad, good] = [500, 204].map((status) => ownReceiver(() => new Response(null, { status })));
    const past = new Clock(Date.now() - 20 * minute);
    const own = await ownServer({ clock: past });
    const failing = await own.application({ webhook_url: bad?.url ?? "" });
    const well = await own.application({ webhook_url: good?.url ?? "" });
    await own.load("users", [user(1001, "luna_bytes")]);
    await subscribe(own, failing, ["channel.followed"]);
    await publish(own, event("channel.followed"));
    await subscribe(own, well, ["channel.subscription.gifts"]);
    past.advance(20 * minute);
    // More than one request for deliveries examines.
    await publishAll(
      own,
      Array.from({ length: 2_100 }, () => event("channel.subscription.gifts")),
    );
    await until(async () => {
      const { pending } = await json<{ pending: number }>(await own.admin("GET", "/admin/v1/backlog"));
      return pending === 1;
    });
    await using tab = await signedIn(own, operator);
    await tab.see("A delivery has been pending since 20 min. ago");
    await tab.see("1\nPending deliveries");
  });

  test.skipIf(isOnPostgres)("shows a new finding while it is open", async () => {
    await using tab = await signedIn(server, operator);
    await tab.see("is not encrypted");
    expect(await tab.text()).not.toContain("onair.db");
    chmodSync(join(server.data, "onair.db"), 0o644);
    clock.advance(minute);
    await tab.see("onair.db holds secrets, and other users can read it (mode 0644).");
    await tab.see(`chmod 600 ${join(server.data, "onair.db")}`);
    await tab.click("Create a backup first", "link");
    await tab.see("Create backup");
  });
});
