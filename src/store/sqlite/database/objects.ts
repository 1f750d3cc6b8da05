import type { Database } from "bun:sqlite";
import { getTableConfig, type SQLiteTable } from "drizzle-orm/sqlite-core";
import { tables } from "../schema/tables.ts";

const configs = Object.values<SQLiteTable>(tables).map(getTableConfig);

/** The tables, indexes and triggers of the current schema. */
export const objects = {
  table: [
    ...configs.map(({ name }) => name),
    // The search index and the table of migrations have no drizzle schema.
    "migrations",
    "user_search",
    ...["config", "data", "docsize", "idx"].map((part) => `user_search_${part}`),
  ].sort(),
  index: configs
    .flatMap(({ indexes, columns }) => [
      ...indexes.map(({ config }) => config.name),
      ...columns.flatMap(({ isUnique, uniqueName }) => (isUnique ? (uniqueName ?? []) : [])),
    ])
    .sort(),
  trigger: ["subscription_made", "subscription_removed"],
};

/** Returns the objects that a database lacks, such as "the table users". Further objects of an operator are ignored. */
export function missingObjects(db: Database): string[] {
  const rows = db.query<{ type: string; name: string }, []>("SELECT type, name FROM sqlite_schema").all();
  const found = new Set(rows.map(({ type, name }) => `the ${type} ${name}`));
  return Object.entries(objects)
    .flatMap(([type, names]) => names.map((name) => `the ${type} ${name}`))
    .filter((object) => !found.has(object));
}
