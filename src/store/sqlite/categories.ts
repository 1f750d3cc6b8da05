import type { Database } from "bun:sqlite";
import { eq, gt, inArray, sql } from "drizzle-orm";
import type { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import type { Category, NewCategory, NewTag, Tag } from "../../domain/categories.ts";
import { maxId } from "../../domain/ids.ts";
import { once } from "../../domain/lazily.ts";
import type { CategoryStore } from "../categories.ts";
import { type Commit, commitBatch } from "./commit.ts";
import { isUniqueViolation } from "./faults.ts";
import { categories, livestreams, tags } from "./schema/platform.ts";

export function categoryStore(db: Database, orm: BunSQLiteDatabase, commit: Commit): CategoryStore {
  const bySlug = once(() =>
    orm
      .select({ id: categories.id })
      .from(categories)
      .where(eq(categories.slug, sql.placeholder("slug")))
      .limit(1)
      .prepare(),
  );
  const upsert = once(() =>
    orm
      .insert(categories)
      .values({
        id: sql.placeholder("id"),
        name: sql.placeholder("name"),
        slug: sql.placeholder("slug"),
        icon: sql.placeholder("icon"),
        banner: sql.placeholder("banner"),
        description: sql.placeholder("description"),
        tags: sql.placeholder("tags"),
      })
      .onConflictDoUpdate({
        target: categories.id,
        set: {
          name: sql`excluded.name`,
          slug: sql`excluded.slug`,
          icon: sql`excluded.icon`,
          banner: sql`excluded.banner`,
          description: sql`excluded.description`,
          tags: sql`excluded.tags`,
        },
      })
      .prepare(),
  );

  const tagByName = once(() =>
    orm
      .select()
      .from(tags)
      .where(eq(tags.name, sql.placeholder("name")))
      .limit(1)
      .prepare(),
  );
  const tagById = once(() =>
    orm
      .select()
      .from(tags)
      .where(eq(tags.id, sql.placeholder("id")))
      .limit(1)
      .prepare(),
  );

  const highestTag = once(() => db.query<{ id: number | null }, []>("SELECT max(id) AS id FROM tags"));
  const lowestFree = once(() =>
    db.query<{ id: number }, []>(
      `SELECT taken.id + 1 AS id FROM (SELECT 0 AS id UNION ALL SELECT id FROM tags) AS taken
       WHERE NOT EXISTS (SELECT 1 FROM tags WHERE tags.id = taken.id + 1) ORDER BY taken.id LIMIT 1`,
    ),
  );

  /** An id that no tag has: behind the highest one or, where the platform has given the last id there is, the lowest. */
  const freeTagId = (): number => {
    const highest = highestTag().get()?.id ?? 0;
    return highest < maxId ? highest + 1 : (lowestFree().get()?.id ?? 1);
  };

  /** The tag as it is kept, or why it cannot be. */
  const keepTag = ({ id, name }: NewTag): Tag | string => {
    const known = tagByName().get({ name });
    if (id === null) return known ?? orm.insert(tags).values({ id: freeTagId(), name }).returning().get();
    if (!(Number.isInteger(id) && id >= 1 && id <= maxId))
      return `tag "${name}" has no id from 1 to ${maxId}`;
    if (known) return known.id === id ? known : `tag "${name}" has the id ${known.id} here, not ${id}`;
    const owner = tagById().get({ id });
    if (owner) return `tag id ${id} is that of "${owner.name}"`;
    return orm.insert(tags).values({ id, name }).returning().get();
  };

  const keep = (category: NewCategory): string | null => {
    const owner = bySlug().get({ slug: category.slug });
    if (owner && owner.id !== category.id) return `slug "${category.slug}" is taken by category ${owner.id}`;
    const withIds: Tag[] = [];
    for (const tag of category.tags) {
      const kept = keepTag(tag);
      if (typeof kept === "string") return kept;
      withIds.push(kept);
    }
    try {
      upsert().run({ ...category, tags: withIds });
    } catch (error) {
      if (isUniqueViolation(error)) return `slug "${category.slug}" is taken`;
      throw error;
    }
    return null;
  };

  return {
    upsert: (batch, mode = {}) => commitBatch(commit, mode, () => batch.map(keep)),
    page: async (after, limit) =>
      orm.select().from(categories).where(gt(categories.id, after)).orderBy(categories.id).limit(limit).all(),
    remove: (id) =>
      commit(() => {
        const ended = orm
          .delete(livestreams)
          .where(eq(livestreams.category_id, id))
          .returning({ id: livestreams.channel_id })
          .all();
        orm.delete(categories).where(eq(categories.id, id)).run();
        return ended.map(({ id }) => id);
      }),
    // A statement of SQLite itself, because every start waits for it: 2,000 rows through drizzle take 10 ms more.
    all: async () =>
      db
        .query<Category & { tags: string }, []>("SELECT * FROM categories ORDER BY id")
        .all()
        .map((row) => ({ ...row, tags: JSON.parse(row.tags) })),
    byIds: async (ids) =>
      orm
        .select()
        .from(categories)
        .where(inArray(categories.id, [...ids]))
        .all(),
  };
}
