import { swagger } from "@elysiajs/swagger";
import { type AnyElysia, Elysia } from "elysia";
import { dependencies } from "../../../package.json";
import { version } from "../../runtime/version.ts";
import { cacheableFor, cachedLast, contentOf, replyCompressed } from "../http/content.ts";
import type { ExtraHeaders, RequestContext } from "../http/context.ts";
import { openGate } from "../http/input.ts";
import { pageRoute } from "../http/pages.ts";
import type { WrittenDocument } from "./document.ts";
import { scalarScript } from "./scalar-script.ts";

/*
 * The page of the API reference, rendered by Scalar's script. It makes no requests to other servers.
 */

/** The path of the script. Its name contains the version, so that it can be cached for ever. */
const scriptPath = (pagePath: string) =>
  `${pagePath}/scalar-${dependencies["@scalar/fastify-api-reference"]}.js`;

/**
 * Colours of the other pages, and system fonts in place of Scalar's, which come from the internet. Long lines of code
 * wrap instead of overflowing, and names such as scopes are not broken.
 */
const style = `
  :root { --scalar-font: system-ui, sans-serif; --scalar-font-code: ui-monospace, monospace; }
  .light-mode {
    --scalar-color-1: #14171c; --scalar-color-2: #59616e; --scalar-color-accent: #4150d4;
    --scalar-background-2: #f6f7f9; --scalar-border-color: #e2e5ea;
  }
  .dark-mode {
    --scalar-color-1: #e9ecf1; --scalar-color-2: #9ba4b4; --scalar-color-accent: #8f9bff;
    --scalar-background-1: #0d0f13; --scalar-background-2: #15181e; --scalar-border-color: #282d37;
  }
  .scalar-app pre { width: auto; text-wrap: wrap; }
  .scalar-app pre, .scalar-app pre code.hljs, .scalar-app pre code.hljs * {
    white-space: pre-wrap; overflow-wrap: anywhere; word-break: normal;
  }
  .scalar-app pre code.hljs { --number: calc(var(--line-digits) * 1ch + 0.875rem); }
  .scalar-app pre code.hljs:has(.line) { display: block; padding-left: var(--number); }
  .scalar-app pre code.hljs .line::before { margin-left: calc(-1 * var(--number)); }
  .scalar-app .markdown :is(td, th, code) { word-break: normal; overflow-wrap: break-word; }
  .scalar-app .markdown :is(p, li, td) code { display: inline-block; max-width: 100%; }
  .scalar-app .markdown :is(td, th):first-child code { white-space: nowrap; }
  @media (max-width: 600px) { .scalar-app .markdown table { display: block; overflow-x: auto; } }
`;

const favicon =
  "data:image/svg+xml,%3Csvg xmlns=%22http://www.w3.org/2000/svg%22 viewBox=%220 0 32 32%22%3E%3Ccircle cx=%2216%22 cy=%2216%22 r=%2214%22 fill=%22%23c81e4a%22/%3E%3Ccircle cx=%2216%22 cy=%2216%22 r=%225%22 fill=%22white%22/%3E%3C/svg%3E";

/** Returns Scalar's configuration. @param scheme the security scheme that the page preselects */
function scalarConfig(documentPath: string, scheme: string) {
  return {
    url: documentPath,
    authentication: { preferredSecurityScheme: scheme },
    withDefaultFonts: false,
    telemetry: false,
    proxyUrl: "",
    hideClientButton: true,
    showDeveloperTools: "never",
    agent: { disabled: true },
    mcp: { disabled: true },
    documentDownloadType: "json",
    modelsSectionLabel: "Schemas",
    favicon,
    customCss: style,
  } as const;
}

/** Serves Scalar's script, of 4 MB. It is read on the first request, and compressed outside the event loop. */
function scriptRoute(app: AnyElysia, path: string): void {
  const script = cachedLast(async () => contentOf(await scalarScript()));
  const headers = {
    "content-type": "text/javascript; charset=utf-8",
    "cache-control": "public, max-age=31536000, immutable",
  };
  pageRoute(app, "page", path, async (requestContext) =>
    replyCompressed(requestContext, await script(), headers),
  );
}

