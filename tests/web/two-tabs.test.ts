import { beforeEach, describe, expect, test } from "bun:test";
import { chromium } from "../support/chromium.ts";
import { openPage, operator, signedIn, type Tab } from "../support/pages.ts";
import { event, subscribe } from "../support/publishing.ts";
import { testReceiver } from "../support/receiver.ts";
import {
  isOnPostgres,
  json,
  ownServer,
  type TestApplication,
  type TestServer,
  user,
} from "../support/server.ts";
import { until } from "../support/until.ts";

const receiver = testReceiver();
let server: TestServer;
let app: TestApplication;
let delivery = "";

// A retried test starts a new server, because its changes stay in the old one.
beforeEach(async () => {
  server = await ownServer({ engineThread: true, args: ["--portal"] });
  await server.load("users", [user(1001, "luna_bytes"), user(1002, "ninja_fox")]);
  await server.load("categories", [{ id: 1, name: "Chess", slug: "chess" }]);
  app = await server.application({ name: "Night bot", webhook_url: receiver.url });
  await subscribe(server, app, ["channel.followed", "chat.message.sent"]);
  await server.admin("POST", "/admin/v1/events", event("channel.followed"));
  await until(async () => {
    const answer = await server.admin("GET", "/admin/v1/deliveries?status=delivered");
    const { data } = await json<{ data: { id: string }[] }>(answer);
    delivery = data[0]?.id ?? "";
    return data.length > 0;
  });
});

const pathOf = (path: string) => path.replace(":delivery", delivery).replace(":application", app.id);

/** A request to the API from a tab, as its page sends them. */
async function ask({ page }: Tab, method: string, path: string, body?: object): Promise<void> {
  const options = {
    method,
    headers: { "onair-page": "http", ...(body && { "content-type": "application/json" }) },
    ...(body && { body: JSON.stringify(body) }),
  };
  const status = await page.evaluate(
    `fetch(${JSON.stringify(path)}, ${JSON.stringify(options)}).then(({ status }) => status)`,
  );
  expect([path, Number(status) < 300, status]).toEqual([path, true, status]);
}

/** Counts the timers with which a page polls. */
async function countTimers({ page }: Tab): Promise<void> {
  await page.evaluateOnNewDocument(`{
    const [begin, end] = [setInterval, clearInterval];
    globalThis.slowTimers = new Set();
    globalThis.setInterval = (run, ms) => {
      const id = begin(run, ms);
      if (ms > 1_000) slowTimers.add(id);
      return id;
    };
    globalThis.clearInterval = (id) => {
      slowTimers.delete(id);
      end(id);
    };
  }`);
}

const isQuiet = "slowTimers.size === 0";

interface Change {
  /** The page of the second tab. */
  readonly path: string;
  /** Text shown there before. */
  readonly before: string;
  /** The request of the first tab. */
  readonly asks: readonly [method: string, path: string, body?: object];
  /** Text shown in the second tab afterwards; by default `before` disappears. */
  readonly after?: string;
}

const changes: Record<"portal" | "console", readonly Change[]> = {
  portal: [
    {
      path: "",
      before: "Your application",
      asks: ["PATCH", "/public/v1/application", { webhook_url: "http://127.0.0.1:9/overview" }],
      after: "127.0.0.1:9/overview",
    },
    {
      path: "/webhook",
      // The previous step changed its URL.
      before: "Nothing was sent to the endpoint yet.",
      asks: ["PATCH", "/public/v1/application", { webhook_url: null }],
      after: "Set the webhook URL",
    },
    {
      path: "/test",
      before: "No webhook URL is set.",
      asks: ["PATCH", "/public/v1/application", { webhook_url: receiver.url }],
    },
    {
      path: "/subscriptions",
      before: "luna_bytes",
      asks: [
        "POST",
        "/public/v1/events/subscriptions",
        { events: [{ name: "kicks.gifted", version: 1 }], broadcaster_user_id: 1002 },
      ],
      after: "ninja_fox",
    },
    {
      path: "/deliveries/:delivery",
      before: "1 attempt",
      asks: ["POST", "/public/v1/events/deliveries/:delivery/retry"],
      after: "2 attempts",
    },
  ],
  console: [
    { path: "", before: "No backups yet", asks: ["POST", "/admin/v1/backups"] },
    {
      path: "/applications",
      before: "Night bot",
      asks: ["POST", "/admin/v1/applications", { name: "Made in the first tab" }],
      after: "Made in the first tab",
    },
    {
      path: "/applications/:application",
      before: "Night bot",
      asks: ["PATCH", "/admin/v1/applications/:application", { name: "Renamed in the first tab" }],
      after: "Renamed in the first tab",
    },
    {
      path: "/deliveries?live=1&type=chat.message.sent",
      before: "No deliveries match these filters",
      asks: ["POST", "/admin/v1/events", event("chat.message.sent")],
    },
    {
      path: "/categories",
      before: "Chess",
      asks: ["PUT", "/admin/v1/categories/1", { name: "Speed chess", slug: "chess" }],
      after: "Speed chess",
    },
    {
      path: "/event-types",
      before: "channel.followed",
      asks: [
        "PUT",
        "/admin/v1/event-types/raid.started",
        { version: 1, description: "A raid.", schema: { type: "object" }, example: {} },
      ],
      after: "raid.started",
    },
    {
      path: "/publish?event=raid.started",
      before: "Channel",
      asks: [
        "PUT",
        "/admin/v1/event-types/raid.started",
        {
          version: 2,
          schema: { type: "object", properties: { viewers: { type: "integer" } } },
          example: { viewers: 3 },
        },
      ],
      after: "viewers",
    },
    {
      path: "/users?query=fox",
      before: "ninja_fox",
      asks: ["PUT", "/admin/v1/users/1002", { username: "ninja_fox", display_name: "Found anew" }],
      after: "Found anew",
    },
    {
      path: "/users/1002",
      before: "Found anew",
      asks: ["PUT", "/admin/v1/users/1002", { username: "ninja_fox", display_name: "Renamed again" }],
      after: "Renamed again",
    },
    {
      path: "/audit",
      before: "Created application",
      asks: ["POST", "/admin/v1/keys", { name: "Of another page", role: "reader" }],
      after: "Created key",
    },
    {
      path: "/keys",
      before: "New key",
      asks: ["POST", "/admin/v1/keys", { name: "Of the first tab", role: "reader" }],
      after: "Of the first tab",
    },
    {
      path: "/subscriptions",
      before: "luna_bytes",
      asks: ["DELETE", "/admin/v1/applications/:application"],
    },
  ],
};

describe.skipIf(chromium === null).each(["portal", "console"] as const)("two tabs of the %s", (kind) => {
  const who = () => (kind === "console" ? operator : app);

  test("a change in one appears in the other, which sends no requests while nothing changes", async () => {
    await using first = await signedIn(server, who());
    await using second = await openPage(server, kind, { besides: first });
    await countTimers(second);
    await second.go("");
    for (const { path, before, asks, after } of changes[kind]) {
      const [method, asked, body] = asks;
      // With PostgreSQL, On Air makes no backups.
      if (isOnPostgres && asked === "/admin/v1/backups") continue;
      await second.follow(pathOf(path));
      await second.see(before);
      await second.until(isQuiet);
      await ask(first, method, pathOf(asked), body);
      if (after) await second.see(after);
      else await second.gone(before);
    }
  }, 300_000);
});
