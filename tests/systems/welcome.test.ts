import { describe, expect, test } from "bun:test";
import type { WelcomeFacts } from "../../src/web/session.ts";
import { chromium } from "../support/chromium.ts";
import { type Tab, violations, welcomePage } from "../support/pages.ts";
import { ownServer } from "../support/server.ts";

const facts: WelcomeFacts = {
  public_url: "http://127.0.0.1:1",
  admin_url: "http://127.0.0.1:2",
  receiver_url: "http://127.0.0.1:3/onair-dev",
  webhook_url: "http://127.0.0.1:3/onair-dev",
  sign_in_url: "http://127.0.0.1:4/",
  has_portal: true,
  secrets: {
    admin_key: "onair_admin_x",
    client_id: "01KATHZX5M9S3E6R8B2D4F7G1H",
    client_secret: "onair_cs_x",
    access_token: "onair_at_x",
    webhook_secret: "whsec_x",
  },
  query: "fox",
  users: [{ id: 1001, username: "luna", display_name: "Luna <b>", is_live: true }],
  inbox: [],
};
const welcome = { facts: async () => facts, onInbox() {} };
const page = { "onair-page": "http", "sec-fetch-site": "same-origin" };

describe("the first page of onair dev", () => {
  test("answers only its own requests, and under no host name that another site can use", async () => {
    const server = await ownServer({ welcome });
    const ask = (headers: Record<string, string>) => fetch(`${server.publicUrl}/welcome/facts`, { headers });
    expect(await (await ask(page)).json()).toEqual(facts);
    expect((await ask({})).status).toBe(404);
    expect((await ask({ ...page, "sec-fetch-site": "cross-site" })).status).toBe(404);
    expect((await ask({ ...page, host: "rebound.example" })).status).toBe(404);
  });

  test("sends no secret to another machine", async () => {
    const server = await ownServer({
      welcome,
      args: ["--trusted-proxies", "127.0.0.1"],
    });
    const headers = { ...page, "x-forwarded-for": "192.0.2.7" };
    const answer = await fetch(`${server.publicUrl}/welcome/facts`, { headers });
    expect(await answer.json()).toMatchObject({ public_url: facts.public_url, secrets: null });
  });

  test.each(["x-forwarded-for", "forwarded"])(
    "sends no secret through a tunnel that is visible by its headers: %s",
    async (name) => {
      const server = await ownServer({ welcome });
      const headers = { ...page, [name]: name === "forwarded" ? "for=192.0.2.7" : "192.0.2.7" };
      const answer = await fetch(`${server.publicUrl}/welcome/facts`, { headers });
      expect(await answer.json()).toMatchObject({ public_url: facts.public_url, secrets: null });
    },
  );

  test("does not exist in production", async () => {
    const server = await ownServer();
    expect((await fetch(server.publicUrl)).status).toBe(404);
    expect((await fetch(`${server.publicUrl}/welcome/facts`, { headers: page })).status).toBe(404);
  });

  test.skipIf(chromium === null)("shows deliveries live", async () => {
    let shown = facts;
    let hasCome = () => {};
    const onInbox = (listener: () => void) => {
      hasCome = listener;
    };
    const server = await ownServer({ welcome: { facts: async () => shown, onInbox } });
    await using tab: Tab = await welcomePage(server);
    await tab.see("Nothing has arrived yet");
    await tab.see("Luna <b>");
    const text = "luna: <img src=x onerror=alert(1)>";
    const entry = {
      id: "1",
      at: "2026-01-14T16:08:06.123Z",
      is_verified: true,
      type: "channel.followed",
      text,
      attempt: 1,
    };
    shown = { ...facts, inbox: [entry] };
    hasCome();
    await tab.see(text);
    await tab.see("verified");
    expect(await violations(tab)).toEqual([]);
    await tab.click("Use dark colours");
    expect(await violations(tab)).toEqual([]);
    await tab.page.setViewport({ width: 390, height: 844 });
    const beyond = await tab.page.$eval("html", ({ scrollWidth, clientWidth }) => scrollWidth - clientWidth);
    expect(beyond).toBe(0);
    expect(await tab.text()).not.toContain("Deliveries arrive here only");
    shown = { ...facts, webhook_url: "http://127.0.0.1:3000/webhook" };
    hasCome();
    await tab.see("The webhook URL of the Dev app is now http://127.0.0.1:3000/webhook.");
    expect(await violations(tab)).toEqual([]);
  });
});
