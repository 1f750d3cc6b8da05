import { eq, gt, sql } from "drizzle-orm";
import type { NewCategory, Tag } from "../../domain/categories.ts";
import { BatchRefused } from "../batch.ts";
import type { CategoryStore } from "../categories.ts";
import type { Postgres, Queries } from "./database/pool.ts";
import { excluded, given, isOneOf } from "./schema/columns.ts";
import { categories, livestreams } from "./schema/platform.ts";
import { type Tags, tagsAmong } from "./tags.ts";

type Row = typeof categories.$inferInsert;

export function categoryStore(db: Postgres): CategoryStore {
  const { orm } = db;

  const remove = (id: number) =>
    db.transact(async ({ orm }) => {
      const ended = orm.delete(livestreams).where(eq(livestreams.category_id, id));
      const channels = await ended.returning({ id: livestreams.channel_id });
      await orm.delete(categories).where(eq(categories.id, id));
      return channels.map(({ id }) => id);
    });

  return {
    upsert: (batch, { atomic = false } = {}) =>
      db.transact(async (transaction) => {
        const tags = await tagsAmong(
          transaction,
          batch.flatMap(({ tags }) => tags),
        );
        const slugs = await slugsAmong(transaction, batch);
        const rows: Row[] = [];
        const results = batch.map((category) => {
          const refused = slugs.refusal(category);
          const row = refused ?? withTags(category, tags);
          if (typeof row === "string") return row;
          slugs.keep(category);
          rows.push(row);
          return null;
        });
        if (atomic && results.some((one) => one !== null)) throw new BatchRefused(results);
        await tags.store();
        for (const part of partsWithoutRepetition(rows)) await put(transaction, part);
        return results;
      }),
    page: async (after, limit) =>
      orm.select().from(categories).where(gt(categories.id, after)).orderBy(categories.id).limit(limit),
    remove,
    all: async () => orm.select().from(categories).orderBy(categories.id),
    byIds: async (ids) => orm.select().from(categories).where(isOneOf(categories.id, ids)),
  };
}

function put({ orm }: Queries, rows: readonly Row[]) {
  return orm
    .insert(categories)
    .select(
      sql`SELECT given.id, given.name, given.slug, given.icon, given.banner, given.description, given.tags::json
        FROM ${given(categories, rows)} ORDER BY given.n`,
    )
    .onConflictDoUpdate({ target: categories.id, set: excluded(categories) });
}

/** The category with its tags as they are kept, or why it cannot be. */
function withTags(category: NewCategory, tags: Tags): Row | string {
  const kept: Tag[] = [];
  for (const tag of category.tags) {
    const one = tags.keep(tag);
    if (typeof one === "string") return one;
    kept.push(one);
  }
  return { ...category, tags: kept };
}

/** Who has the slugs of a batch, while its categories are kept one after the other. */
async function slugsAmong({ orm }: Queries, batch: readonly NewCategory[]) {
  const { id, slug } = categories;
  const slugs = batch.map((one) => one.slug);
  const ids = batch.map((one) => one.id);
  const known = await orm
    .select({ id, slug })
    .from(categories)
    .where(sql`${isOneOf(slug, slugs)} OR ${isOneOf(id, ids)}`);
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

/** One statement cannot change a row twice. */
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
