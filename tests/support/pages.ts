import { expect } from "bun:test";
import type { ElementHandle, JSHandle, Page } from "puppeteer-core";
import { browserContext } from "./chromium.ts";
import { adminKey, type ServerClient, type TestApplication } from "./server.ts";

/** Every page of portal and console; `:delivery` and `:application` stand for ids. */
export const consolePages = {
  portal: [
    "",
    "/deliveries",
    "/deliveries/:delivery",
    "/subscriptions",
    "/filters?type=chat.message.sent",
    "/test",
    "/webhook",
    "/requests",
    "/event-types",
    "/nowhere",
  ],
  console: [
    "",
    "/applications",
    "/applications/:application",
    "/deliveries",
    "/deliveries/:delivery",
    "/users?query=luna",
    "/users/1001",
    "/channels",
    "/livestreams",
    "/categories",
    "/event-types",
    "/publish?event=raid.started",
    "/backups",
    "/keys",
    "/audit",
    "/traffic?range=day",
    "/settings",
    "/subscriptions",
    "/nowhere",
  ],
} as const;

const axe = await Bun.file(Bun.resolveSync("axe-core/axe.min.js", import.meta.dir)).text();

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
}

const rules = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

/**
 * What keeps people from using the page that is shown, in words: by WCAG 2.2 AA and what is thought good, or by these
 * rules of axe alone.
 */
