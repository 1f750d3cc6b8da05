import { type Browser, type BrowserContext, launch } from "puppeteer-core";

const names = ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"];

/** Where Chromium is installed, or the one that `CHROMIUM` names; null, said loudly, where there is none. */
export const chromium = process.env["CHROMIUM"] ?? names.map((name) => Bun.which(name)).find(Boolean) ?? null;

if (chromium === null) {
  console.warn(
    "\n*** No Chromium here (chromium, google-chrome, or the variable CHROMIUM): browser tests are SKIPPED. ***\n",
  );
}

/**
 * A headless Chromium, which ends with this process at the latest, because it is led through a pipe. The sandbox is off,
 * because root, as in containers, cannot have it; it sees only our pages.
 */
export function startChromium(): Promise<Browser> {
  return launch({
    executablePath: chromium ?? "",
    headless: true,
    pipe: true,
    args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-proxy-server"],
  });
}

let shared: Promise<Browser> | null = null;

/** A context with cookies of its own in the one Chromium of this process, whose start takes a second of the processor. */
export async function browserContext(): Promise<BrowserContext> {
  shared ??= startChromium();
  return (await shared).createBrowserContext();
}
