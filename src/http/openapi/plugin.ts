import { type ElysiaSwaggerConfig, swagger } from "@elysiajs/swagger";
import { type AnyElysia, Elysia } from "elysia";
import { type Cached, cached, replyCached } from "../cached.ts";
import { openGate } from "../input.ts";
import { handlerContext } from "../server.ts";
import type { WrittenDocument } from "./complete.ts";
import { docsPath, pageHeaders, scalarConfig, scriptPath, scriptRoute, tidied } from "./scalar.ts";

export const openApiPath = "/openapi.json";

/** What the reference of a listener is made from, beside what its routes declare. */
export interface Reference {
  /** Its `info` is what the page says of itself. */
  readonly documentation: NonNullable<ElysiaSwaggerConfig["documentation"]>;
  /** The security scheme that the page offers first. */
  readonly scheme: string;
  /** Where the listener is reached from outside, without a trailing slash. */
  readonly url: () => string;
  /** Makes the valid document of what the plugin writes, as JSON. Loads what it needs when it is called. */
  readonly complete: (written: WrittenDocument, url: string) => Promise<string>;
}

/**
 * Documents the routes of an app by `@elysiajs/swagger`: their OpenAPI document at `/openapi.json`, and a page by
 * Scalar at `/docs`, which works without the internet. Both are made when they are first asked for.
 */
export function openApiRoutes(app: AnyElysia, reference: Reference): void {
  const { documentation, scheme, url } = reference;
  const document = documentOf(reference);
  const page = pageOf();
  const plugin = new Elysia()
    .onTransform(openGate)
    // Replaces what the plugin answers, which has neither our headers nor a line in the log.
    .onAfterHandle(async (context) => {
      const { requestContext } = handlerContext(context);
      if (context.route === docsPath) {
        return replyCached(requestContext, await page(context.responseValue), pageHeaders(url()));
      }
      const made = await document(context.responseValue as WrittenDocument, url());
      return replyCached(requestContext, made, { "cache-control": "public, max-age=300" });
    })
    .use(
      swagger({
        path: docsPath,
        specPath: openApiPath,
        scalarCDN: scriptPath,
        scalarConfig: scalarConfig(openApiPath, scheme),
        documentation,
        // It takes `/.well-known/…` for a file.
        excludeStaticFile: false,
      }),
    );
  app.use(plugin);
  scriptRoute(app);
}

/** The document for an address, kept for the next request. */
function documentOf({ complete }: Reference) {
  let made: { readonly url: string; readonly document: Promise<Cached> } | null = null;
  const make = async (written: WrittenDocument, url: string) => cachedText(await complete(written, url));
  return (written: WrittenDocument, url: string): Promise<Cached> => {
    if (made?.url === url) return made.document;
    const document = make(written, url);
    made = { url, document };
    // What failed is made anew when it is next asked for.
    document.catch(() => {
      made = null;
    });
    return document;
  };
}

/** The page, which Elysia hands over as a function that answers with it. */
function pageOf() {
  let made: Promise<Cached> | null = null;
  const make = async (written: unknown) => {
    const answer = typeof written === "function" ? written() : written;
    return cachedText(tidied(await (answer as Response).text()));
  };
  return (written: unknown): Promise<Cached> => {
    made ??= make(written).catch((error) => {
      made = null;
      throw error;
    });
    return made;
  };
}

function cachedText(text: string): Cached {
  return cached(new TextEncoder().encode(text));
}
