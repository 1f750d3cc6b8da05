import { type Column, getTableColumns, type SQL, sql } from "drizzle-orm";
import type { PgTable } from "drizzle-orm/pg-core";

/** What an upsert sets on a conflict: each column but the key to the value that was to be inserted. */
export function excluded<Table extends PgTable>(
  table: Table,
): { [Name in keyof Table["_"]["columns"]]?: SQL } {
  const others = columnsOf(table).filter(([, column]) => !column.primary);
  const values = others.map(([name, column]) => [name, sql`excluded.${sql.identifier(column.name)}`]);
  // Object.fromEntries forgets the names.
  return Object.fromEntries(values) as { [Name in keyof Table["_"]["columns"]]?: SQL };
}

const columnsOf = (table: PgTable): [string, Column][] => Object.entries(getTableColumns(table));
