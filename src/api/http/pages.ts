import type { AnyElysia } from "elysia";
import { DomainError } from "../../domain/errors.ts";
import { hour } from "../../domain/time.ts";
import type { PageFiles, PageName } from "../../web/make.ts";
import { productName } from "../../web/site/names.ts";
import { accentStyle } from "./accent.ts";
import { cacheableFor, cachedLast, contentOf, replyCompressed, replyContent } from "./content.ts";
import { type ExtraHeaders, type RequestContext, reply } from "./context.ts";
import { asGate, handlerContext, openGate } from "./input.ts";

/*
 * Pages for browsers: what protects them from other sites (cookies that only their own requests carry, known host
 * names), their files, and pages without scripts for signing in.
 */

/*
 * The cookie of a signed-in page. It is accepted only in requests of the page itself, which have a header that other
 * sites cannot send together with a cookie: for scripts of other origins the listeners never allow credentials, and
 * forms cannot set headers. Other clients of the APIs must use a bearer token.
 */

/** The maximum duration of a session. */
export const sessionMs = 12 * hour;

/** The header of every request of a page; its value is how the browser got the page, `http` or `https`. */
const pageHeader = "onair-page";
const isByHttps = ({ headers }: Request) => headers.get(pageHeader) === "https";

/** Whether a request was made by a script of a page of this listener. */
export function isFromPage(request: Request): boolean {
  const { headers } = request;
  if (headers.get(pageHeader) === null) return false;
  const site = headers.get("sec-fetch-site");
  if (site !== null) return site === "same-origin";
  // Browsers omit the header if the page was loaded by http from another machine.
  const origin = headers.get("origin");
  return origin === null || (URL.canParse(origin) && new URL(origin).host === headers.get("host"));
}

/** Returns the names and values of the cookies of a request. */
export function cookiesOf({ headers }: Request): readonly (readonly [name: string, value: string])[] {
  const pairs = (headers.get("cookie") ?? "").split(";").map((pair) => pair.trim().split("="));
  return pairs.map(([name = "", value = ""]) => [name, value]);
}

/**
 * A cookie that scripts cannot read. With https its name has the prefix that prevents other hosts of the domain from
 * setting it, and the unprefixed name is ignored: otherwise such a host could put a browser into a session of its own.
 */
export function privateCookie(plainName: string, isHttps: boolean, sameSite: "Strict" | "Lax") {
  const name = isHttps ? `__Host-${plainName}` : plainName;
  return {
    name,
    /** Returns the value in a request; null without the cookie. */
    read: (request: Request): string | null => cookiesOf(request).find(([key]) => key === name)?.[1] ?? null,
    /** Returns the header that sets it. */
    header: (value: string, maxAgeSeconds: number) =>
      `${name}=${value}; Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=${sameSite}${isHttps ? "; Secure" : ""}`,
  };
}

/** The cookie of a page. */
export function pageCookie(name: string) {
  const cookieOf = (request: Request) => privateCookie(name, isByHttps(request), "Strict");
  return {
    /** Returns the value in a request of a page; null for any other request. */
    read: (request: Request) => (isFromPage(request) ? cookieOf(request).read(request) : null),
    /** Returns the header that sets it, for the response to a request of the page. */
    set: (request: Request, value: string, maxAgeSeconds: number) =>
      cookieOf(request).header(value, maxAgeSeconds),
    /** Returns the header that removes it. */
    clear: (request: Request) => cookieOf(request).header("", 0),
  };
}

export type PageCookie = ReturnType<typeof pageCookie>;

/**
 * Checks the `Host` header against DNS rebinding, with which a page of another site resolves its own name to this
 * listener and reads its responses. IP addresses and `localhost` cannot be rebound and are accepted with any port;
 * other names must be in `names`. A request without the header is accepted, because browsers always send it; load
 * balancers that check the health by HTTP/1.0 do not.
 */
