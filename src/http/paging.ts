import { type Static, Type } from "@sinclair/typebox";
import { type Cursors, cursorParameter, positionOf as positionIn } from "./cursors.ts";
import { IntegerParameter } from "./parameters.ts";

const defaultResults = 25;

const maxResults = 100;

interface Listed<Position extends string | number, Item, Shown> {
  /** Up to a number of items behind a position; null begins. */
  read(behind: Position | null, limit: number): Promise<readonly Item[]>;
  positionOf(item: Item): Position;
  /** What the answer has of an item. */
  shown(item: Item): Shown;
  /** What the list is limited to: a cursor belongs to it. */
  readonly filter?: string;
}

/** A list in pages. @param what the name of its items */
export function pagedList(what: string, cursors: Cursors) {
  const description = `How many ${what} to return.`;
  const limit = IntegerParameter({ minimum: 1, maximum: maxResults, default: defaultResults, description });
  const query = Type.Object({ limit: Type.Optional(limit), cursor: cursorParameter(cursors) });
  return {
    /** The parameters of its query. */
    query,
    /** The requested page. */
    async page<Position extends string | number, Item, Shown>(
      { limit = defaultResults, cursor: from }: Static<typeof query>,
      { read, positionOf, shown, filter = "" }: Listed<Position, Item, Shown>,
    ) {
      const mark = filter === "" ? what : `${what} ${filter}`;
      const [behind = null] = positionIn<[Position]>(cursors, from, mark, "another list or filter") ?? [];
      // One more than is asked for tells whether there is a next page.
      const found = await read(behind, limit + 1);
      const items = found.slice(0, limit);
      const last = items.at(-1);
      const has_more = found.length > limit;
      const cursor = has_more && last !== undefined ? cursors.make([positionOf(last)], mark) : "";
      return { data: items.map(shown), pagination: { cursor, has_more }, message: "OK" };
    },
  };
}
