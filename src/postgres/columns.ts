import { is, Placeholder, type SQL, sql } from "drizzle-orm";
import { bigint, boolean, customType, type PgColumn, type PgTable, text } from "drizzle-orm/pg-core";
import type { Kinds } from "../store/drizzle/columns.ts";
import { columnsOf } from "../store/drizzle/dialect.ts";

/** Integers up to 2^53-1: ids of the platform, counts, and milliseconds. */
export const integer = () => bigint({ mode: "number" });

export const bytes = customType<{ data: Buffer; driverData: Buffer }>({ dataType: () => "bytea" });

/** JSON exactly as it was stored. `jsonb` would change the order of keys, and refuses an escaped NUL. */
export function json<T>() {
  // The driver converts values to JSON and back.
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

/** PostgreSQL's constructors of columns, for the tables in `store/drizzle/columns.ts`. */
export const kinds: Kinds = {
  text,
  integer,
  boolean,
  bytes,
  json,
  words,
  /** A primary key that numbers the rows in the order of their insertion. */
  counter: () => bigint({ mode: "number" }).primaryKey().generatedAlwaysAsIdentity(),
};

/**
 * Passes rows to a statement as a table named `given`. Each column is one parameter, an array. JSON columns have the
 * type `text`, because PostgreSQL would read an array of JSON arrays as a multidimensional array. The column `n`
 * numbers the rows.
 */
export function passedRows<Table extends PgTable>(
  table: Table,
  rows: readonly { readonly [Name in keyof Table["_"]["columns"]]?: unknown }[],
): SQL {
  const isSet = (name: string) => rows.length === 0 || rows.some((row) => name in row);
  const columns = columnsOf(table).filter(([name]) => isSet(name));
  const arrays = columns.map(([name, column]) => {
    const isJson = column.getSQLType() === "json";
    const values = rows.map((row) => (isJson ? JSON.stringify(cellOf(row, name)) : cellOf(row, name)));
    return sql`${sql.param(values)}::${sql.raw(isJson ? "text" : column.getSQLType())}[]`;
  });
  const names = columns.map(([, column]) => sql.identifier(column.name));
  return sql`unnest(${sql.join(arrays, sql`, `)}) WITH ORDINALITY AS given(${sql.join([...names, sql.identifier("n")], sql`, `)})`;
}

const cellOf = (row: object, name: string): unknown => (row as Record<string, unknown>)[name] ?? null;

/** Condition: a column has one of these values. They are one parameter, however many there are. */
export function isOneOf(column: PgColumn, values: readonly (string | number)[] | Placeholder): SQL {
  const list = is(values, Placeholder) ? values : sql.param(values);
  return sql`${column} = ANY(${list}::${sql.raw(column.getSQLType())}[])`;
}