export function knownHosts(names: readonly string[]): (host: string | null) => boolean {
  const known = new Set(names.map((name) => name.toLowerCase()));
  return (host) => {
    if (host === null) return true;
    const name = host
      .toLowerCase()
      .replace(/:[0-9]{1,5}$/, "")
      .replace(/\.$/, "");
    return isAddress(name) || isLocal(name) || known.has(name);
  };
}

const isAddress = (name: string) => /^(?:[0-9]{1,3}(?:\.[0-9]{1,3}){3}|\[[0-9a-f:.]+\])$/.test(name);

/** Whether a `Host` header names this machine, whatever the port. */
export function isLoopbackHost(host: string | null): boolean {
  const name = (host ?? "").toLowerCase().replace(/:[0-9]{1,5}$/, "");
  return isLocal(name) || name === "[::1]" || /^127(\.[0-9]{1,3}){3}$/.test(name);
}

const isLocal = (name: string) => name === "localhost" || name.endsWith(".localhost");

/** The title and branding of a page. */
export interface PageLook {
  readonly title: string;
  /** A CSS colour in place of the default. */
  readonly accent?: string | null;
  /** A picture in place of the default. */
  readonly logo?: Bun.BunFile | null;
  /** Whether the page also offers the platform's login. */
  readonly hasLogin?: boolean;
  /** Returns the URL of the page that has led here, which the page links; absent for none. */
  readonly home?: () => string;
}

/** The brand of a platform that has none of its own. */
export const ownLook: PageLook = { title: productName };

/** The path of the documentation on both listeners. */
export const docsPath = "/docs";

interface PageOptions {
  readonly page: PageName;
  /** The path of the page, without a trailing slash. */
  readonly path: string;
  /** Whether the page is also served at the root of the listener. */
  readonly isRoot?: boolean;
  readonly look: PageLook;
  /** The external prefix of the path, if a proxy serves the listener under a path of its own. */
  readonly prefix?: () => string;
}

const types: Readonly<Record<string, string>> = {
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
  woff2: "font/woff2",
  json: "application/json",
};

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "font-src 'self'",
  // Pictures of users are wherever the platform has them.
  "img-src 'self' https:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** The headers of a page whose scripts and styles are files of this server. */
export const pageHeaders: ExtraHeaders = {
  "content-type": "text/html; charset=utf-8",
  "cache-control": "no-cache",
  "content-security-policy": policy,
  "cross-origin-opener-policy": "same-origin",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
};

/** The gate of files: they are not rate limited, because a page has many of them. */
const unlimitedGate = asGate("unlimited", async (context: unknown) => {
  handlerContext(context).requestContext.isAdmitted = true;
});

/** Adds the route of a page or a file, which is not part of the API. */
export function pageRoute(
  app: AnyElysia,
  kind: "page" | "file",
  path: string,
  answer: (
    requestContext: RequestContext,
    params: Readonly<Record<string, string>>,
  ) => Response | Promise<Response>,
): void {
  const handler = (context: unknown) => {
    const { requestContext, params = {} } = handlerContext(context);
    return answer(requestContext, params);
  };
  const transform = kind === "file" ? unlimitedGate : openGate;
  app.get(path, handler, { transform, parse: "none", detail: { hide: true } });
}

/** Returns files in the form in which they are sent. */
export const contentsOf = (files: PageFiles["files"]) =>
  Object.fromEntries(Object.entries(files).map(([name, bytes]) => [name, contentOf(bytes)]));

/** The files of the pages, loaded when first asked for. */
export const pageFiles = cachedLast(async () => {
  const { files, entries } = await (await import("../../web/bundle.ts")).pages();
  return { files: contentsOf(files), entries };
});

export const fontHeaders = { "content-type": "font/woff2", ...cacheableFor(86_400) };

/** The font of the pages, for those without files of their own. */
export async function font() {
  const { files, entries } = await pageFiles();
  return found(files, entries.font);
}

/**
 * Serves a page for all paths under its own, and its files, which can be cached for ever, because their names change
 * with their content.
 */
