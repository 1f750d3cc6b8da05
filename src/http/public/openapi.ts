import type { AnyElysia } from "elysia";
import { asked } from "../server.ts";
import { type Cached, cached, replyCached } from "./cached.ts";
import type { Json } from "./reference-schemas.ts";

export const openApiPath = "/openapi.json";

/**
 * Serves the OpenAPI document of all routes of the app, made when it is first asked for. What makes it is loaded only
 * then, too: with the swagger plugin that takes 20 ms, for which no start should wait.
 */
export function openApiRoute(
  app: AnyElysia,
  publicUrl: () => string,
  document: (app: AnyElysia, url: string) => Promise<Json>,
): void {
  let made: { readonly url: string; readonly page: Promise<Cached> } | null = null;
  const current = (url: string): Promise<Cached> => {
    if (made?.url !== url) {
      const bytes = async () => new TextEncoder().encode(JSON.stringify(await document(app, url)));
      made = { url, page: bytes().then(cached) };
    }
    return made.page;
  };
  app.get(
    openApiPath,
    async (context) => {
      const { exchange } = asked(context);
      const page = await current(publicUrl());
      return replyCached(exchange, page, { "cache-control": "public, max-age=300" });
    },
    { parse: "none", detail: { hide: true } },
  );
}
