import type { AnyElysia } from "elysia";
import scalarFile from "../../../node_modules/@scalar/api-reference/dist/browser/standalone.js" with {
  type: "file",
};
import { version } from "../../version.ts";
import { reply } from "../exchange.ts";
import { asked, nothingHere } from "../server.ts";
import { cached, replyCached } from "./cached.ts";
import { openApiPath } from "./openapi.ts";

const docsPath = "/docs";

/** Scalar's colours and fonts; its own fonts would come from the internet. */
const style = `
  :root { --scalar-font: system-ui, sans-serif; --scalar-font-code: ui-monospace, monospace; }
  .light-mode { --scalar-color-accent: #c81e4a; }
  .dark-mode { --scalar-color-accent: #ff5c82; }
`;

const favicon =
  "data:image/svg+xml,%3Csvg xmlns=%22http://www.w3.org/2000/svg%22 viewBox=%220 0 32 32%22%3E%3Ccircle cx=%2216%22 cy=%2216%22 r=%2214%22 fill=%22%23c81e4a%22/%3E%3Ccircle cx=%2216%22 cy=%2216%22 r=%225%22 fill=%22white%22/%3E%3C/svg%3E";

/** Nothing of the page calls any other server. */
const scalarConfig = {
  url: openApiPath,
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
};

/** Beside the event loop. node:zlib is loaded only for this, because that takes 5 ms. */
function compress(bytes: Uint8Array): Promise<Uint8Array<ArrayBuffer>> {
  const { promise, resolve, reject } = Promise.withResolvers<Uint8Array<ArrayBuffer>>();
  process.getBuiltinModule("node:zlib").gzip(bytes, (error, compressed) => {
    if (error) reject(error);
    else resolve(new Uint8Array(compressed));
  });
  return promise;
}

export interface DocsOptions {
  readonly title: string;
  /** The security scheme that the page offers first. */
  readonly scheme: string;
  /** Where the listener is reached from outside, without a trailing slash. */
  readonly publicUrl: () => string;
}

/** The API reference for people: a page by Scalar that works without the internet. */
export function docsRoutes(app: AnyElysia, { title, scheme, publicUrl }: DocsOptions): void {
  // Scalar's script has 4 MB: it is read when it is first asked for, and compressed beside the event loop.
  const script = once(async () => {
    const bytes = await Bun.file(scalarFile).bytes();
    return { bytes, name: `scalar-${Bun.hash(bytes).toString(36)}.js` };
  });
  const gzipped = once(async () => compress((await script()).bytes));
  const page = once(async () =>
    cached(new TextEncoder().encode(await docsPage((await script()).name, title, scheme))),
  );
  const hidden = { parse: "none" as const, detail: { hide: true } };

  app.get(
    docsPath,
    async (context) => {
      const { exchange } = asked(context);
      return replyCached(exchange, await page(), {
        "content-type": "text/html; charset=utf-8",
        "cache-control": "no-cache",
        "content-security-policy": securityPolicy(publicUrl()),
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
      });
    },
    hidden,
  );

  app.get(
    `${docsPath}/:script`,
    async (context) => {
      const { exchange, request, params } = asked(context);
      const { name, bytes } = await script();
      if (params["script"] !== name) throw nothingHere;
      const compressed = acceptsGzip(request.headers.get("accept-encoding") ?? "");
      return reply(exchange, 200, compressed ? await gzipped() : bytes, {
        "content-type": "text/javascript; charset=utf-8",
        "cache-control": "public, max-age=31536000, immutable",
        vary: "accept-encoding",
        ...(compressed && { "content-encoding": "gzip" }),
      });
    },
    hidden,
  );
}

/** The page as the plugin writes it, told where our copy of the script is. */
async function docsPage(scriptName: string, title: string, scheme: string): Promise<string> {
  const { askPlugin } = await import("./document.ts");
  const written = await askPlugin(docsPath, {
    path: docsPath,
    specPath: openApiPath,
    scalarCDN: `${docsPath}/${scriptName}`,
    scalarConfig: { ...scalarConfig, authentication: { preferredSecurityScheme: scheme } },
    documentation: { info: { title, description: `Reference of the ${title}.`, version } },
  });
  const withoutScript = `<noscript>This page needs JavaScript; the same is at <a href="${openApiPath}">${openApiPath}</a>.</noscript>`;
  return (
    written
      .replace("<html>", '<html lang="en">')
      .replace("</head>", `<link rel="icon" href="${favicon}"></head>`)
      .replace("<body>", `<body>${withoutScript}`)
      // The plugin's way to say `url`, which Scalar warns of.
      .replace(`"spec":{"url":"${openApiPath.slice(1)}"},`, "")
      // Even white space between the tags counts as a script in the page, which the policy forbids.
      .replace(/>\s+<\/script>/, "></script>")
  );
}

/** Scripts are ours alone. Styles may stand in the page, because Scalar writes them there. */
function securityPolicy(publicUrl: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data: blob:",
    "font-src 'self' data:",
    // Requests that are tried out go to the address in the document, which may be another name of this server.
    `connect-src 'self' ${new URL(publicUrl).origin}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
}

/** Whether a header Accept-Encoding allows gzip (RFC 9110, section 12.5.3). */
function acceptsGzip(header: string): boolean {
  return header
    .toLowerCase()
    .split(",")
    .some((part) => {
      const [coding = "", weight = ""] = part.split(";").map((word) => word.trim());
      return coding === "gzip" && !/^q=0(\.0*)?$/.test(weight);
    });
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | null = null;
  return () => {
    made ??= make();
    return made;
  };
}
