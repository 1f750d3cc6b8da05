import type { TSchema } from "@sinclair/typebox";
import type { Json } from "./components.ts";

/*
 * Additions of a listener's macros to the `detail` of a route. The swagger plugin copies them to the document, where
 * `complete.ts` reads them.
 */

/** The server's URL in the examples of routes. The document replaces it by the real one. */
export const exampleUrl = "http://127.0.0.1:8080";

/** The documentation of a route in addition to its schemas. */
export interface RouteDetail {
  readonly operationId: string;
  /** The default is the words of `operationId`. */
  readonly summary?: string;
  readonly description: string;
  readonly tags: readonly string[];
  /** A body that the handler reads, because it may be NDJSON, for which Elysia has no schema. */
  readonly json?: { readonly schema: TSchema; readonly example: unknown };
  readonly ndjson?: { readonly description: string; readonly example: readonly unknown[] };
  /** A query that the handler reads. */
  readonly queryRead?: TSchema;
}

export interface DescribedRoute {
  detail?: Readonly<Record<string, unknown>>;
}

/** Adds to the documentation of a route. A route without an `operationId` is not documented. */
export function describeRoute(route: DescribedRoute, added: Json): void {
  if (route.detail?.["operationId"] !== undefined) route.detail = { ...route.detail, ...added };
}

/** The keyword for the error codes in a route's `detail`. */
export const errorCodes = "x-errors";
