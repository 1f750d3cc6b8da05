import type { Database } from "bun:sqlite";

type Value = string | number | null;

/** Rows that one statement inserts: cheaper than one by one, and still a short statement. */
const rowsAtOnce = 50;

/**
 * Inserts rows, in their order, many with one statement.
 *
 * @param into the statement up to its values: `INSERT INTO table (column, …)`
 * @param values what each row has: `(?, ?, 0)`
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
