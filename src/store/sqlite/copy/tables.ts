import { getTableName } from "drizzle-orm";
import type { SQLiteTable } from "drizzle-orm/sqlite-core";
import type { CopiedNoun } from "../../operations/copy.ts";
import { tables } from "../schema/tables.ts";

/** Tables that are not copied, with the reason. */
export const sqliteNotCopied: Readonly<Record<string, string>> = {
  staged_events: "is moved into events and deliveries when the source is opened",
  search_statistics: "is made of the users, with the index of the search",
  subscription_counts: "is kept by triggers",
  operator_sessions: "begin again by signing in",
};

/** The tables of a data directory that are copied. */
export const sqliteTables = Object.fromEntries(
  Object.values<SQLiteTable>(tables)
    .map((table) => [getTableName(table), table] as const)
    .filter(([name]) => !(name in sqliteNotCopied)),
) as { readonly [Noun in CopiedNoun | "attempts"]: SQLiteTable };
