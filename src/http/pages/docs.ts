import type { AnyElysia } from "elysia";
import { DomainError } from "../../domain/errors.ts";
import { type Cached, cached, onceUnlessFailed, replyCached } from "../cached.ts";
import { acceptsGzip, compress } from "../compression.ts";
import { openGate } from "../input.ts";
import { reply } from "../request-context.ts";
import { handlerContext } from "../server.ts";
import { fileReply, fontBytes, fontHeaders, pageFiles, pageHeaders, unlimitedGate } from "./files.ts";
import { fontPath } from "./standalone.ts";

const path = "/docs";

/** The documentation, loaded when it is first asked for. */
const site = onceUnlessFailed(async () => (await import("../../site/bundle.ts")).site());

/** The bodies of pages that were asked for, by file name and coding. */
const bodies = new Map<string, Promise<Cached>>();

/** Serves the documentation and its files, and the font of pages that have no files. What is below `/docs/api` is the API reference. */
export function docsRoutes(app: AnyElysia): void {
  const hooks = { transform: openGate, parse: "none" as const, detail: { hide: true } };
  const page = async (context: unknown) => {
    const { requestContext, params, request } = handlerContext(context);
    const { files, pages } = await site();
    const file = found(pages, params?.["page"] ?? "");
    const isGzip = acceptsGzip(request.headers.get("accept-encoding") ?? "");
    const key = `${file} ${isGzip}`;
    const body = bodies.get(key) ?? bodyOf(found(files, file), isGzip);
    bodies.set(key, body);
    return replyCached(requestContext, await body, {
      ...pageHeaders,
      vary: "accept-encoding",
      ...(isGzip && { "content-encoding": "gzip" }),
    });
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
      const { requestContext, params, request } = handlerContext(context);
      const name = params["file"] ?? "";
      const { files } = await site();
      const bytes = found(Object.hasOwn(files, name) ? files : (await pageFiles()).files, name);
      return fileReply(requestContext, request, name, bytes);
    },
    { ...hooks, transform: unlimitedGate },
  );
}

const bodyOf = async (bytes: Uint8Array<ArrayBuffer>, isGzip: boolean) =>
  cached(isGzip ? await compress(bytes) : bytes);

function found<T>(from: Readonly<Record<string, T>>, name: string): T {
  const value = Object.hasOwn(from, name) ? from[name] : undefined;
  if (value === undefined) throw new DomainError("not_found", "There is nothing at this path");
  return value;
}
