import { max, sql } from "drizzle-orm";
import type { NewTag, Tag } from "../../domain/categories.ts";
import { maxId } from "../../domain/ids.ts";
import type { Queries } from "./database/pool.ts";
import { given, isOneOf } from "./schema/columns.ts";
import { tags } from "./schema/platform.ts";

/** The tags that a batch of categories may have, and those that it adds. */
export interface Tags {
  /** The tag as it is kept, or why it cannot be. */
  keep(tag: NewTag): Tag | string;
  /** Stores those that were added. */
  store(): Promise<void>;
}

/** To be used in a transaction, which no other changes tags beside. */
export async function tagsAmong({ orm }: Queries, wanted: readonly NewTag[]): Promise<Tags> {
  await orm.execute(sql`LOCK TABLE ${tags} IN SHARE ROW EXCLUSIVE MODE`);
  const names = wanted.map(({ name }) => name);
  const ids = wanted.flatMap(({ id }) => (id !== null && isTagId(id) ? [id] : []));
  const known = await orm
    .select()
    .from(tags)
    .where(sql`${isOneOf(tags.name, names)} OR ${isOneOf(tags.id, ids)}`);
  const [top] = await orm.select({ id: max(tags.id) }).from(tags);
  const byName = new Map(known.map((tag) => [tag.name, tag]));
  const byId = new Map(known.map((tag) => [tag.id, tag]));
  const added: Tag[] = [];
  let highest = top?.id ?? 0;
  // Ids follow the highest one. Where that is the last there is, the lowest free ones are taken.
  const isAtEnd = Math.max(highest, ...ids) + wanted.length >= maxId;
  const lowest = isAtEnd ? await freeIds({ orm }, wanted.length) : [];

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
      return owner ? `tag id ${id} is that of "${owner.name}"` : add({ id, name });
    },
    async store() {
      if (added.length === 0) return;
      await orm.insert(tags).select(sql`SELECT given.id, given.name FROM ${given(tags, added)}`);
    },
  };
}

const isTagId = (id: number) => Number.isInteger(id) && id >= 1 && id <= maxId;

async function freeIds({ orm }: Pick<Queries, "orm">, count: number): Promise<number[]> {
  const rows = await orm.execute<{ id: string }>(
    sql`SELECT id FROM generate_series(1, (SELECT count(*) FROM ${tags}) + ${2 * count}) AS id
      WHERE NOT EXISTS (SELECT FROM ${tags} WHERE ${tags.id} = id) ORDER BY id LIMIT ${2 * count}`,
  );
  return [...rows].map(({ id }) => Number(id));
}
