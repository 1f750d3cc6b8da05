import { swagger } from "@elysiajs/swagger";
import { type AnyElysia, Elysia } from "elysia";
import { version } from "../../runtime/version.ts";
import type { OpenApiDocument } from "../../web/site/reference.ts";
import { cacheableFor, cachedLast, contentOf, replyCompressed } from "../http/content.ts";
import type { RequestContext } from "../http/context.ts";
import { openGate } from "../http/input.ts";
import type { WrittenDocument } from "./document.ts";

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
