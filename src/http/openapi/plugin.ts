import { type ElysiaSwaggerConfig, swagger } from "@elysiajs/swagger";
import { type AnyElysia, Elysia } from "elysia";
import { contentOf, kept, keptFor, replyCompressed } from "../content.ts";
import { openGate } from "../input.ts";
import type { RequestContext } from "../request-context.ts";
import type { WrittenDocument } from "./complete.ts";
import { pageHeaders, scalarConfig, scriptPath, scriptRoute, tidied } from "./scalar.ts";

export const openApiPath = "/openapi.json";

/** The settings of a listener's reference, in addition to the declarations of its routes. */
export interface Reference {
  /** The path of its page. */
  readonly path: string;
  /** Sections of the document; the page uses only its `info`. */
  readonly documentation: NonNullable<ElysiaSwaggerConfig["documentation"]>;
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
 * Documents the routes of an app with `@elysiajs/swagger`: an OpenAPI document at `/openapi.json`, and a page of Scalar
 * that works without the internet. Both are made on the first request.
 */
export function openApiRoutes(app: AnyElysia, reference: Reference): void {
  const { path, documentation, scheme, url, complete } = reference;
  const script = scriptPath(path);
  const document = kept(
    async (written: WrittenDocument, url: string) => contentOf(await complete(written, url)),
    (_, url) => url,
  );
  const page = kept(pageOf);
  // Destructures its context: for a hook that passes on the whole context, Elysia assumes that every route uses all of
  // it, and parses cookies for each request.
  const replace = async ({ requestContext, responseValue }: PluginContext): Promise<Response> => {
    if (requestContext.path === path) {
      return replyCompressed(requestContext, await page(responseValue), pageHeaders(url()));
    }
    const made = await document(responseValue as WrittenDocument, url());
    return replyCompressed(requestContext, made, keptFor(300));
  };
  const plugin = new Elysia()
    .onTransform(openGate)
    // Replaces the plugin's responses, which have neither the listener's headers nor a log line. A boundary: the type
    // of the plugin's app does not include the context of the listener.
    .onAfterHandle(replace as never)
    .use(
      swagger({
        path,
        specPath: openApiPath,
        scalarCDN: script,
        scalarConfig: scalarConfig(openApiPath, scheme),
        documentation,
        // The plugin would treat `/.well-known/…` as a file.
        excludeStaticFile: false,
      }),
    );
  app.use(plugin);
  scriptRoute(app, script);
}

/** Returns the content of the page. @param written the plugin's page, a function that returns a response */
async function pageOf(written: unknown) {
  const answer = (written as () => Response)();
  return contentOf(tidied(await answer.text(), openApiPath));
}
