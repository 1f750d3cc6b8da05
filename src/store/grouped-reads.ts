/** The most keys of one lookup. */
const mostKeys = 256;

/** Lookups that share one call. */
interface Group<Row> {
  readonly keys: Set<string>;
  readonly rows: Promise<ReadonlyMap<string, Row>>;
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
  let current: Group<Row> | null = null;

  const begin = (): Group<Row> => {
    const keys = new Set<string>();
    const rows = Promise.resolve().then(() => {
      if (current?.keys === keys) current = null;
      return find([...keys]);
    });
    return { keys, rows };
  };

  return async (key) => {
    current ??= begin();
    const { keys, rows } = current;
    keys.add(key);
    if (keys.size === mostKeys) current = null;
    return (await rows).get(key) ?? null;
  };
}
