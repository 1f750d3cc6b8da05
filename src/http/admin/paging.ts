import { Type } from "@sinclair/typebox";
import { CursorParameter, type Cursors, cursorCheck, positionOf } from "../cursors.ts";
import { readQuery } from "../query.ts";

const defaultResults = 25;

/** A list in the order of ids, of things that are called `what`. */
export function idList(what: string) {
  const query = Type.Object({
    limit: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 100,
        default: defaultResults,
        description: `How many ${what} to return.`,
      }),
    ),
    cursor: CursorParameter,
  });
  return {
    query,
    /** What a request asks for: how many, and behind which id, "" for the beginning. */
    read(url: string, cursors: Cursors): { readonly limit: number; readonly after: string } {
      const { limit = defaultResults, cursor } = readQuery(url, query, { cursor: cursorCheck(cursors) });
      const [after = ""] = positionOf<[string]>(cursors, cursor, what, "another list") ?? [];
      return { limit, after };
    },
    /** The page of what was found, of which one more than `limit` was asked for. */
    page<T>(found: readonly T[], limit: number, cursors: Cursors, idOf: (one: T) => string) {
      const rows = found.slice(0, limit);
      const last = rows.at(-1);
      const hasMore = found.length > limit;
      const cursor = hasMore && last !== undefined ? cursors.make([idOf(last)], what) : "";
      return { rows, pagination: { cursor, has_more: hasMore } };
    },
  };
}
