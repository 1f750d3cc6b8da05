import { eq, gt, max, or, sql } from "drizzle-orm";
import type { CategoryStore, NewCategory, NewTag, Tag } from "../../domain/categories.ts";
import { BatchRefused } from "../../domain/errors.ts";
import { maxId } from "../../domain/ids.ts";
import { freeSlugs } from "./batches.ts";
import { type Dialect, execute, type Orm, type Tables, type Work } from "./dialect.ts";

type Row = Tables["categories"]["$inferInsert"];

export function categoryStore(db: Dialect): CategoryStore {
  const { orm, tables, transact } = db;
  const { categories, livestreams } = tables;

  return {
    upsert: (batch, { atomic = false } = {}) =>
      transact(function* (orm) {
        const wanted = batch.flatMap(({ tags }) => tags);
        const tags = yield* tagsAmong(db, orm, wanted);
        if (atomic) yield* freeSlugs(db, orm, categories, batch);
        const slugs = yield* slugsAmong(db, orm, batch);
        const rows: Row[] = [];
        const results = batch.map((category) => {
          const row = slugs.refusal(category) ?? withTags(category, tags);
          if (typeof row === "string") return row;
          slugs.keep(category);
          rows.push(row);
          return null;
        });
        if (atomic && results.some((one) => one !== null)) throw new BatchRefused(results);
        yield* tags.store();
        for (const part of partsWithoutRepetition(rows)) yield* db.put(orm, categories, part);
        return results;
      }),
    page: async (after, limit) =>
      orm.select().from(categories).where(gt(categories.id, after)).orderBy(categories.id).limit(limit),
    remove: (id) =>
      transact(function* (orm) {
        const ended = orm.delete(livestreams).where(eq(livestreams.category_id, id));
        const channels = yield* execute(ended.returning({ id: livestreams.channel_id }));
        yield* execute(orm.delete(categories).where(eq(categories.id, id)));
        return channels.map((channel) => channel.id);
      }),
    all: async () => orm.select().from(categories).orderBy(categories.id),
    byIds: async (ids) => orm.select().from(categories).where(db.isOneOf(categories.id, ids)),
  };
}

/** Returns the category with its stored tags, or the reason why it is refused. */
function withTags(category: NewCategory, tags: Tags): Row | string {
  const kept: Tag[] = [];
  for (const tag of category.tags) {
    const one = tags.keep(tag);
    if (typeof one === "string") return one;
    kept.push(one);
  }
  return { ...category, tags: kept };
}

/** Tracks which categories own the slugs of a batch, while its categories are accepted one after the other. */
function* slugsAmong(db: Dialect, orm: Orm, batch: readonly NewCategory[]) {
  const { id, slug } = db.tables.categories;
  const slugs = batch.map((one) => one.slug);
  const ids = batch.map((one) => one.id);
  const isConcerned = or(db.isOneOf(slug, slugs), db.isOneOf(id, ids));
  const known = yield* execute(orm.select({ id, slug }).from(db.tables.categories).where(isConcerned));
  const owners = new Map(known.map((one) => [one.slug, one.id]));
  const slugOf = new Map(known.map((one) => [one.id, one.slug]));
  return {
    refusal({ id, slug }: NewCategory): string | null {
      const owner = owners.get(slug);
      return owner === undefined || owner === id ? null : `slug "${slug}" is taken by category ${owner}`;
    },
    keep({ id, slug }: NewCategory): void {
      owners.delete(slugOf.get(id) ?? "");
      owners.set(slug, id);
      slugOf.set(id, slug);
    },
  };
}

/** Splits rows into statements, because one statement of PostgreSQL cannot change a row twice. */
function partsWithoutRepetition(rows: readonly Row[]): Row[][] {
  const parts: Row[][] = [];
  let ids = new Set<number>();
  for (const row of rows) {
    if (parts.length === 0 || ids.has(row.id)) {
      parts.push([]);
      ids = new Set();
    }
    parts.at(-1)?.push(row);
    ids.add(row.id);
  }
  return parts;
}

/** The known tags of a batch of categories, and those that it adds. */
interface Tags {
  /** Returns the tag with its id, or the reason why it is refused. */
  keep(tag: NewTag): Tag | string;
  /** Stores the added tags. */
  store(): Work<void>;
}

/** Reads the known tags among `wanted`, inside a transaction, and locks the table against other changes. */
function* tagsAmong(db: Dialect, orm: Orm, wanted: readonly NewTag[]): Work<Tags> {
  const { tags } = db.tables;
  yield* db.lockTable(orm, tags, "changes");
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
