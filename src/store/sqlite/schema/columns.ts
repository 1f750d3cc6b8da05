import {
  type AnyColumn,
  type ColumnBuilderBase,
  inArray,
  type Placeholder,
  type SQL,
  sql,
} from "drizzle-orm";
import { type AnySQLiteColumn, blob, integer, type SQLiteTable, text } from "drizzle-orm/sqlite-core";
import type { Kinds, ReferredColumn } from "../../drizzle/columns/kinds.ts";
import { columnsOf } from "../../drizzle/columns/of-table.ts";

/** The kinds of columns of tables that both databases have: `drizzle/columns` has these tables. */
const kinds = {
  text,
  integer: () => integer(),
  boolean: () => integer({ mode: "boolean" }),
  bytes: () => blob({ mode: "buffer" }),
  json: () => text({ mode: "json" }),
  words: () => text({ mode: "json" }),
  counter: () => integer().primaryKey({ autoIncrement: true }),
} satisfies { readonly [Kind in keyof Kinds]: unknown };

/** The same columns as SQLite's. */
type Shared<Columns extends Record<string, ColumnBuilderBase>> = {
  [Name in keyof Columns]: Omit<Columns[Name], "_"> & {
    _: Omit<Columns[Name]["_"], "dialect"> & { dialect: "sqlite" };
  };
};

/** Columns of `drizzle/columns` for a table of SQLite; `to`: what they refer to. */
export function shared<
  Columns extends Record<string, ColumnBuilderBase>,
  To extends readonly ReferredColumn[],
>(
  columns: (kinds: Kinds, ...to: To) => Columns,
  ...to: { [Name in keyof To]: () => AnySQLiteColumn }
): Shared<Columns> {
  // A boundary: the types of the kinds are PostgreSQL's, where SQLite's make columns of the same values.
  const make = columns as unknown as (...given: readonly unknown[]) => Shared<Columns>;
  return make(kinds, ...to);
}

type ColumnsOf<Table extends SQLiteTable> = Table["_"]["columns"];

/** A placeholder for each column of a table, with the column's name: the values of a prepared insert. */
export function placeholders<Table extends SQLiteTable>(
  table: Table,
): { [Name in keyof ColumnsOf<Table>]: Placeholder } {
  const values = columnsOf(table).map(([name]) => [name, sql.placeholder(name)]);
  // Object.fromEntries loses the names.
  return Object.fromEntries(values) as { [Name in keyof ColumnsOf<Table>]: Placeholder };
}

/** Whether a column has one of the values that are given as JSON. */
export function isOneOf(column: AnyColumn, values: Placeholder | SQL): SQL {
  return inArray(column, sql`(SELECT value FROM json_each(${values}))`);
}
