import type { TSchema } from "@sinclair/typebox";
import type { Json } from "./components.ts";

/*
 * What the macros of a listener add to the `detail` of a route, from where the swagger plugin takes it into the
 * document and `complete.ts` reads it.
 */

/** Where examples of routes say that the server is. The document has its real address in its place. */
export const exampleUrl = "http://127.0.0.1:8080";

/** What the OpenAPI document says of a route beside its schemas. */
export interface RouteDetail {
  readonly operationId: string;
  /** By default the words of `operationId`. */
  readonly summary?: string;
  readonly description: string;
  readonly tags: readonly string[];
  /** A body that the handler reads itself, because it may be NDJSON, which has no schema for Elysia. */
  readonly json?: { readonly schema: TSchema; readonly example: unknown };
  readonly ndjson?: { readonly description: string; readonly example: readonly unknown[] };
  /** A query that the handler reads itself. */
  readonly queryRead?: TSchema;
}

export interface DescribedRoute {
  detail?: Readonly<Record<string, unknown>>;
}

/** Adds to what the document says of a route; a route without an `operationId` has no place in it. */
export function describeRoute(route: DescribedRoute, added: Json): void {
  if (route.detail?.["operationId"] !== undefined) route.detail = { ...route.detail, ...added };
}

/** The keyword by which a route's detail carries the codes of its errors. */
export const errorCodes = "x-errors";
