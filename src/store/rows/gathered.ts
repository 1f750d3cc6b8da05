/** Rows that are looked up together at most. */
const mostKeys = 256;

interface Waiting<Row> {
  resolve(row: Row | null): void;
  reject(error: unknown): void;
}

/**
 * Looks up rows by their keys. What is asked for in one turn of the event loop is looked up together: with PostgreSQL by
 * one statement, with SQLite in one transaction, which takes and gives back the locks once. `find` gives the rows that
 * there are, by key.
 */
export function gathered<Row>(
  find: (keys: readonly string[]) => Promise<ReadonlyMap<string, Row>>,
): (key: string) => Promise<Row | null> {
  let waiting = new Map<string, Waiting<Row>[]>();

  const send = async (batch: ReadonlyMap<string, readonly Waiting<Row>[]>) => {
    try {
      const rows = await find([...batch.keys()]);
      for (const [key, some] of batch) for (const { resolve } of some) resolve(rows.get(key) ?? null);
    } catch (error) {
      for (const { reject } of [...batch.values()].flat()) reject(error);
    }
  };

  const flush = (batch: ReadonlyMap<string, readonly Waiting<Row>[]>) => {
    if (waiting !== batch) return; // it was full before the end of the turn
    waiting = new Map();
    void send(batch);
  };

  return (key) =>
    new Promise((resolve, reject) => {
      const batch = waiting;
      if (batch.size === 0) setImmediate(flush, batch);
      const some = batch.get(key);
      if (some) some.push({ resolve, reject });
      else batch.set(key, [{ resolve, reject }]);
      if (batch.size === mostKeys) flush(batch);
    });
}
