import type { AnyElysia } from "elysia";
import { exampleAddresses, type Reader } from "../../web/site/names.ts";
import type { Site } from "../../web/site/pages.ts";
import type { OpenApiDocument } from "../../web/site/reference.ts";
import { accepts, type CompressibleContent, cachedLast, contentOf, replyCompressed } from "./content.ts";
import { type RequestContext, reply } from "./context.ts";
import {
  contentsOf,
  found,
  lookRoutes,
  type PageLook,
  pageFiles,
  pageHeaders,
  pageRoute,
  replyFile,
} from "./pages.ts";

/*
 * The documentation at `/docs` of both listeners, each for its readers, with the addresses and the name of the
 * platform.
 */

export const docsPath = "/docs";

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
export function docsRoutes(app: AnyElysia, options: DocsOptions) {
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

/** Whether the client is a browser, which gets a page in place of a JSON error. */
export const isBrowser = ({ request }: RequestContext) => accepts(request.headers.get("accept"), "text/html");
