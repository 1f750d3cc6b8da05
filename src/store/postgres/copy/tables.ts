import { getTableName } from "drizzle-orm";
import type { PgTable } from "drizzle-orm/pg-core";
import { columnsOf } from "../../drizzle/columns/of-table.ts";
import type { CopiedNoun } from "../../operations/copy.ts";
import { tables } from "../schema/tables.ts";

/** Tables that are not copied, with the reason. */
export const postgresNotCopied: Readonly<Record<string, string>> = {
  user_search: "is made of the users",
  delivery_parts: "is made for the numbers of what is copied",
  category_orders: "are kept for minutes, for walks that can begin again",
  endpoint_shards: "says which process sends now",
  replicas: "says which processes run now",
  operator_sessions: "begin again by signing in",
};

/** The tables of PostgreSQL that are copied. Events are in several of them. */
export const postgresTables = Object.fromEntries(
  Object.values<PgTable>(tables)
    .map((table) => [getTableName(table), table] as const)
    .filter(([name]) => !(name in postgresNotCopied)),
) as { readonly [Table in PostgresTable]: PgTable };

export type PostgresTable = CopiedNoun | "event_ids" | "delivery_times";

/** Columns that only PostgreSQL has, with their origin. */
export const ownColumns: Readonly<Record<string, string>> = {
  "users.folded": "is made of the names",
  "tokens.made": "counts the rows, which are copied in their order",
  "subscriptions.published_by": "says which process has published last",
};

/** Returns the names and types of the copied columns of a table. */
export function copiedColumns(table: PostgresTable): readonly { name: string; type: string }[] {
  return columnsOf(postgresTables[table])
    .map(([name, column]) => ({ name, type: column.getSQLType() }))
    .filter(({ name }) => !(`${table}.${name}` in ownColumns));
}
