import { type Static, Type } from "@sinclair/typebox";
import { type Cursors, cursorParameter, positionOf } from "../cursors.ts";
import { IntegerParameter } from "../parameters.ts";

const defaultResults = 25;

/** Query, cursor and page of a list in the order of ids. @param what the name of its items */
export function idList(what: string, cursors: Cursors) {
  const query = Type.Object({
    limit: Type.Optional(
      IntegerParameter({
        minimum: 1,
        maximum: 100,
        default: defaultResults,
        description: `How many ${what} to return.`,
      }),
    ),
    cursor: cursorParameter(cursors),
  });
  return {
    query,
    /** The requested number of items, and the id after which the page begins; "" for the first page. */
    requested({ limit = defaultResults, cursor }: Static<typeof query>) {
      const [after = ""] = positionOf<[string]>(cursors, cursor, what, "another list") ?? [];
      return { limit, after };
    },
    /** Builds the page from `found`, which was read with one item more than `limit`. */
    page<T>(found: readonly T[], limit: number, idOf: (one: T) => string) {
      const rows = found.slice(0, limit);
      const last = rows.at(-1);
      const hasMore = found.length > limit;
      const cursor = hasMore && last !== undefined ? cursors.make([idOf(last)], what) : "";
      return { rows, pagination: { cursor, has_more: hasMore } };
    },
  };
}
