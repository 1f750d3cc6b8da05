import { type Static, Type } from "@sinclair/typebox";
import { type Cursors, cursorParameter, positionOf } from "../cursors.ts";
import { IntegerParameter } from "../parameters.ts";

const defaultResults = 25;

/** A list in the order of ids, of things that are called `what`. */
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
    /** What a request asks for: how many, and behind which id, "" for the beginning. */
    asked({ limit = defaultResults, cursor }: Static<typeof query>) {
      const [after = ""] = positionOf<[string]>(cursors, cursor, what, "another list") ?? [];
      return { limit, after };
    },
    /** The page of what was found, of which one more than `limit` was asked for. */
    page<T>(found: readonly T[], limit: number, idOf: (one: T) => string) {
      const rows = found.slice(0, limit);
      const last = rows.at(-1);
      const hasMore = found.length > limit;
      const cursor = hasMore && last !== undefined ? cursors.make([idOf(last)], what) : "";
      return { rows, pagination: { cursor, has_more: hasMore } };
    },
  };
}