export function pageRoutes(
  app: AnyElysia,
  { page, path, isRoot = false, look, prefix = () => "" }: PageOptions,
): void {
  pageRoute(app, "file", `${path}/files/:file`, async (requestContext, { file = "" }) =>
    replyFile(requestContext, file, found((await pageFiles()).files, file)),
  );
  lookRoutes(app, path, look);
  for (const of of [path, `${path}/*`, ...(isRoot ? ["/"] : [])])
    pageRoute(app, "page", of, async (requestContext) => {
      const { entries } = await pageFiles();
      const text = htmlOf({ page, base: prefix() + path, look, entries });
      return reply(requestContext, 200, text, pageHeaders);
    });
}

/** Serves the accent colour of a page as a style sheet, and its logo. */
export function lookRoutes(app: AnyElysia, path: string, look: PageLook): void {
  pageRoute(app, "page", `${path}/theme.css`, (requestContext) => replyTheme(requestContext, look));
  const { logo } = look;
  if (!logo) return;
  pageRoute(app, "page", `${path}/logo`, async (requestContext) => {
    const caching = { "cache-control": "no-cache", "content-security-policy": policy };
    return reply(requestContext, 200, await logo.bytes(), { "content-type": logo.type, ...caching });
  });
}

/** Returns the value of a name. Throws `not_found`. */
export function found<T>(from: Readonly<Record<string, T>>, name: string): T {
  const value = Object.hasOwn(from, name) ? from[name] : undefined;
  if (value === undefined) throw new DomainError("not_found", "There is nothing at this path");
  return value;
}

/** Returns a response with a file that can be cached for ever, because its name changes with its content. */
export async function replyFile(
  requestContext: RequestContext,
  name: string,
  content: ReturnType<typeof contentOf>,
): Promise<Response> {
  const extension = name.slice(name.lastIndexOf(".") + 1);
  const headers = {
    "content-type": types[extension] ?? "text/plain; charset=utf-8",
    "cache-control": "public, max-age=31536000, immutable",
    "x-content-type-options": "nosniff",
  };
  // The font is already compressed.
  if (extension === "woff2") return replyContent(requestContext, content, headers);
  return replyCompressed(requestContext, content, headers);
}

/** Returns the accent colour as a style sheet, because the policy forbids inline styles. */
function replyTheme(requestContext: RequestContext, { accent }: PageLook): Response {
  return reply(requestContext, 200, accent ? accentStyle(accent) : "", {
    "content-type": types["css"] ?? "",
    "cache-control": "no-cache",
  });
}

interface HtmlOptions {
  readonly page: PageName;
  readonly base: string;
  readonly look: PageLook;
  readonly entries: PageFiles["entries"];
}

function htmlOf({ page, base, look, entries }: HtmlOptions): string {
  const title = Bun.escapeHTML(look.title);
  const at = Bun.escapeHTML(base);
  const home = look.home?.();
  const file = (name: keyof PageFiles["entries"]) => `${at}/files/${entries[name]}`;
  return `<!doctype html>
<html lang="en" data-base="${at}" data-title="${title}"${look.logo ? " data-logo" : ""}${look.hasLogin ? " data-login" : ""}${home ? ` data-home="${Bun.escapeHTML(home)}"` : ""}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<link rel="icon" href="${file("icon")}">
<link rel="preload" href="${file("font")}" as="font" type="font/woff2" crossorigin>
<link rel="stylesheet" href="${file("style")}">
${look.accent ? `<link rel="stylesheet" href="${at}/theme.css">\n` : ""}<script type="module" src="${file(page)}"></script>
</head>
<body><div id="app"></div><noscript><main class="signin"><div class="card stack"><h1>${title}</h1>
<p>This page needs JavaScript. The same can be done with the onair command and the API.</p></div></main></noscript></body>
</html>
`;
}

/*
 * Pages without scripts for signing in. They look like the console and the portal, and use only their font.
 */

/** The path at which a listener with such pages must serve the font. */
export const fontPath = "/inter.woff2";

