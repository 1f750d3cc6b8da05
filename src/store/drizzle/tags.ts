import { max, or, sql } from "drizzle-orm";
import type { NewTag, Tag } from "../../domain/categories.ts";
import { maxId } from "../../domain/ids.ts";
import { type Dialect, execute, type Orm, type Work } from "./dialect.ts";

/** The known tags of a batch of categories, and those that it adds. */
export interface Tags {
  /** Returns the tag with its id, or the reason why it is refused. */
  keep(tag: NewTag): Tag | string;
  /** Stores the added tags. */
  store(): Work<void>;
}

/** Reads the known tags among `wanted`, inside a transaction, and locks the table against other changes. */
export function* tagsAmong(db: Dialect, orm: Orm, wanted: readonly NewTag[]): Work<Tags> {
  const { tags } = db.tables;
  yield* db.lockTable(orm, tags);
  const names = wanted.map(({ name }) => name);
  const ids = wanted.flatMap(({ id }) => (id !== null && isTagId(id) ? [id] : []));
  const isWanted = or(db.isOneOf(tags.name, names), db.isOneOf(tags.id, ids));
  const known = yield* execute(orm.select().from(tags).where(isWanted));
  const [top] = yield* execute(orm.select({ id: max(tags.id) }).from(tags));
  const byName = new Map(known.map((tag) => [tag.name, tag]));
  const byId = new Map(known.map((tag) => [tag.id, tag]));
  const added: Tag[] = [];
  let highest = top?.id ?? 0;
  // A new tag gets the next id after the highest. When `maxId` is reached, it gets the lowest free id.
  const isAtEnd = Math.max(highest, ...ids) + wanted.length >= maxId;
  const lowest = isAtEnd ? yield* freeIds(db, orm, wanted.length) : [];

  const freeId = (): number => {
    if (highest < maxId) return highest + 1;
    for (let id = lowest.shift(); id !== undefined; id = lowest.shift()) if (!byId.has(id)) return id;
    throw new Error("There is no id for another tag");
  };
  const add = (tag: Tag): Tag => {
    byName.set(tag.name, tag);
    byId.set(tag.id, tag);
    added.push(tag);
    highest = Math.max(highest, tag.id);
    return tag;
  };

  return {
    keep({ id, name }) {
      const its = byName.get(name);
      if (id === null) return its ?? add({ id: freeId(), name });
      if (!isTagId(id)) return `tag "${name}" has no id from 1 to ${maxId}`;
      if (its) return its.id === id ? its : `tag "${name}" has the id ${its.id} here, not ${id}`;
      const owner = byId.get(id);
      return owner ? `tag id ${id} is taken by "${owner.name}"` : add({ id, name });
    },
    store: () => db.put(orm, tags, added),
  };
}

const isTagId = (id: number) => Number.isInteger(id) && id >= 1 && id <= maxId;

/** Returns the lowest free ids: twice as many as are wanted, because the batch itself may name some of them. */
function* freeIds({ tables: { tags } }: Dialect, orm: Orm, count: number): Work<number[]> {
  const id = sql<number>`id`;
  const numbers = sql`(WITH RECURSIVE numbers(id) AS (
      SELECT 1 UNION ALL SELECT id + 1 FROM numbers WHERE id < (SELECT count(*) FROM ${tags}) + ${2 * count}
    ) SELECT id FROM numbers) AS numbers`;
  const isFree = sql`NOT EXISTS (SELECT 1 FROM ${tags} WHERE ${tags.id} = numbers.id)`;
  const query = orm
    .select({ id })
    .from(numbers)
    .where(isFree)
    .orderBy(id)
    .limit(2 * count);
  return (yield* execute(query)).map((one) => one.id);
}
