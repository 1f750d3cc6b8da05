import { type Browser, type BrowserContext, launch } from "puppeteer-core";

const names = ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"];

/** The path of Chromium: `CHROMIUM`, or the installed one. Null, with a warning, if there is none. */
export const chromium = process.env["CHROMIUM"] ?? names.map((name) => Bun.which(name)).find(Boolean) ?? null;

if (chromium === null) {
  console.warn(
    "\n*** No Chromium here (chromium, google-chrome, or the variable CHROMIUM): browser tests are SKIPPED. ***\n",
  );
}

/** Debian packages of the fonts that names in the sample data need. */
const fonts = {
  "fonts-noto-core": ["0627", "0905", "0e01"],
  "fonts-noto-cjk": ["4e00", "3042", "ac00"],
  "fonts-noto-color-emoji": ["1f389"],
};

/** The Debian packages that are missing here. Without them screenshots show boxes in place of letters. */
export function missingForPictures(): string[] {
  if (chromium === null) return ["chromium"];
  if (Bun.which("fc-list") === null) return ["fontconfig"];
  const hasLetter = (letter: string) => Bun.spawnSync(["fc-list", `:charset=${letter}`]).stdout.length > 0;
  return Object.entries(fonts)
    .filter(([, letters]) => !letters.every(hasLetter))
    .map(([name]) => name);
}

/**
 * Starts a headless Chromium. It is controlled through a pipe, so that it exits with this process at the latest. The
 * sandbox is off because root, as in containers, cannot use it. The browser loads only our own pages.
 */
function startChromium(): Promise<Browser> {
  return launch({
    executablePath: chromium ?? "",
    headless: true,
    pipe: true,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-dev-shm-usage",
      "--no-proxy-server",
      // A process in reserve for the next page takes more time than it saves on busy cores.
      "--disable-features=SpareRendererForSitePerProcess",
    ],
  });
}

let shared: Promise<Browser> | null = null;

/** A context with its own cookies. All share one Chromium for this process, because starting one is expensive. */
export async function browserContext(): Promise<BrowserContext> {
  shared ??= startChromium();
  return (await shared).createBrowserContext();
}
