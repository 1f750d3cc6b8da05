import type { Database } from "bun:sqlite";
import { getTableConfig, type SQLiteTable } from "drizzle-orm/sqlite-core";
import { tables } from "../schema/tables.ts";

const configs = Object.values<SQLiteTable>(tables).map(getTableConfig);

/** What a database has in its newest form. */
export const objects = {
  table: [
    ...configs.map(({ name }) => name),
    // Of the index of the search and of the migrations there is no schema.
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

/** What of that a database does not have, as in "the table users". What it has besides is its operator's business. */
export function missingObjects(db: Database): string[] {
  const rows = db.query<{ type: string; name: string }, []>("SELECT type, name FROM sqlite_schema").all();
  const found = new Set(rows.map(({ type, name }) => `the ${type} ${name}`));
  return Object.entries(objects)
    .flatMap(([type, names]) => names.map((name) => `the ${type} ${name}`))
    .filter((object) => !found.has(object));
}
