/*
 * Takes the screenshots for the README, of `onair dev` with its sample data: bun scripts/pictures.ts. Needs Chromium
 * and fonts, and names missing ones. The result is committed.
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "puppeteer-core";
import { missingForPictures, startChromium } from "../tests/support/chromium.ts";

const root = join(import.meta.dir, "..");
const pictures = join(root, "docs/pictures");
/** Wait for enough sample events to show. */
const waitMs = 240_000;
const settleMs = 1_500;

interface Dev {
  readonly public_url: string;
  readonly admin_url: string;
  readonly admin_key: string;
  readonly client_id: string;
  readonly client_secret: string;
}

/** Adds an application whose receiver cannot be reached, with subscriptions. */
async function addBroken({ public_url, admin_url, admin_key }: Dev): Promise<void> {
  const admin = { authorization: `Bearer ${admin_key}`, "content-type": "application/json" };
  const body = JSON.stringify({ name: "Raid alerts", webhook_url: "http://127.0.0.1:9/webhook" });
  const made = await fetch(`${admin_url}/admin/v1/applications`, { method: "POST", headers: admin, body });
  const { client_id, client_secret } = (await made.json()) as Dev;
  const form = new URLSearchParams({ grant_type: "client_credentials", client_id, client_secret });
  const answer = await fetch(`${public_url}/oauth/token`, { method: "POST", body: form });
  const { access_token } = (await answer.json()) as { access_token: string };
  const events = [
    { name: "channel.followed", version: 1 },
    { name: "livestream.status.updated", version: 1 },
    { name: "chat.message.sent", version: 1 },
  ];
  await fetch(`${public_url}/public/v1/events/subscriptions`, {
    method: "POST",
    headers: { authorization: `Bearer ${access_token}`, "content-type": "application/json" },
    body: JSON.stringify({ events, broadcaster_user_id: 1001 }),
  });
}

async function take(page: Page, url: string, name: string): Promise<void> {
  await page.goto(url);
  await page.waitForSelector("main h1");
  await page.waitForFunction('!document.querySelector(".loading")');
  // The page has an event stream, so its network is never idle.
  await Bun.sleep(settleMs);
  await page.screenshot({ path: join(pictures, `${name}.webp`), type: "webp", quality: 82 });
  process.stdout.write(`docs/pictures/${name}.webp\n`);
}

/** Fills in the sign-in form of a page and submits it. */
async function signIn(page: Page, url: string, values: Readonly<Record<string, string>>): Promise<void> {
  await page.goto(url);
  for (const [name, value] of Object.entries(values)) await page.locator(`input[name=${name}]`).fill(value);
  await page.locator("button[type=submit]").click();
  await page.waitForSelector(".shell");
}

const missing = missingForPictures();
if (missing.length > 0) {
  process.stderr.write(`Missing for the pictures: apt-get install ${missing.join(" ")}\n`);
  process.exit(1);
}
mkdirSync(pictures, { recursive: true });
const data = mkdtempSync(join(tmpdir(), "onair-pictures-"));
const args = ["src/main.ts", "dev", "--json", "--port", "0", "--admin-port", "0", "--data", data];
const server = Bun.spawn([process.execPath, ...args], { cwd: root, stdout: "pipe", stderr: "ignore" });
const browser = await startChromium();
try {
  const reader = server.stdout.getReader();
  const { value } = await reader.read();
  const dev = JSON.parse(new TextDecoder().decode(value).split("\n")[0] ?? "") as Dev;
  reader.releaseLock();
  await addBroken(dev);
  await Bun.sleep(waitMs);
  const page = await browser.newPage();
  await page.setViewport({ width: 1280, height: 800, deviceScaleFactor: 1.5 });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: "light" }]);
  await take(page, dev.public_url, "welcome");
  await signIn(page, `${dev.public_url}/portal`, {
    client_id: dev.client_id,
    client_secret: dev.client_secret,
  });
  await take(page, `${dev.public_url}/portal`, "portal");
  await signIn(page, `${dev.admin_url}/console`, { key: dev.admin_key });
  await page.evaluate('localStorage.setItem("onair-theme", "dark")');
  await take(page, `${dev.admin_url}/console`, "console");
} finally {
  await browser.close();
  server.kill();
  await server.exited;
  rmSync(data, { recursive: true, force: true });
}
