import type { Database } from "bun:sqlite";
import { eq, gt, inArray, sql } from "drizzle-orm";
import type { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import type { Category, NewCategory, NewTag, Tag } from "../../domain/categories.ts";
import { once } from "../../domain/lazily.ts";
import type { Store } from "../store.ts";
import { type Commit, commitBatch } from "./commit.ts";
import { isUniqueViolation } from "./faults.ts";
import { categories, livestreams, tags } from "./schema/platform.ts";

export function categoryStore(db: Database, orm: BunSQLiteDatabase, commit: Commit): Store["categories"] {
  const bySlug = once(() =>
    orm
      .select({ id: categories.id })
      .from(categories)
      .where(eq(categories.slug, sql.placeholder("slug")))
      .limit(1)
      .prepare(),
  );
  const addTag = once(() =>
    orm
      .insert(tags)
      .values({ name: sql.placeholder("name") })
      .onConflictDoUpdate({ target: tags.name, set: { name: sql`excluded.name` } })
      .returning()
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

  /** The tag as it is kept, or why it cannot be. */
  const keepTag = ({ id, name }: NewTag): Tag | string => {
    if (id === null) return addTag().get({ name });
    const known = tagByName().get({ name });
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
