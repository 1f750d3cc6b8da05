import { type Static, Type } from "@sinclair/typebox";
import type { Grant } from "../domain/tokens.ts";
import { type Cursors, listCursors } from "./cursors.ts";
import { LimitParameter } from "./parameters.ts";

const pages = { defaultResults: 25, maxResults: 100 };

interface Listed<Position extends string | number, Item, Shown> {
  /** Up to a number of items behind a position; null begins. */
  read(behind: Position | null, limit: number): Promise<readonly Item[]>;
  positionOf(item: Item): Position;
  /** What the answer has of an item. */
  shown(item: Item): Shown;
  /** Of the caller whose list it is; null for operators. */
  readonly grant?: Grant | null;
}

/** A list in pages. @param what the name of its items */
export function pagedList(what: string, cursors: Cursors) {
  const places = listCursors<[string | number]>(cursors, what);
  const query = Type.Object({ limit: LimitParameter(what, pages), cursor: places.parameter });
  return {
    /** The parameters of its query. */
    query,
    /** The requested page. */
    async page<Position extends string | number, Item, Shown>(
      asked: Static<typeof query>,
      { read, positionOf, shown, grant = null }: Listed<Position, Item, Shown>,
    ) {
      const { limit = pages.defaultResults } = asked;
      // Positions of one list have one type.
      const [behind = null] = (places.positionIn(asked) ?? []) as [Position?];
      // One more than is asked for tells whether there is a next page.
      const found = await read(behind, limit + 1);
      const items = found.slice(0, limit);
      const last = items.at(-1);
      const has_more = found.length > limit;
      const cursor = has_more && last !== undefined ? places.make([positionOf(last)], asked, grant) : "";
      return { data: items.map(shown), pagination: { cursor, has_more }, message: "OK" };
    },
  };
}
