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

/** SQLite's constructors of columns, for the tables in `drizzle/columns`. */
const kinds = {
  text,
  integer: () => integer(),
  boolean: () => integer({ mode: "boolean" }),
  bytes: () => blob({ mode: "buffer" }),
  json: () => text({ mode: "json" }),
  words: () => text({ mode: "json" }),
  counter: () => integer().primaryKey({ autoIncrement: true }),
} satisfies { readonly [Kind in keyof Kinds]: unknown };

/** The same columns with SQLite's types. */
type Shared<Columns extends Record<string, ColumnBuilderBase>> = {
  [Name in keyof Columns]: Omit<Columns[Name], "_"> & {
    _: Omit<Columns[Name]["_"], "dialect"> & { dialect: "sqlite" };
  };
};

/** Returns columns of `drizzle/columns` for a table of SQLite. `to`: the columns that its foreign keys refer to. */
export function shared<
  Columns extends Record<string, ColumnBuilderBase>,
  To extends readonly ReferredColumn[],
>(
  columns: (kinds: Kinds, ...to: To) => Columns,
  ...to: { [Name in keyof To]: () => AnySQLiteColumn }
): Shared<Columns> {
  // A boundary: `Kinds` has PostgreSQL's types. SQLite's constructors make columns with the same values.
  const make = columns as unknown as (...given: readonly unknown[]) => Shared<Columns>;
  return make(kinds, ...to);
}

type ColumnsOf<Table extends SQLiteTable> = Table["_"]["columns"];

/** Returns the values of a prepared insert: for each column of a table a placeholder with the column's name. */
export function placeholders<Table extends SQLiteTable>(
  table: Table,
): { [Name in keyof ColumnsOf<Table>]: Placeholder } {
  const values = columnsOf(table).map(([name]) => [name, sql.placeholder(name)]);
  // Object.fromEntries loses the names.
  return Object.fromEntries(values) as { [Name in keyof ColumnsOf<Table>]: Placeholder };
}

/** Condition: a column has one of the values in a JSON array. */
export function isOneOf(column: AnyColumn, values: Placeholder | SQL): SQL {
  return inArray(column, sql`(SELECT value FROM json_each(${values}))`);
}
