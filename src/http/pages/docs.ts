import type { AnyElysia } from "elysia";
import { kept, replyCompressed, replyContent } from "../content.ts";
import { type RequestContext, reply } from "../request-context.ts";
import {
  contentsOf,
  font,
  fontHeaders,
  found,
  pageFiles,
  pageHeaders,
  pageRoute,
  replyFile,
} from "./files.ts";
import { fontPath } from "./standalone.ts";

const path = "/docs";

/** The documentation, loaded when it is first asked for. */
const site = kept(async () => {
  const { files, ...names } = await (await import("../../site/bundle.ts")).site();
  return { files: contentsOf(files), ...names };
});

/** Whether the client is a browser, which gets a page in place of a JSON error. */
const isBrowser = ({ request }: RequestContext) => request.headers.get("accept")?.includes("text/html");

/** Serves the documentation, its files, and the font of pages without files. `/docs/api` is the API reference. */
export function docsRoutes(app: AnyElysia): void {
  for (const of of [path, `${path}/:page`])
    pageRoute(app, "page", of, async (requestContext, { page = "" }) => {
      const { files, pages, missing } = await site();
      if (!Object.hasOwn(pages, page) && isBrowser(requestContext)) {
        const { body } = found(files, missing);
        return reply(requestContext, 404, body, { ...pageHeaders, vary: "accept" });
      }
      return replyCompressed(requestContext, found(files, found(pages, page)), pageHeaders);
    });
  pageRoute(app, "file", fontPath, async (requestContext) =>
    replyContent(requestContext, await font(), fontHeaders),
  );
  pageRoute(app, "file", `${path}/files/:file`, async (requestContext, { file = "" }) => {
    const { files } = await site();
    const content = found(Object.hasOwn(files, file) ? files : (await pageFiles()).files, file);
    return replyFile(requestContext, file, content);
  });
}
