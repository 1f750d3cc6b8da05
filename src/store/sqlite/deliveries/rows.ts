import type { Database } from "bun:sqlite";

type Value = string | number | null;

/** Rows of one statement: enough to be cheaper than single rows, and few enough for a short statement. */
const rowsAtOnce = 50;

/**
 * Makes a function that inserts rows in their order, several with one statement.
 *
 * @param into the statement up to its values: `INSERT INTO table (column, …)`
 * @param values the values of one row: `(?, ?, 0)`
 */
export function rowInserter<Row extends readonly Value[]>(
  db: Database,
  into: string,
  values: string,
): (rows: readonly Row[]) => void {
  const inserting = (count: number) =>
    db.prepare<null, Value[]>(`${into} VALUES ${Array(count).fill(values).join()}`);
  const addOne = inserting(1);
  const addMany = inserting(rowsAtOnce);
  return (rows) => {
    const inMany = rows.length - (rows.length % rowsAtOnce);
    for (let at = 0; at < inMany; at += rowsAtOnce) {
      addMany.run(...rows.slice(at, at + rowsAtOnce).flat());
    }
    for (const row of rows.slice(inMany)) addOne.run(...row);
  };
}
