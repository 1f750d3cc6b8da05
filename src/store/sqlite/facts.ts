import type { Database } from "bun:sqlite";

/** No more pending deliveries than that are counted, for each of two indexes. */
const maxCounted = 100_000;

/** What a database tells of itself at one moment, for whoever looks whether it is well. */
export interface DatabaseFacts {
  readonly users: number;
  /** In the index of the search. */
  readonly indexedUsers: number;
  /** In PEM: a secret. null before the first start. */
  readonly signingKey: string | null;
  /** When the newest event was published, in milliseconds. */
  readonly newestEventAt: number | null;
  readonly failingEndpoints: number;
  readonly disabledEndpoints: number;
  /** Some applications whose endpoint is disabled. */
  readonly disabledApplications: readonly string[];
  readonly pending: number;
  /** There may be more of them, and older ones. */
  readonly isPendingPartial: boolean;
  readonly oldestPendingAt: number | null;
}

/** Reads them, all of the same moment. For a database in the form of this version. */
export function databaseFacts(db: Database): DatabaseFacts {
  const one = <Row>(sql: string) => db.query<Row, []>(sql).get();
  const count = (sql: string) => one<{ n: number }>(`SELECT count(*) AS n FROM ${sql}`)?.n ?? 0;
  const pendingIn = (index: string, where: string) =>
    one<{ n: number; oldest: number | null }>(
      `SELECT count(*) AS n, min(seq) AS oldest FROM
         (SELECT seq FROM deliveries INDEXED BY ${index} WHERE ${where} LIMIT ${maxCounted})`,
    ) ?? { n: 0, oldest: null };
  return db.transaction((): DatabaseFacts => {
    const due = pendingIn("deliveries_due", "next_attempt_at IS NOT NULL");
    const handedOut = pendingIn("deliveries_handed_out", "status = 'pending' AND next_attempt_at IS NULL");
    const oldest = [due.oldest, handedOut.oldest].filter((seq) => seq !== null);
    const published = db.query<{ at: number }, [number]>(
      "SELECT e.published_at AS at FROM deliveries d JOIN events e ON e.seq = d.event_seq WHERE d.seq = ?",
    );
    const disabled = db.query<{ id: string }, []>(
      "SELECT application_id AS id FROM endpoints WHERE disabled_at IS NOT NULL ORDER BY disabled_at DESC LIMIT 5",
    );
    return {
      users: count("users"),
      indexedUsers: count("user_search_docsize"),
      signingKey:
        one<{ value: string }>("SELECT value FROM settings WHERE key = 'signing_key'")?.value ?? null,
      newestEventAt: one<{ at: number | null }>("SELECT max(published_at) AS at FROM events")?.at ?? null,
      failingEndpoints: count("endpoints WHERE failing_since IS NOT NULL AND disabled_at IS NULL"),
      disabledEndpoints: count("endpoints WHERE disabled_at IS NOT NULL"),
      disabledApplications: disabled.all().map(({ id }) => id),
      pending: due.n + handedOut.n,
      isPendingPartial: due.n === maxCounted || handedOut.n === maxCounted,
      oldestPendingAt: oldest.length === 0 ? null : (published.get(Math.min(...oldest))?.at ?? null),
    };
  })();
}

const listedFaults = 5;

/** What is broken in the pages of a database; `full` also compares every index with its table. */
export function brokenPages(db: Database, full: boolean): string[] {
  const pragma = full ? "integrity_check" : "quick_check";
  const found = db.query<Record<string, string>, []>(`PRAGMA ${pragma}(${listedFaults})`).all();
  const told = found.map((row) => row[pragma] ?? "");
  return told.length === 1 && told[0] === "ok" ? [] : told;
}

/** Tables with rows that refer to rows which do not exist, as far as a thousand of them tell. */
export function danglingTables(db: Database): string[] {
  const tables = new Set<string>();
  let rows = 0;
  for (const { table } of db.query<{ table: string }, []>("PRAGMA foreign_key_check").iterate()) {
    tables.add(table);
    if (++rows === 1_000) break;
  }
  return [...tables];
}
