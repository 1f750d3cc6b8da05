import { type Column, getTableColumns, type SQL, sql, type Table } from "drizzle-orm";

/** The columns of a table by their names. */
export const columnsOf = (table: Table): [string, Column][] => Object.entries(getTableColumns(table));

/** The assignments of an upsert on conflict: each column except the key gets the value that was to be inserted. */
export function excluded<Of extends Table>(table: Of): { [Name in keyof Of["_"]["columns"]]?: SQL } {
  const others = columnsOf(table).filter(([, column]) => !column.primary);
  const values = others.map(([name, column]) => [name, sql`excluded.${sql.identifier(column.name)}`]);
  // Object.fromEntries loses the names.
  return Object.fromEntries(values) as { [Name in keyof Of["_"]["columns"]]?: SQL };
}