export const htmlHeaders = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy":
    "default-src 'none'; style-src 'unsafe-inline'; font-src 'self'; img-src 'self' data:; frame-ancestors 'none'",
};

const style = `:root { color-scheme: light dark; --canvas: #f6f7f9; --surface: #fff; --line: #e2e5ea; --edge: #868e9c;
  --text: #14171c; --muted: #59616e; --accent: #4150d4; --on-accent: #fff; --link: #3a48c4 }
  @media (prefers-color-scheme: dark) { :root { --canvas: #0d0f13; --surface: #15181e; --line: #282d37; --edge: #687386;
  --text: #e9ecf1; --muted: #9ba4b4; --accent: #8f9bff; --on-accent: #0d0f13; --link: #a3adff } }
  * { box-sizing: border-box }
  body { display: grid; place-content: center; grid-template-columns: min(100%, 440px); gap: 20px; min-height: 100vh;
  margin: 0; padding: 16px; font: 14px/20px "Inter", system-ui, sans-serif; font-feature-settings: "tnum", "cv05", "ss03";
  color: var(--text); background: var(--canvas) }
  header { display: flex; align-items: center; justify-content: center; gap: 10px; font-size: 17px; font-weight: 650;
  letter-spacing: -.01em } header :is(svg, img) { width: 22px; height: 22px; object-fit: contain } header small { font-weight: 450; color: var(--muted) }
  main { padding: 28px; border: 1px solid var(--line); border-radius: 10px; background: var(--surface);
  box-shadow: 0 1px 2px rgb(16 24 40 / 5%); overflow-wrap: anywhere }
  h1 { margin: 0 0 12px; font-size: 20px; line-height: 1.3; letter-spacing: -.015em }
  p { margin: 12px 0 0 } ul { margin: 8px 0 0; padding-left: 20px } code { font-size: 12.5px }
  pre { margin: 8px 0 0; padding: 10px 12px; border: 1px solid var(--line); border-radius: 8px; white-space: pre-wrap }
  label { font-weight: 550 } form + p { color: var(--muted) }
  select { display: block; width: 100%; margin-top: 5px; padding: 8px 10px; border: 1px solid var(--edge); border-radius: 8px;
  font: inherit; color: inherit; background: var(--surface) }
  button { padding: 8px 14px; margin: 4px 8px 0 0; border: 1px solid var(--line); border-radius: 8px; font: inherit;
  font-weight: 550; color: inherit; background: var(--surface); cursor: pointer }
  button[value="allow"] { border-color: var(--accent); background: var(--accent); color: var(--on-accent) }
  a { color: var(--link) }
  :focus-visible { outline: 2px solid var(--mark, var(--accent)); outline-offset: 2px }`;

const lamp = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32" aria-hidden="true"><circle cx="16" cy="16" r="14" fill="#c81e4a"/><circle cx="16" cy="16" r="5" fill="#fff"/></svg>`;

interface PlainPage {
  readonly title: string;
  /** HTML. */
  readonly body: string;
  readonly look: PageLook;
  /** The relative URL of the root, which has the font and, below `docs`, the logo. */
  readonly root?: string;
}

/** Returns a page without scripts. */
export function htmlPage({ title, body, look: { title: name, accent, logo }, root = "" }: PlainPage): string {
  const font = `@font-face { font-family: "Inter"; src: url("${root}${fontPath.slice(1)}") format("woff2");
  font-weight: 100 900; font-display: swap }`;
  const picture = logo ? `<img src="${root}docs/logo" alt="">` : lamp;
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${Bun.escapeHTML(title)}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:image/svg+xml,${encodeURIComponent(lamp)}"><style>${font}
  ${style}${accent ? `\n  ${accentStyle(accent)}` : ""}</style></head>
<body><header>${picture}<span><bdi>${Bun.escapeHTML(name)}</bdi> <small>Sign in</small></span></header><main>${body}</main></body></html>`;
}
