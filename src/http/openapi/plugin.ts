import { type ElysiaSwaggerConfig, swagger } from "@elysiajs/swagger";
import { type AnyElysia, Elysia } from "elysia";
import { contentOf, kept, keptFor, replyCompressed } from "../content.ts";
import { openGate } from "../input.ts";
import type { RequestContext } from "../request-context.ts";
import type { WrittenDocument } from "./complete.ts";
import { pageHeaders, scalarConfig, scriptPath, scriptRoute, tidied } from "./scalar.ts";

export const openApiPath = "/openapi.json";

/** What the reference of a listener is made from, beside what its routes declare. */
export interface Reference {
  /** Where its page is. */
  readonly path: string;
  /** Its `info` is what the page says of itself. */
  readonly documentation: NonNullable<ElysiaSwaggerConfig["documentation"]>;
  /** The security scheme that the page offers first. */
  readonly scheme: string;
  /** Where the listener is reached from outside, without a trailing slash. */
  readonly url: () => string;
  /** Makes the valid document of what the plugin writes, as JSON. Loads what it needs when it is called. */
  readonly complete: (written: WrittenDocument, url: string) => Promise<string>;
}

interface PluginContext {
  readonly requestContext: RequestContext;
  /** What the plugin answers. */
  readonly responseValue: unknown;
}

/**
 * Documents the routes of an app by `@elysiajs/swagger`: their OpenAPI document at `/openapi.json`, and a page by
 * Scalar, which works without the internet. Both are made when they are first asked for.
 */
export function openApiRoutes(app: AnyElysia, reference: Reference): void {
  const { path, documentation, scheme, url, complete } = reference;
  const script = scriptPath(path);
  const document = kept(
    async (written: WrittenDocument, url: string) => contentOf(await complete(written, url)),
    (_, url) => url,
  );
  const page = kept(pageOf);
  // Names what it uses of its context: from a hook that passes all of it on, Elysia concludes that every route of the app
  // uses all of it, and parses cookies for each request.
  const replace = async ({ requestContext, responseValue }: PluginContext): Promise<Response> => {
    if (requestContext.path === path) {
      return replyCompressed(requestContext, await page(responseValue), pageHeaders(url()));
    }
    const made = await document(responseValue as WrittenDocument, url());
    return replyCompressed(requestContext, made, keptFor(300));
  };
  const plugin = new Elysia()
    .onTransform(openGate)
    // Replaces what the plugin answers, which has neither our headers nor a line in the log. A boundary: the plugin's own
    // app does not know the context of the listener that it is added to.
    .onAfterHandle(replace as never)
    .use(
      swagger({
        path,
        specPath: openApiPath,
        scalarCDN: script,
        scalarConfig: scalarConfig(openApiPath, scheme),
        documentation,
        // It takes `/.well-known/…` for a file.
        excludeStaticFile: false,
      }),
    );
  app.use(plugin);
  scriptRoute(app, script);
}

/** The page, which Elysia hands over as a function that answers with it. */
async function pageOf(written: unknown) {
  const answer = (written as () => Response)();
  return contentOf(tidied(await answer.text(), openApiPath));
}
