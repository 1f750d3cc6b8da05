/*
 * Takes the screenshots for the README, of `onair dev` with its sample data: bun scripts/pictures.ts. Needs Chromium
 * and fonts, and names missing ones. The result is committed.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { missingForPictures } from "../tests/support/chromium.ts";
import { DevProcess } from "../tests/support/dev.ts";
import { operator, signedIn, type Tab, welcomePage } from "../tests/support/pages.ts";
import { subscribe } from "../tests/support/publishing.ts";
import { adminKey, ServerClient, temporaryDirectory } from "../tests/support/server.ts";

const pictures = join(import.meta.dir, "../docs/pictures");
/** Wait for enough sample events to show. */
const waitMs = 240_000;
const settleMs = 1_500;

async function take({ page }: Tab, name: string): Promise<void> {
  await page.setViewport({ width: 1280, height: 800, deviceScaleFactor: 1.5 });
  await page.waitForSelector("main h1");
  await page.waitForFunction('!document.querySelector(".loading")');
  // The page has an event stream, so its network is never idle.
  await Bun.sleep(settleMs);
  await page.screenshot({ path: join(pictures, `${name}.webp`), type: "webp", quality: 82 });
  process.stdout.write(`docs/pictures/${name}.webp\n`);
}

const missing = missingForPictures();
if (missing.length > 0) {
  process.stderr.write(`Missing for the pictures: apt-get install ${missing.join(" ")}\n`);
  process.exit(1);
}
mkdirSync(pictures, { recursive: true });
const directory = temporaryDirectory();
const args = ["--json", "--port", "0", "--admin-port", "0"];
const dev = new DevProcess(args, directory.path, { ONAIR_ADMIN_KEY: adminKey });
try {
  const { public_url, admin_url, client_id, client_secret } = await dev.addresses();
  const server = new ServerClient(public_url, admin_url);
  // An application whose receiver cannot be reached.
  const broken = await server.application({
    name: "Raid alerts",
    webhook_url: "http://127.0.0.1:9/webhook",
  });
  await subscribe(server, broken, ["channel.followed", "livestream.status.updated", "chat.message.sent"]);
  await Bun.sleep(waitMs);
  await take(await welcomePage(server), "welcome");
  await take(await signedIn(server, { client_id, client_secret }), "portal");
  await take(await signedIn(server, operator, { theme: "dark" }), "console");
} finally {
  await dev.end();
  directory.remove();
}
// Chromium ends with this process.
process.exit();
