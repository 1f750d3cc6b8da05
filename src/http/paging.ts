import { type Static, Type } from "@sinclair/typebox";
import type { Grant } from "../domain/tokens.ts";
import { type Cursors, listCursors } from "./cursors.ts";
import { LimitParameter } from "./parameters.ts";

const pages = { defaultResults: 25, maxResults: 100 };

interface Listed<Position extends string | number, Item, Shown> {
  /** Returns up to `limit` items after a position; null for the first ones. */
  read(behind: Position | null, limit: number): Promise<readonly Item[]>;
  positionOf(item: Item): Position;
  /** Returns an item in the form of the API. */
  shown(item: Item): Shown;
  /** The grant of the caller to whom the list is limited; null for operators. */
  readonly grant?: Grant | null;
}

/** A paged list. @param what the name of its items */
export function pagedList(what: string, cursors: Cursors) {
  const positions = listCursors<[string | number]>(cursors, what);
  const query = Type.Object({ limit: LimitParameter(what, pages), cursor: positions.parameter });
  return {
    /** The parameters of its query. */
    query,
    /** Returns the requested page. */
    async page<Position extends string | number, Item, Shown>(
      asked: Static<typeof query>,
      { read, positionOf, shown, grant = null }: Listed<Position, Item, Shown>,
    ) {
      const { limit = pages.defaultResults } = asked;
      // Positions of one list have one type.
      const [behind = null] = (positions.positionIn(asked) ?? []) as [Position?];
      // One more than requested shows whether there is a next page.
      const found = await read(behind, limit + 1);
      const items = found.slice(0, limit);
      const last = items.at(-1);
      const has_more = found.length > limit;
      const cursor = has_more && last !== undefined ? positions.make([positionOf(last)], asked, grant) : "";
      return { data: items.map(shown), pagination: { cursor, has_more }, message: "OK" };
    },
  };
}
