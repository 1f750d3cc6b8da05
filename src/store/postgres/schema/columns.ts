import { type Column, getTableColumns, is, Placeholder, type SQL, sql } from "drizzle-orm";
import { bigint, customType, type PgColumn, type PgTable } from "drizzle-orm/pg-core";

// Times are milliseconds since the epoch where On Air reckons with them, ISO 8601 text where it only shows them: the
// clock is the program's, and a platform's timestamps are shown as it gave them, with up to nine digits of a second.

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

/** What an upsert sets on a conflict: each column but the key to the value that was to be inserted. */
export function excluded<Table extends PgTable>(
  table: Table,
): { [Name in keyof Table["_"]["columns"]]?: SQL } {
  const others = columnsOf(table).filter(([, column]) => !column.primary);
  const values = others.map(([name, column]) => [name, sql`excluded.${sql.identifier(column.name)}`]);
  // Object.fromEntries loses the names.
  return Object.fromEntries(values) as { [Name in keyof Table["_"]["columns"]]?: SQL };
}

const columnsOf = (table: PgTable): [string, Column][] => Object.entries(getTableColumns(table));

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
