import { eq, gt, inArray, isNull, max, sql } from "drizzle-orm";
import type { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import { alias } from "drizzle-orm/sqlite-core";
import type { NewCategory, NewTag, Tag } from "../../domain/categories.ts";
import { maxId } from "../../domain/ids.ts";
import type { CategoryStore } from "../categories.ts";
import { type Commit, commitBatch } from "./database/commit.ts";
import { isUniqueViolation } from "./database/faults.ts";
import { excluded, placeholders } from "./schema/columns.ts";
import { categories, livestreams, tags } from "./schema/platform.ts";

export function categoryStore(orm: BunSQLiteDatabase, commit: Commit): CategoryStore {
  const bySlug = orm
    .select({ id: categories.id })
    .from(categories)
    .where(eq(categories.slug, sql.placeholder("slug")))
    .limit(1)
    .prepare();
  const upsert = orm
    .insert(categories)
    .values(placeholders(categories))
    .onConflictDoUpdate({ target: categories.id, set: excluded(categories) })
    .prepare();
  const tagByName = orm
    .select()
    .from(tags)
    .where(eq(tags.name, sql.placeholder("name")))
    .limit(1)
    .prepare();
  const tagById = orm
    .select()
    .from(tags)
    .where(eq(tags.id, sql.placeholder("id")))
    .limit(1)
    .prepare();

  const highestTag = orm
    .select({ id: max(tags.id) })
    .from(tags)
    .prepare();
  const next = alias(tags, "next");
  const freeBehind = orm
    .select({ id: sql<number>`${tags.id} + 1` })
    .from(tags)
    .leftJoin(next, eq(next.id, sql`${tags.id} + 1`))
    .where(isNull(next.id))
    .orderBy(tags.id)
    .limit(1)
    .prepare();

  /** An id that no tag has: behind the highest one or, where the platform has given the last id there is, the lowest. */
  const freeTagId = (): number => {
    const highest = highestTag.get()?.id ?? 0;
    if (highest < maxId) return highest + 1;
    return tagById.get({ id: 1 }) ? (freeBehind.get()?.id ?? 1) : 1;
  };

  /** The tag as it is kept, or why it cannot be. */
  const keepTag = ({ id, name }: NewTag): Tag | string => {
    const known = tagByName.get({ name });
    if (id === null) return known ?? orm.insert(tags).values({ id: freeTagId(), name }).returning().get();
    if (!(Number.isInteger(id) && id >= 1 && id <= maxId))
      return `tag "${name}" has no id from 1 to ${maxId}`;
    if (known) return known.id === id ? known : `tag "${name}" has the id ${known.id} here, not ${id}`;
    const owner = tagById.get({ id });
    if (owner) return `tag id ${id} is that of "${owner.name}"`;
    return orm.insert(tags).values({ id, name }).returning().get();
  };

  const keep = (category: NewCategory): string | null => {
    const owner = bySlug.get({ slug: category.slug });
    if (owner && owner.id !== category.id) return `slug "${category.slug}" is taken by category ${owner.id}`;
    const withIds: Tag[] = [];
    for (const tag of category.tags) {
      const kept = keepTag(tag);
      if (typeof kept === "string") return kept;
      withIds.push(kept);
    }
    try {
      upsert.run({ ...category, tags: withIds });
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
    all: async () => orm.select().from(categories).orderBy(categories.id).all(),
    byIds: async (ids) =>
      orm
        .select()
        .from(categories)
        .where(inArray(categories.id, [...ids]))
        .all(),
  };
}
