/** The most keys of one lookup. */
const mostKeys = 256;

interface Waiting<Row> {
  resolve(row: Row | null): void;
  reject(error: unknown): void;
}

/**
 * Makes a function that looks up a row by its key. Lookups that directly follow each other share one call of `find`:
 * one statement on PostgreSQL, one transaction on SQLite, which then takes its locks only once. These are lookups of
 * the same synchronous code, and of requests that continue together (`endOfTick`) and then await equally often.
 *
 * @param find returns the rows that exist, by key
 */
export function groupedReads<Row>(
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
    if (waiting !== batch) return; // it was full, and is already sent
    waiting = new Map();
    void send(batch);
  };

  return (key) =>
    new Promise((resolve, reject) => {
      const batch = waiting;
      if (batch.size === 0) queueMicrotask(() => flush(batch));
      const some = batch.get(key);
      if (some) some.push({ resolve, reject });
      else batch.set(key, [{ resolve, reject }]);
      if (batch.size === mostKeys) flush(batch);
    });
}
