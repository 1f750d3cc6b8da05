import { eq, inArray, sql } from "drizzle-orm";
import type { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import type { NewCategory, Tag } from "../../domain/categories.ts";
import type { Store } from "../store.ts";
import type { Commit } from "./commit.ts";
import { isUniqueViolation } from "./faults.ts";
import { categories, tags } from "./schema.ts";

export function categoryStore(orm: BunSQLiteDatabase, commit: Commit): Store["categories"] {
  const bySlug = orm
    .select({ id: categories.id })
    .from(categories)
    .where(eq(categories.slug, sql.placeholder("slug")))
    .limit(1)
    .prepare();
  const addTag = orm
    .insert(tags)
    .values({ name: sql.placeholder("name") })
    .onConflictDoUpdate({ target: tags.name, set: { name: sql`excluded.name` } })
    .returning()
    .prepare();
  const upsert = orm
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
    .prepare();

  const keep = (category: NewCategory): string | null => {
    const owner = bySlug.get({ slug: category.slug });
    if (owner && owner.id !== category.id) return `slug "${category.slug}" is taken by category ${owner.id}`;
    const withIds: Tag[] = category.tags.map((name) => addTag.get({ name }));
    try {
      upsert.run({ ...category, tags: withIds });
    } catch (error) {
      if (isUniqueViolation(error)) return `slug "${category.slug}" is taken`;
      throw error;
    }
    return null;
  };

  return {
    upsert: (batch) => commit(() => batch.map(keep)),
    all: async () => orm.select().from(categories).orderBy(categories.id).all(),
    byIds: async (ids) =>
      orm
        .select()
        .from(categories)
        .where(inArray(categories.id, [...ids]))
        .all(),
  };
}
