import {
  type AnyColumn,
  type Column,
  getTableColumns,
  inArray,
  type Placeholder,
  type SQL,
  sql,
} from "drizzle-orm";
import type { SQLiteTable } from "drizzle-orm/sqlite-core";

type ColumnsOf<Table extends SQLiteTable> = Table["_"]["columns"];

/** A placeholder for each column of a table, with the column's name: the values of a prepared insert. */
export function placeholders<Table extends SQLiteTable>(
  table: Table,
): { [Name in keyof ColumnsOf<Table>]: Placeholder } {
  const values = columnsOf(table).map(([name]) => [name, sql.placeholder(name)]);
  // Object.fromEntries loses the names.
  return Object.fromEntries(values) as { [Name in keyof ColumnsOf<Table>]: Placeholder };
}

/** What an upsert sets on a conflict: each column but the key to the value that was to be inserted. */
export function excluded<Table extends SQLiteTable>(
  table: Table,
): { [Name in keyof ColumnsOf<Table>]?: SQL } {
  const others = columnsOf(table).filter(([, column]) => !column.primary);
  const values = others.map(([name, column]) => [name, sql`excluded.${sql.identifier(column.name)}`]);
  // As above.
  return Object.fromEntries(values) as { [Name in keyof ColumnsOf<Table>]?: SQL };
}

const columnsOf = (table: SQLiteTable): [string, Column][] => Object.entries(getTableColumns(table));

/** Whether a column has one of the values that are given as JSON. */
export function isOneOf(column: AnyColumn, values: Placeholder | SQL): SQL {
  return inArray(column, sql`(SELECT value FROM json_each(${values}))`);
}
