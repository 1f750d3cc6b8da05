import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "puppeteer-core";
import { browserContext, missingForPictures } from "../tests/support/chromium.ts";
import { consolePages, openPage, operator, signIn } from "../tests/support/pages.ts";
import { event, subscribe } from "../tests/support/publishing.ts";
import { Receiver } from "../tests/support/receiver.ts";
import { json, startServer, type TestApplication, type TestServer } from "../tests/support/server.ts";

/*
 * Takes screenshots of every page for review: bun scripts/screens.ts DIRECTORY [used|broken|empty|longest|failing[:PAGE,…]].
 * Each sheet shows three widths. The scenes are a platform in use (light and dark), the portal of an application whose
 * endpoint does not answer, an empty platform, one with the longest names, and one where every request fails.
 */

const widths = [390, 1024, 1440];
const [directory = "screens", ...wanted] = process.argv.slice(2);
const settleMs = 1_200;
mkdirSync(directory, { recursive: true });
const missing = missingForPictures();
if (missing.length > 0)
  console.warn(`Missing for names in all scripts: apt-get install ${missing.join(" ")}`);

interface Scene {
  readonly name: string;
  readonly themes: readonly ("light" | "dark")[];
  readonly isFailing?: boolean;
  /** The web interfaces to show; by default both. */
  readonly kinds?: readonly ("portal" | "console")[];
  prepare(server: TestServer, receiver: Receiver): Promise<TestApplication>;
}

const long = "W".repeat(40);
const words = `${long} ${"a very long name of a thing ".repeat(3)}`;

async function fill(server: TestServer, receiver: Receiver, name: (short: string, most: number) => string) {
  await server.load(
    "users",
    Array.from({ length: 30 }, (_, i) => ({
      id: 1001 + i,
      username: name(`luna_bytes_${i}`, 64).replaceAll(" ", "_").slice(0, 60) + i,
      display_name: name(`Luna Bytes ${i}`, 100),
      bio: name("Games at night.", 300),
      followers_count: 90_000 - i,
      is_verified: i % 3 === 0,
    })),
  );
  await server.load(
    "categories",
    Array.from({ length: 12 }, (_, i) => ({ id: i + 1, name: name(`Chess ${i}`, 100), slug: `chess-${i}` })),
  );
  await server.load("channels", [
    { id: 70, user_id: 1001, name: name("Luna", 100), slug: "luna" },
    { id: 71, user_id: 1002, name: name("Fox", 100), slug: "fox" },
  ]);
  await server.load("livestreams", [
    { channel_id: 70, category_id: 1, viewers: 1_234_567 },
    { channel_id: 71, category_id: 2, viewers: 12 },
  ]);
  const url = name(receiver.url, 0);
  const app = await server.application({
    name: name("Night bot", 100),
    webhook_url: receiver.url,
    delivery: "both",
  });
  const broken = await server.application({
    name: name("Raid alerts", 100),
    webhook_url: `http://127.0.0.1:9/${url.length > 60 ? long.repeat(20) : "webhook"}`,
  });
  const gone = new Receiver(() => new Response("moved", { status: 410 }));
  const disabled = await server.application({ name: name("Clip collector", 100), webhook_url: gone.url });
  await server.application({ name: name("Quiet", 100) });
  await server.admin("POST", "/admin/v1/keys", { name: name("Grace", 90).slice(0, 90), role: "reader" });
  await server.admin("POST", "/admin/v1/backups");
  const type = {
    version: 1,
    description: name("A raid.", 300),
    schema: { type: "object", properties: { note: { type: "string" } } },
    example: { note: name("x", 100) },
  };
  await server.admin("PUT", "/admin/v1/event-types/raid.started", type);
  for (const one of [app, broken, disabled]) {
    await subscribe(server, one, ["channel.followed", "chat.message.sent", "livestream.status.updated"]);
    await subscribe(server, one, ["channel.followed", "kicks.gifted"], 1002);
  }
  for (let i = 0; i < 30; i++) {
    await server.admin("POST", "/admin/v1/events", event(i % 3 ? "channel.followed" : "chat.message.sent"));
  }
  await Bun.sleep(3_000);
  await gone[Symbol.asyncDispose]();
  return { app, broken };
}

