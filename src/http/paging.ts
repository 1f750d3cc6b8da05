import { type Static, Type } from "@sinclair/typebox";
import { type Cursors, cursorParameter, positionOf } from "./cursors.ts";
import { IntegerParameter } from "./parameters.ts";

const defaultResults = 25;

const maxResults = 100;

/** The parameters of a list. */
function pageQuery(what: string, cursors: Cursors) {
  const description = `How many ${what} to return.`;
  const limit = IntegerParameter({ minimum: 1, maximum: maxResults, default: defaultResults, description });
  return { limit: Type.Optional(limit), cursor: cursorParameter(cursors) };
}

/** A list in the order of ids. @param what the name of its items */
export function idList(what: string, cursors: Cursors) {
  const query = Type.Object(pageQuery(what, cursors));
  return {
    query,
    /**
     * The requested page. `read` gives up to a number of items whose id is after another; `""` begins. `idOf` gives the
     * id of an item, and `shown` what the answer has of it.
     */
    async page<Item, Shown>(
      { limit = defaultResults, cursor: from }: Static<typeof query>,
      { read, idOf, shown, filter = "" }: PageOptions<Item, Shown>,
    ) {
      const mark = filter === "" ? what : `${what} ${filter}`;
      const [after = ""] = positionOf<[string]>(cursors, from, mark, "another list or filter") ?? [];
      // One more than is asked for tells whether there is a next page.
      const found = await read(after, limit + 1);
      const items = found.slice(0, limit);
      const last = items.at(-1);
      const has_more = found.length > limit;
      const cursor = has_more && last !== undefined ? cursors.make([idOf(last)], mark) : "";
      return { data: items.map(shown), pagination: { cursor, has_more }, message: "OK" };
    },
  };
}

interface PageOptions<Item, Shown> {
  read(after: string, limit: number): Promise<readonly Item[]>;
  idOf(item: Item): string;
  shown(item: Item): Shown;
  /** What the list is limited to: a cursor belongs to it. */
  readonly filter?: string;
}

/**
 * A list that shows the newest first, by a number that ascends with time.
 *
 * @param what the name of its items
 */
export function newestFirst(cursors: Cursors, what: string) {
  return {
    /** The parameters of its query. */
    query: pageQuery(what, cursors),
    /**
     * The requested page. `read` gives up to a number of items whose number is below another (null: the newest), `shown`
     * what the answer has of one. A cursor belongs to the `filter` that the list is limited to.
     */
    async page<Item extends { readonly seq: number }, Shown>(
      { limit = defaultResults, cursor: from }: { limit?: number; cursor?: string },
      { read, shown, filter }: NewestPage<Item, Shown>,
    ) {
      const mark = `${what} ${filter}`;
      const [below = null] = positionOf<[number]>(cursors, from, mark, "another list or filter") ?? [];
      // One more than is asked for tells whether there is a next page.
      const found = await read(below, limit + 1);
      const items = found.slice(0, limit);
      const last = items.at(-1);
      const has_more = found.length > limit;
      const cursor = has_more && last !== undefined ? cursors.make([last.seq], mark) : "";
      return { data: items.map(shown), pagination: { cursor, has_more }, message: "OK" };
    },
  };
}

interface NewestPage<Item, Shown> {
  read(below: number | null, limit: number): Promise<readonly Item[]>;
  shown(item: Item): Shown;
  readonly filter: string;
}
