import { eq, gt, or } from "drizzle-orm";
import type { NewCategory, Tag } from "../../domain/categories.ts";
import { BatchRefused } from "../batch.ts";
import type { CategoryStore } from "../categories.ts";
import { freeSlugs } from "./batches.ts";
import { type Dialect, execute, type Orm, type Tables } from "./dialect.ts";
import { type Tags, tagsAmong } from "./tags.ts";

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
