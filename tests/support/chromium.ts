import { type Browser, type BrowserContext, launch } from "puppeteer-core";

const names = ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"];

/** Where Chromium is installed, or the one that `CHROMIUM` names; null, said loudly, where there is none. */
export const chromium = process.env["CHROMIUM"] ?? names.map((name) => Bun.which(name)).find(Boolean) ?? null;

if (chromium === null) {
  console.warn(
    "\n*** No Chromium here (chromium, google-chrome, or the variable CHROMIUM): browser tests are SKIPPED. ***\n",
  );
}

/** Debian packages of fonts, each with letters that names of the sample data have. */
const fonts = {
  "fonts-noto-core": ["0627", "0905", "0e01"],
  "fonts-noto-cjk": ["4e00", "3042", "ac00"],
  "fonts-noto-color-emoji": ["1f389"],
};

/** The Debian packages without which a picture would have boxes in place of letters, or none at all. */
export function missingForPictures(): string[] {
  if (chromium === null) return ["chromium"];
  if (Bun.which("fc-list") === null) return ["fontconfig"];
  const hasLetter = (letter: string) => Bun.spawnSync(["fc-list", `:charset=${letter}`]).stdout.length > 0;
  return Object.entries(fonts)
    .filter(([, letters]) => !letters.every(hasLetter))
    .map(([name]) => name);
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
