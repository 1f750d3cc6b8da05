import type { AnyElysia } from "elysia";
import { onceUnlessFailed, replyCached } from "../cached.ts";
import { encoded } from "../compression.ts";
import { openGate } from "../input.ts";
import { reply } from "../request-context.ts";
import { handlerContext } from "../server.ts";
import { fontBytes, fontHeaders, found, pageFiles, pageHeaders, replyFile, unlimitedGate } from "./files.ts";
import { fontPath } from "./standalone.ts";

const path = "/docs";

/** The documentation, loaded when it is first asked for. */
const site = onceUnlessFailed(async () => (await import("../../site/bundle.ts")).site());

/** Serves the documentation and its files, and the font of pages that have no files. What is below `/docs/api` is the API reference. */
export function docsRoutes(app: AnyElysia): void {
  const hooks = { transform: openGate, parse: "none" as const, detail: { hide: true } };
  const page = async (context: unknown) => {
    const { requestContext, params } = handlerContext(context);
    const { files, pages } = await site();
    const file = found(files, found(pages, params?.["page"] ?? ""));
    const { body, headers } = await encoded(requestContext, file);
    return replyCached(requestContext, body, { ...pageHeaders, ...headers });
  };
  app.get(path, page, hooks);
  app.get(`${path}/:page`, page, hooks);
  app.get(
    fontPath,
    async (context) => reply(handlerContext(context).requestContext, 200, await fontBytes(), fontHeaders),
    { ...hooks, transform: unlimitedGate },
  );
  app.get(
    `${path}/files/:file`,
    async (context) => {
      const { requestContext, params } = handlerContext(context);
      const name = params["file"] ?? "";
      const { files } = await site();
      const bytes = found(Object.hasOwn(files, name) ? files : (await pageFiles()).files, name);
      return replyFile(requestContext, name, bytes);
    },
    { ...hooks, transform: unlimitedGate },
  );
}
