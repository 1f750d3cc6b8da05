import { is, Placeholder, type SQL, sql } from "drizzle-orm";
import { bigint, boolean, customType, type PgColumn, type PgTable, text } from "drizzle-orm/pg-core";
import { columnsOf } from "../../drizzle/columns/of-table.ts";

/** Ids of the platform, numbers, and milliseconds: integers up to 2^53-1. */
export const integer = () => bigint({ mode: "number" });

export const bytes = customType<{ data: Buffer; driverData: Buffer }>({ dataType: () => "bytea" });

/** JSON as it was given: `jsonb` would change the order of the keys, and refuses an escaped NUL. */
export function json<T>() {
  // The driver itself makes JSON of a value and a value of JSON.
  return customType<{ data: T; driverData: unknown }>({
    dataType: () => "json",
    fromDriver: (value) => value as T,
    toDriver: (value) => value,
  })();
}

/** A list of words, such as scopes. */
export function words<T extends string>() {
  return customType<{ data: readonly T[]; driverData: string[] }>({
    dataType: () => "text[]",
    fromDriver: (value) => value as T[],
    toDriver: (value) => [...value],
  })();
}

/** The kinds of columns of tables that both databases have: `drizzle/columns` has these tables. */
export const kinds = {
  text,
  integer,
  boolean,
  bytes,
  json,
  words,
  /** The key of a row, given in the order in which rows are made. */
  counter: () => bigint({ mode: "number" }).primaryKey().generatedAlwaysAsIdentity(),
};

/**
 * Rows as a table named `given`, for one statement: each column of the table is one parameter, an array. JSON has the
 * type `text`, because an array of arrays is one of PostgreSQL's own. The column `n` counts the rows.
 */
export function given<Table extends PgTable>(
  table: Table,
  rows: readonly { readonly [Name in keyof Table["_"]["columns"]]?: unknown }[],
): SQL {
  const isGiven = (name: string) => rows.length === 0 || rows.some((row) => name in row);
  const columns = columnsOf(table).filter(([name]) => isGiven(name));
  const arrays = columns.map(([name, column]) => {
    const isJson = column.getSQLType() === "json";
    const values = rows.map((row) => (isJson ? JSON.stringify(cellOf(row, name)) : cellOf(row, name)));
    return sql`${sql.param(values)}::${sql.raw(isJson ? "text" : column.getSQLType())}[]`;
  });
  const names = columns.map(([, column]) => sql.identifier(column.name));
  return sql`unnest(${sql.join(arrays, sql`, `)}) WITH ORDINALITY AS given(${sql.join([...names, sql.identifier("n")], sql`, `)})`;
}

const cellOf = (row: object, name: string): unknown => (row as Record<string, unknown>)[name] ?? null;

/** Whether a column has one of these values: one parameter, however many there are. */
export function isOneOf(column: PgColumn, values: readonly (string | number)[] | Placeholder): SQL {
  const list = is(values, Placeholder) ? values : sql.param(values);
  return sql`${column} = ANY(${list}::${sql.raw(column.getSQLType())}[])`;
}
