import { type Static, Type } from "@sinclair/typebox";
import { type Cursors, cursorParameter, positionOf } from "../cursors.ts";
import { IntegerParameter } from "../parameters.ts";

const defaultResults = 25;

/** A list in the order of ids. @param what the name of its items */
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
    /**
     * The requested page. `read` gives up to a number of items whose id is after another; `""` begins. `idOf` gives the
     * id of an item, and `shown` what the answer has of it.
     */
    async page<Item, Shown>(
      { limit = defaultResults, cursor: from }: Static<typeof query>,
      { read, idOf, shown }: PageOptions<Item, Shown>,
    ) {
      const [after = ""] = positionOf<[string]>(cursors, from, what, "another list") ?? [];
      // One more than is asked for tells whether there is a next page.
      const found = await read(after, limit + 1);
      const items = found.slice(0, limit);
      const last = items.at(-1);
      const has_more = found.length > limit;
      const cursor = has_more && last !== undefined ? cursors.make([idOf(last)], what) : "";
      return { data: items.map(shown), pagination: { cursor, has_more }, message: "OK" };
    },
  };
}

interface PageOptions<Item, Shown> {
  read(after: string, limit: number): Promise<readonly Item[]>;
  idOf(item: Item): string;
  shown(item: Item): Shown;
}
