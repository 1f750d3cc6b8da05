import { swagger } from "@elysiajs/swagger";
import { type AnyElysia, Elysia } from "elysia";
import { version } from "../../runtime/version.ts";
import { exampleAddresses, type Reader } from "../../web/site/names.ts";
import type { OpenApiDocument } from "../../web/site/openapi.ts";
import type { Site } from "../../web/site/pages.ts";
import {
  type CompressibleContent,
  cacheableFor,
  cachedLast,
  contentOf,
  isBrowser,
  replyCompressed,
} from "../http/content.ts";
import { type RequestContext, reply } from "../http/context.ts";
import { openGate } from "../http/input.ts";
import {
  contentsOf,
  docsPath,
  found,
  lookRoutes,
  type PageLook,
  pageFiles,
  pageHeaders,
  pageRoute,
  replyFile,
} from "../http/pages.ts";
import type { WrittenDocument } from "./document.ts";

/*
 * The documentation of a listener: pages at `/docs` for its readers, with the addresses and the name of the platform,
 * and the OpenAPI documents, from which the page of the API reference is made.
 */

interface DocsOptions {
  /** Whose pages the listener serves. */
  readonly reader: Reader;
  readonly look: PageLook;
  /** The URL of this listener from outside; null if it is not a setting. */
  readonly setUrl: string | null;
  /** The URL of this listener, for requests that do not say at which address they were made. */
  readonly url: () => string;
  /** The URL of the public listener from outside. */
  readonly publicUrl: () => string;
}

/** The documentation, loaded when it is first asked for. */
const loaded = cachedLast(async () => {
  const [{ files, ...site }, pages, reference] = await Promise.all([
    import("../../web/site/bundle.ts").then(({ site }) => site()),
    import("../../web/site/pages.ts"),
    import("../../web/site/reference.ts"),
  ]);
  return { files: contentsOf(files), ...site, ...pages, ...reference };
});

type Loaded = Awaited<ReturnType<typeof loaded>>;

/** A host name or address with an optional port, as browsers send it. */
const plainHost = /^(?:[a-z0-9](?:[a-z0-9._-]{0,251}[a-z0-9])?|\[[0-9a-f:.]{2,45}\])(?::[0-9]{1,5})?$/i;

/**
 * Returns the URL under which a request reached a listener: by its `Host`, which a page of another origin cannot
 * set in a browser. No forwarding header is read. @param url the answer if the header is missing or has another form
 */
function urlOfRequest({ request }: RequestContext, url: string): string {
  const host = request.headers.get("host") ?? "";
  const origin = `${new URL(url).protocol}//${host.toLowerCase()}`;
  // A port above 65535, or a last label that is a number, is in no URL.
  return plainHost.test(host) && URL.canParse(origin) ? origin : url;
}

/** Serves the documentation and its files. Returns what answers with the API reference. */
function docsRoutes(app: AnyElysia, options: DocsOptions) {
  const { reader, look, setUrl, url, publicUrl } = options;
  const siteOf = ({ groups, parts }: Loaded): Site => {
    const { title, accent = null, logo = null } = look;
    return { reader, groups, parts, title, hasAccent: accent !== null, hasLogo: logo !== null };
  };
  /** The last content by its name, with the addresses that it has. Requests at the same time share it. */
  const contents = new Map<string, { readonly at: string; readonly content: Promise<CompressibleContent> }>();
  const addressesOf = (requestContext: RequestContext) => {
    const own = setUrl ?? urlOfRequest(requestContext, url());
    return reader === "operator"
      ? { own, public: publicUrl(), admin: own }
      : { own, public: own, admin: null };
  };
  const send = async (
    requestContext: RequestContext,
    name: string,
    make: (site: Site, from: Loaded) => string | Promise<string>,
    type = "text/html; charset=utf-8",
  ) => {
    const real = addressesOf(requestContext);
    const at = `${real.public} ${real.admin}`;
    const contentAt = async () => {
      const from = await loaded();
      return contentOf(from.addressed(reader, await make(siteOf(from), from), real));
    };
    let made = contents.get(name);
    if (made?.at !== at) {
      made = { at, content: contentAt() };
      contents.set(name, made);
      made.content.catch(() => contents.delete(name));
    }
    return replyCompressed(requestContext, await made.content, {
      ...pageHeaders,
      "content-type": type,
      // An address that a client sent is in no answer that a cache could give to others.
      ...(setUrl === null && { "cache-control": "private, no-cache" }),
      "content-security-policy": policyOf(real.own),
    });
  };
  lookRoutes(app, docsPath, look);
  pageRoute(app, "page", docsPath, (requestContext) =>
    send(requestContext, "", (site, { frontHtml }) => frontHtml(site)),
  );
  pageRoute(app, "page", `${docsPath}/search.json`, (requestContext) =>
    send(
      requestContext,
      "search.json",
      (site, { searchEntries, documents }) => searchEntries(site, documents),
      "application/json",
    ),
  );
  pageRoute(app, "page", `${docsPath}/:page`, async (requestContext, { page: name = "" }) => {
    const from = await loaded();
    const site = siteOf(from);
    const document = from.namesOf(site).includes(name) ? from.documents[name] : undefined;
    if (document) return send(requestContext, name, () => from.documentHtml(site, name, document));
    if (!isBrowser(requestContext)) return found({}, name);
    const html = from.addressed(reader, from.missingHtml(site), addressesOf(requestContext));
    return reply(requestContext, 404, html, { ...pageHeaders, vary: "accept" });
  });
  pageRoute(app, "file", `${docsPath}/files/:file`, async (requestContext, { file = "" }) => {
    const { files } = await loaded();
    const content = found(Object.hasOwn(files, file) ? files : (await pageFiles()).files, file);
    return replyFile(requestContext, file, content);
  });
  const example = reader === "operator" ? exampleAddresses.admin : exampleAddresses.public;
  const referenceOf = cachedLast(async (documentAt: (url: string) => Promise<OpenApiDocument>) =>
    (await loaded()).referenceOf(await documentAt(example)),
  );
  return (requestContext: RequestContext, documentAt: (url: string) => Promise<OpenApiDocument>) =>
    send(requestContext, "api", async (site, { referenceHtml }) =>
      referenceHtml(site, await referenceOf(documentAt)),
    );
}