/** Applies changes for which the plugin has no option: the language, the document's URL, and no inline script. */
function tidied(page: string, documentPath: string): string {
  return (
    page
      .replace("<html>", '<html lang="en">')
      .replace(/data-url="[^"]*"/, `data-url="${documentPath}"`)
      // A deprecated form of `url`, about which Scalar warns.
      .replace(/"spec":\{[^}]*\},/, "")
      // White space alone counts as an inline script, which the policy forbids.
      .replace(/>\s+<\/script>/, "></script>")
  );
}

/**
 * Returns the headers of the page. Scripts must come from this server; inline styles are allowed, because Scalar uses
 * them.
 */
export function pageHeaders(publicUrl: string): ExtraHeaders {
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data: blob:",
    "font-src 'self' data:",
    // "Try it" requests go to the URL in the document, which may be another name of this server.
    `connect-src 'self' ${new URL(publicUrl).origin}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ];
  return {
    "content-type": "text/html; charset=utf-8",
    "cache-control": "no-cache",
    "content-security-policy": policy.join("; "),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
  };
}

export const openApiPath = "/openapi.json";
/** The path of the same document in OpenAPI 3.0. */
export const openApi30Path = "/openapi-3.0.json";

/** The settings of a listener's reference, in addition to the declarations of its routes. */
interface Reference {
  /** The path of its page. */
  readonly path: string;
  /** The title of its page. */
  readonly title: string;
  /** The security scheme that the page preselects. */
  readonly scheme: string;
  /** The external URL of the listener, without a trailing slash. */
  readonly url: () => string;
  /** Returns the valid document as JSON, made from the plugin's. Loads its modules when it is called. */
  readonly complete: (written: WrittenDocument, url: string) => Promise<string>;
}

interface PluginContext {
  readonly requestContext: RequestContext;
  /** The plugin's own response. */
  readonly responseValue: unknown;
}

/**
 * Documents the routes of an app with `@elysiajs/swagger`: an OpenAPI document at `/openapi.json`, its form for
 * generators that read nothing newer than OpenAPI 3.0 at `/openapi-3.0.json`, and a page of Scalar that works without
 * the internet. Each is made on the first request.
 */
export function openApiRoutes(app: AnyElysia, reference: Reference): void {
  const { path, title, scheme, url, complete } = reference;
  const script = scriptPath(path);
  const document = cachedLast(
    async (written: WrittenDocument, url: string) => contentOf(await complete(written, url)),
    (_, url) => url,
  );
  const document30 = cachedLast(
    async (written: WrittenDocument, url: string) =>
      contentOf((await import("./openapi-3.0.ts")).openApi30(await complete(written, url))),
    (_, url) => url,
  );
  const page = cachedLast(pageOf);
  // Not `opaque`, because Elysia ignores the result of a hook whose source is hidden. It destructures its context
  // instead: for a hook that passes on the whole context, Elysia parses the cookies of each request.
  const replace = async ({ requestContext, responseValue }: PluginContext): Promise<Response> => {
    if (requestContext.path === path) {
      return replyCompressed(requestContext, await page(responseValue), pageHeaders(url()));
    }
    const make = requestContext.path === openApi30Path ? document30 : document;
    const made = await make(responseValue as WrittenDocument, url());
    return replyCompressed(requestContext, made, cacheableFor(300));
  };
  const documented = swagger({
    path,
    specPath: openApiPath,
    scalarCDN: script,
    scalarConfig: scalarConfig(openApiPath, scheme),
    documentation: { info: { title, description: `Reference of the ${title}.`, version } },
    // The plugin would treat `/.well-known/…` as a file.
    excludeStaticFile: false,
  });
  const written = documented.routes.find((route) => route.path === openApiPath)?.handler;
  const plugin = new Elysia()
    .onTransform(openGate)
    // Replaces the plugin's responses, which have neither the listener's headers nor a log line. A boundary: the type
    // of the plugin's app does not include the context of the listener.
    .onAfterHandle(replace as never)
    .use(documented)
    .get(openApi30Path, written as never, { detail: { hide: true } });
  app.use(plugin);
  scriptRoute(app, script);
}

/** Returns the content of the page. @param written the plugin's page, a function that returns a response */
async function pageOf(written: unknown) {
  const answer = (written as () => Response)();
  return contentOf(tidied(await answer.text(), openApiPath));
}