const scenes: readonly Scene[] = [
  {
    name: "used",
    themes: ["light", "dark"],
    prepare: async (server, receiver) => (await fill(server, receiver, (short) => short)).app,
  },
  {
    name: "broken",
    themes: ["light", "dark"],
    kinds: ["portal"],
    prepare: async (server, receiver) => (await fill(server, receiver, (short) => short)).broken,
  },
  { name: "empty", themes: ["light"], prepare: (server) => server.application({ name: "Fresh" }) },
  {
    name: "longest",
    themes: ["light"],
    prepare: async (server, receiver) =>
      (await fill(server, receiver, (short, most) => (words.repeat(4) + short).slice(0, most || 500))).app,
  },
  {
    name: "failing",
    themes: ["light"],
    isFailing: true,
    prepare: (server) => server.application({ name: "Fresh" }),
  },
];

async function sheet(pictures: readonly string[], path: string): Promise<void> {
  const page = await (await browserContext()).newPage();
  const images = pictures.map(
    (data, i) =>
      `<img src="data:image/png;base64,${data}" style="width:${(widths[i] ?? 0) * 0.55}px;border:1px solid #888">`,
  );
  await page.setViewport({ width: 1640, height: 400 });
  await page.setContent(
    `<body style="margin:8px;background:#666;display:flex;gap:8px;align-items:flex-start">${images.join("")}`,
  );
  await page.screenshot({ path: path as `${string}.png`, fullPage: true });
  await page.close();
}

async function take(page: Page): Promise<string[]> {
  const pictures: string[] = [];
  for (const width of widths) {
    await page.setViewport({ width, height: width < 500 ? 844 : 900 });
    await Bun.sleep(250);
    const height = Math.min(Number(await page.evaluate("document.documentElement.scrollHeight")), 1_800);
    await page.setViewport({ width, height: Math.max(height, 700) });
    await Bun.sleep(150);
    pictures.push(await page.screenshot({ encoding: "base64" }));
  }
  return pictures;
}

for (const scene of scenes) {
  if (wanted.length > 0 && !wanted.some((one) => one.split(":")[0] === scene.name)) continue;
  const only = wanted
    .find((one) => one.startsWith(`${scene.name}:`))
    ?.split(":")[1]
    ?.split(",");
  await using server = await startServer({ args: ["--portal"] });
  await using receiver = new Receiver();
  const app = await scene.prepare(server, receiver);
  const listed = await server.admin("GET", `/admin/v1/deliveries?limit=1&application_id=${app.id}`);
  const { data } = await json<{ data: { id: string }[] }>(listed);
  const delivery = data[0]?.id ?? "01KATHZX5M9S3E6R8B2D4F7G1H";
  for (const theme of scene.themes) {
    for (const kind of scene.kinds ?? (["portal", "console"] as const)) {
      const who = kind === "portal" ? app : operator;
      const tab = await openPage(server, who, { theme });
      const { page, base } = tab;
      await page.goto(base);
      await page.waitForSelector("form");
      const name = (place: string) =>
        `${scene.name}-${theme}-${kind}-${place.split(/[/?]/)[1] || "overview"}${place.split("/")[2] ? "-one" : ""}.png`;
      if (!only || only.includes("signin")) await sheet(await take(page), join(directory, name("/signin")));
      await page.setViewport({ width: 1440, height: 900 });
      await signIn(tab, who);
      await page.waitForSelector(".shell");
      if (scene.isFailing) {
        await page.setRequestInterception(true);
        page.on("request", (request) => {
          const body = JSON.stringify({
            message: "The disk is full, so nothing can be kept now",
            code: "unavailable",
            request_id: "01KEYN2Q9HAVJ4W6C0B9RZ5T1M",
          });
          if (/\/(?:admin|public)\/v1\//.test(request.url()))
            request.respond({ status: 503, contentType: "application/json", body });
          else request.continue();
        });
      }
      for (const path of consolePages[kind]) {
        const place = path.replace(":delivery", delivery).replace(":application", app.id);
        const file = name(place);
        if (only && !only.some((one) => file.includes(one))) continue;
        await page.setViewport({ width: 1440, height: 900 });
        await page.goto(base + place, { timeout: 60_000 });
        await page.waitForSelector("main h1", { timeout: 90_000 });
        await page.waitForFunction('!document.querySelector(".loading")', { timeout: 90_000 });
        await Bun.sleep(settleMs);
        await sheet(await take(page), join(directory, file));
        console.log(file);
      }
      await page.close();
    }
  }
}
// Chromium ends with this process.
process.exit();
