import type { AnyElysia } from "elysia";
import { kept, replyCompressed, replyContent } from "../content.ts";
import { openGate } from "../input.ts";
import { handlerContext } from "../server.ts";
import {
  contentsOf,
  font,
  fontHeaders,
  found,
  pageFiles,
  pageHeaders,
  replyFile,
  unlimitedGate,
} from "./files.ts";
import { fontPath } from "./standalone.ts";

const path = "/docs";

/** The documentation, loaded when it is first asked for. */
const site = kept(async () => {
  const { files, pages } = await (await import("../../site/bundle.ts")).site();
  return { files: contentsOf(files), pages };
});

/** Serves the documentation and its files, and the font of pages that have no files. What is below `/docs/api` is the API reference. */
export function docsRoutes(app: AnyElysia): void {
  const hooks = { transform: openGate, parse: "none" as const, detail: { hide: true } };
  const page = async (context: unknown) => {
    const { requestContext, params } = handlerContext(context);
    const { files, pages } = await site();
    const file = found(files, found(pages, params?.["page"] ?? ""));
    return replyCompressed(requestContext, file, pageHeaders);
  };
  app.get(path, page, hooks);
  app.get(`${path}/:page`, page, hooks);
  app.get(
    fontPath,
    async (context) => replyContent(handlerContext(context).requestContext, await font(), fontHeaders),
    { ...hooks, transform: unlimitedGate },
  );
  app.get(
    `${path}/files/:file`,
    async (context) => {
      const { requestContext, params } = handlerContext(context);
      const name = params["file"] ?? "";
      const { files } = await site();
      const file = found(Object.hasOwn(files, name) ? files : (await pageFiles()).files, name);
      return replyFile(requestContext, name, file);
    },
    { ...hooks, transform: unlimitedGate },
  );
}