/** The policy of a page that may also send requests to the listener at its own address, which may be another name. */
const policyOf = (own: string) =>
  String(pageHeaders["content-security-policy"]).replace("connect-src 'self'", `$& ${new URL(own).origin}`);

export const openApiPath = "/openapi.json";
/** The path of the same document in OpenAPI 3.0. */
export const openApi30Path = "/openapi-3.0.json";
/** The path of the API reference. */
const referencePath = "/docs/api";

/** The settings of a listener's documents, in addition to the declarations of its routes. */
interface Documented {
  /** The title of the documents. */
  readonly title: string;
  /** The external URL of the listener, without a trailing slash. */
  readonly url: () => string;
  /** Returns the valid document as JSON, made from the plugin's. Loads its modules when it is called. */
  readonly complete: (written: WrittenDocument, url: string) => Promise<string>;
  /** Answers with the API reference. @param documentAt returns the document of a listener at this URL */
  readonly page: (
    requestContext: RequestContext,
    documentAt: (url: string) => Promise<OpenApiDocument>,
  ) => Promise<Response>;
}

interface PluginContext {
  readonly requestContext: RequestContext;
  /** The plugin's own response. */
  readonly responseValue: unknown;
}

/**
 * Documents the routes of an app with `@elysiajs/swagger`: an OpenAPI document at `/openapi.json`, its form for
 * generators that read nothing newer than OpenAPI 3.0 at `/openapi-3.0.json`, and a page at `/docs/api` in place of the
 * plugin's, which loads its viewer from the internet. Each is made on the first request.
 */
export function openApiRoutes(app: AnyElysia, { title, url, complete, page }: Documented): void {
  const document = cachedLast(
    async (written: WrittenDocument, url: string) => contentOf(await complete(written, url)),
    (_, url) => url,
  );
  const document30 = cachedLast(
    async (written: WrittenDocument, url: string) =>
      contentOf((await import("./openapi-3.0.ts")).openApi30(await complete(written, url))),
    (_, url) => url,
  );
  const documented = swagger({
    path: referencePath,
    specPath: openApiPath,
    documentation: { info: { title, description: `Reference of the ${title}.`, version } },
    // The plugin would treat `/.well-known/…` as a file.
    excludeStaticFile: false,
  });
  const write = documented.routes.find((route) => route.path === openApiPath)
    ?.handler as () => WrittenDocument;
  // Not `opaque`, because Elysia ignores the result of a hook whose source is hidden. It destructures its context
  // instead: for a hook that passes on the whole context, Elysia parses the cookies of each request.
  const replace = async ({ requestContext, responseValue }: PluginContext): Promise<Response> => {
    if (requestContext.path === referencePath)
      return page(requestContext, async (url) => JSON.parse(await complete(write(), url)));
    const make = requestContext.path === openApi30Path ? document30 : document;
    const made = await make(responseValue as WrittenDocument, url());
    return replyCompressed(requestContext, made, cacheableFor(300));
  };
  const plugin = new Elysia()
    .onTransform(openGate)
    // Replaces the plugin's responses, which have neither the listener's headers nor a log line. A boundary: the type
    // of the plugin's app does not include the context of the listener.
    .onAfterHandle(replace as never)
    .use(documented)
    .get(openApi30Path, write as never, { detail: { hide: true } });
  app.use(plugin);
}

/** Serves the documentation of a listener and its OpenAPI documents. */
export function documentationRoutes(
  app: AnyElysia,
  { title, complete, ...docs }: DocsOptions & Omit<Documented, "page">,
): void {
  openApiRoutes(app, { title, url: docs.url, complete, page: docsRoutes(app, docs) });
}