export async function violations({ page }: Tab, only?: readonly string[]): Promise<string[]> {
  // By the protocol of the browser: the policy of the page lets no script in.
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(axe);
  const examine = async () => {
    const result = (await page.evaluate(
      `axe.run(document, {
        runOnly: ${JSON.stringify(only ? { type: "rule", values: only } : rules)},
        // What is right is not described.
        resultTypes: ["violations"],
        selectors: false,
      })`,
    )) as { violations: Violation[] };
    return result.violations.flatMap(({ id, nodes }) =>
      nodes.slice(0, 3).map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)}\n${failureSummary}`),
    );
  };
  let found = await examine();
  // What axe has measured before and after a time on the page became longer does not fit together.
  for (let more = 2; more > 0 && found.length > 0; more--) found = await examine();
  return found;
}

/** The longest wait for a page on a busy machine. */
const patienceMs = 40_000;
/** By default Puppeteer looks in each frame, for which the browser renders frames all the time. */
const pollingMs = 50;
/** More than the number of focusable elements on any page. */
const mostTabs = 300;

export type SignIn = { readonly key: string } | Pick<TestApplication, "client_id" | "client_secret">;

export const operator: SignIn = { key: adminKey };

interface Options {
  readonly width?: number;
  readonly theme?: "light" | "dark";
  /** Use the keyboard for everything. */
  readonly byKeyboard?: boolean;
  /** The origin of a proxy in front of the server. */
  readonly port?: number;
  /** A tab whose session the new one shares. */
  readonly besides?: Tab;
  /** The page of portal or console to begin with, instead of the first one. */
  readonly path?: string;
}

/** A browser tab, used like a person uses it: by its visible texts and labels. */
export class Tab implements AsyncDisposable {
  /** Errors that the page logged, and its requests to other servers. */
  readonly complaints: string[] = [];
  /** Other origins that the page may navigate to. */
  readonly elsewhere: string[] = [];

  constructor(
    readonly page: Page,
    readonly base: string,
    readonly byKeyboard = false,
  ) {
    page.on("console", (message) => {
      // The browser logs each refused request; the page itself shows the error.
      if (message.type() === "error" && !message.text().startsWith("Failed to load resource")) {
        this.complaints.push(message.text());
      }
    });
    page.on("pageerror", (error) => this.complaints.push(String(error)));
    page.on("dialog", (dialog) => {
      // The browser asks before it leaves a page with unsaved input.
      if (dialog.type() === "beforeunload") return dialog.accept();
      this.complaints.push(`dialog: ${dialog.message()}`);
      dialog.dismiss();
    });
    page.on("request", (request) => {
      const url = request.url();
      const known = [new URL(base).origin, "data:", ...this.elsewhere];
      if (!known.some((start) => url.startsWith(start))) this.complaints.push(url);
    });
  }

  async go(path: string): Promise<void> {
    await this.page.goto(this.base + path);
    await this.page.waitForSelector("main h1");
  }

  /** Follows a link to another page of portal or console, which is not loaded anew. Each page has its own title. */
  async follow(path: string): Promise<void> {
    const url = this.base + path;
    if (this.page.url() === url) return;
    const title = JSON.stringify(await this.page.title());
    await this.page.evaluate(`{
      const link = document.createElement("a");
      link.href = ${JSON.stringify(url)};
      document.body.append(link);
      link.click();
      link.remove();
    }`);
    await this.until(`document.title !== ${title} && document.querySelector("main h1")`);
  }

  /** Waits until this expression of the page is true. Returns its value. */
  until(expression: string, { timeout = patienceMs } = {}): Promise<JSHandle<unknown>> {
    return this.page.waitForFunction(expression, { timeout, polling: pollingMs });
  }

  /** Waits until the page shows this text. */
  async see(text: string): Promise<void> {
    try {
      await this.until(`document.body.innerText.includes(${JSON.stringify(text)})`);
    } catch {
      throw new Error(`"${text}" is not shown in:\n${await this.text()}`);
    }
  }

  async text(): Promise<string> {
    return String(await this.page.evaluate("document.body.innerText"));
  }

  /** Clicks the first visible button or link with this name. */
  async click(name: string, kind: "button" | "link" = "button"): Promise<void> {
    // Background tabs are not rendered, and elements that are not rendered cannot be clicked.
    await this.page.bringToFront();
    const element = await this.#find(
      `[...document.querySelectorAll("${kind === "link" ? "a" : "button, [role=button]"}")].find((one) =>
        (one.getAttribute("aria-label") ?? one.innerText).trim().replace(/\\s+/g, " ") === ${JSON.stringify(name)} &&
        !one.matches(":disabled, [aria-busy=true]") && one.checkVisibility())`,
      `the ${kind} "${name}"`,
    );
    if (!this.byKeyboard) {
      // The header of the page may cover what is at the upper edge.
      await element.evaluate((one) => one.scrollIntoView({ block: "center", behavior: "instant" }));
      return element.asLocator().setTimeout(patienceMs).click();
    }
    // A page that has just loaded may move the focus in between. Then the key went to another element.
    for (let isPressed = false; !isPressed; ) {
      await this.#tabTo(element, name);
      await element.evaluate((one) =>
        one.addEventListener("keydown", () => one.setAttribute("data-pressed", "")),
      );
      await this.press("Enter");
      isPressed = await element.evaluate((one) => one.hasAttribute("data-pressed")).catch(() => true);
    }
  }

  /** Moves by Tab to an element, and checks that its focus is visible. */
  async #tabTo(element: ElementHandle, name: string): Promise<void> {
    for (let i = 0; i < mostTabs; i++) {
      const outline = await element.evaluate((one) =>
        one === one.ownerDocument.activeElement
          ? (one.ownerDocument.defaultView?.getComputedStyle(one).outlineStyle ?? "")
          : null,
      );
      if (outline !== null) {
        expect([name, outline]).not.toEqual([name, "none"]);
        return;
      }
      await this.press("Tab");
    }
    throw new Error(`"${name}" is not reached by Tab`);
  }

  /** Clicks the dialog's button with this name. */
  async clickInDialog(name: string): Promise<void> {
    const button = await this.#find(
      `[...document.querySelectorAll("dialog button")].find((one) => one.textContent.trim() === ${JSON.stringify(name)} && !one.matches(":disabled, [aria-busy=true]"))`,
      `the button "${name}" of a dialog`,
    );
    await button.asLocator().setTimeout(patienceMs).click();
  }

  /** Toggles the checkbox whose label begins with this text. */
  async choose(label: string): Promise<void> {
    const box = await this.#find(
      `[...document.querySelectorAll("label")].find((one) => one.textContent.startsWith(${JSON.stringify(label)}) && one.control?.type === "checkbox")?.control`,
      `the box "${label}"`,
    );
    await box.asLocator().setTimeout(patienceMs).click();
  }

  /** Waits until the page no longer shows this text. */
  async gone(text: string): Promise<void> {
    try {
      await this.until(`!document.body.innerText.includes(${JSON.stringify(text)})`);
    } catch {
      throw new Error(`"${text}" is still shown in:\n${await this.text()}`);
    }
  }

  /** Replaces the value of the field with this label, of the last dialog if one is open. */
  async fill(label: string, value: string): Promise<void> {
    const field = await this.#find(
      `[...([...document.querySelectorAll("dialog:modal")].at(-1) ?? document).querySelectorAll("label")].find((one) => one.textContent === ${JSON.stringify(label)} && one.control?.checkVisibility())?.control`,
      `the field "${label}"`,
    );
    const shown = () => field.evaluate((one) => (one as unknown as { value: string }).value);
    // A page that renders again after the field was emptied, and before anything was typed, restores the old value.
    while ((await shown()) !== value) {
      if (!this.byKeyboard) {
        await field.asLocator().setTimeout(patienceMs).fill(value);
        continue;
      }
      await this.#tabTo(field, label);
      await this.page.keyboard.down("Control");
      await this.press("a");
      await this.page.keyboard.up("Control");
      await this.page.keyboard.type(value);
    }
  }

  async #find(script: string, what: string): Promise<ElementHandle> {
    try {
      return (await this.until(script)) as ElementHandle;
    } catch {
      throw new Error(`${what} was not found in:\n${await this.text()}`);
    }
  }

  async press(...keys: Parameters<Page["keyboard"]["press"]>[0][]): Promise<void> {
    for (const key of keys) await this.page.keyboard.press(key);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    expect(this.complaints).toEqual([]);
    await this.page.close();
  }
}

/** Opens the sign-in form of portal or console in a new tab; by default with cookies of its own. */
export async function openPage(
  server: ServerClient,
  who: SignIn | "console" | "portal",
  options: Options = {},
) {
  const { width = 1280, theme = "light", besides, port, byKeyboard } = options;
  const isConsole = who === "console" || (typeof who === "object" && "key" in who);
  const url = new URL(isConsole ? `${server.adminUrl}/console` : `${server.publicUrl}/portal`);
  if (port !== undefined) url.port = String(port);
  const base = url.href;
  const context = besides ? besides.page.browserContext() : await browserContext();
  const page = await context.newPage();
  page.setDefaultTimeout(patienceMs);
  await page.setViewport({ width, height: 900 });
  await page.evaluateOnNewDocument(`localStorage.setItem("onair-theme", "${theme}")`);
  return new Tab(page, base, byKeyboard);
}

/** Opens a tab in a session, which begins without the form: its page is loaded once. */
export async function signedIn(server: ServerClient, who: SignIn, options: Options = {}): Promise<Tab> {
  const tab = await openPage(server, who, options);
  const { headers } = await fetch(`${tab.base}/session`, {
    method: "POST",
    headers: { "onair-page": "http", ...("key" in who && { authorization: `Bearer ${who.key}` }) },
    ...(!("key" in who) && {
      body: new URLSearchParams({ client_id: who.client_id, client_secret: who.client_secret }),
    }),
  });
  const [, name = "", value = ""] = /^([^=]+)=([^;]+)/.exec(headers.get("set-cookie") ?? "") ?? [];
  const { hostname: domain } = new URL(tab.base);
  await tab.page
    .browserContext()
    .setCookie({ name, value, domain, path: "/", httpOnly: true, sameSite: "Strict" });
  await tab.go(options.path ?? "");
  await tab.page.waitForSelector(".shell");
  return tab;
}

/** Fills in the form and sends it. */
export async function signIn(tab: Tab, who: SignIn): Promise<void> {
  if ("key" in who) await tab.fill("Operator key", who.key);
  else {
    await tab.fill("Client id", who.client_id);
    await tab.fill("Client secret", who.client_secret);
  }
  await tab.click("Sign in");
}

/** A tab with the first page of `onair dev`. */
export async function welcomePage(server: Pick<ServerClient, "publicUrl">): Promise<Tab> {
  const page = await (await browserContext()).newPage();
  const tab = new Tab(page, server.publicUrl);
  await page.goto(server.publicUrl);
  return tab;
}

/** A tab with the documentation for developers, or for operators. */
export async function docsPage(
  server: ServerClient,
  path = "",
  { isForOperators = false, ...options }: Options & { readonly isForOperators?: boolean } = {},
): Promise<Tab> {
  const { width = 1280, theme = "light" } = options;
  const page = await (await browserContext()).newPage();
  await page.setViewport({ width, height: 900 });
  await page.evaluateOnNewDocument(`localStorage.setItem("onair-theme", "${theme}")`);
  const tab = new Tab(page, `${isForOperators ? server.adminUrl : server.publicUrl}/docs`);
  await tab.go(path);
  return tab;
}
