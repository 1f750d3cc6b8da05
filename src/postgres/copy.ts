import { getTableName } from "drizzle-orm";
import { getTableConfig, type PgTable } from "drizzle-orm/pg-core";
import { StoreError } from "../domain/store.ts";
import type { NewUser } from "../domain/users.ts";
import {
  batchRows,
  type CopiedRow,
  type CopiedRows,
  type CopyCounts,
  type CopySource,
  type CopyTarget,
  copiedSettings,
  copyingSetting,
  movedSetting,
  notEmpty,
  tooOld,
} from "../store/data-storage.ts";
import { columnsOf, copiedTables } from "../store/drizzle/dialect.ts";
import { type ConnectionSettings, namedLocation, shownLocation } from "../store/location.ts";
import { finished, tables } from "./dialect.ts";
import { advisoryLocks, requireNoAdditions } from "./migrations.ts";
import { putUsers } from "./nouns.ts";
import { openPool, type Postgres, type Queries } from "./pool.ts";
import { makePart, partOf } from "./retention.ts";
import { deliveries, deliveryTimes, eventIds, events, users } from "./schema.ts";
import { isAnyAlive } from "./shards.ts";
import { openPostgres, schemaOf } from "./store.ts";

/** The tables of PostgreSQL that are not copied, with the reason. */
export const postgresNotCopied: Readonly<Record<string, string>> = {
  event_ids: "are a part of the events",
  delivery_times: "are made of the events",
  delivery_parts: "is made for the numbers of what is copied",
  user_search: "is made of the users",
  category_orders: "are kept for minutes, for walks that can begin again",
  endpoint_shards: "says which process sends now",
  replicas: "says which processes run now",
  operator_sessions: "begin again by signing in",
};

export const postgresCopied = copiedTables<PgTable>(tables, postgresNotCopied, getTableConfig);

/** Columns that only PostgreSQL has, with their origin. */
export const ownColumns: Readonly<Record<string, string>> = {
  "users.folded": "is made of the names",
  "tokens.made": "counts the rows, which are copied in their order",
  "subscriptions.published_by": "says which process has published last",
};

/** Expressions of a value of SQLite, and of the value of a column that is made of it. */
interface Form {
  readonly read: (column: string) => string;
  /** The column has the text of `read`. */
  readonly write?: (column: string) => string;
}

/** Types whose values SQLite has in another form. */
const forms: Readonly<Record<string, Form>> = {
  bigint: { read: (column) => `${column}::float8` },
  boolean: { read: (column) => `${column}::int` },
  json: { read: (column) => `${column}::text`, write: (column) => `${column}::json` },
  "json[]": {
    read: (column) => `to_json(${column})::text`,
    write: (column) => `ARRAY(SELECT json_array_elements(${column}::json))`,
  },
  "text[]": {
    read: (column) => `to_json(${column})::text`,
    write: (column) => `ARRAY(SELECT json_array_elements_text(${column}::json))`,
  },
};

interface CopiedColumn {
  readonly name: string;
  readonly type: string;
}

/** Returns the columns of a table that are copied. */
const copiedColumns = (table: PgTable): CopiedColumn[] =>
  columnsOf(table)
    .filter(([name]) => !(`${getTableName(table)}.${name}` in ownColumns))
    .map(([name, column]) => ({ name, type: column.getSQLType() }));

/**
 * What is left of each event: its deliveries and body, or only its id. SQLite derives the next number from the newest
 * event, whose deliveries therefore end with the last number that was given.
 */
const allEvents = `(
  SELECT known.*, e.body, CASE WHEN seq = max(seq) OVER () THEN (SELECT last_value FROM delivery_numbers) ELSE last END
    - first_delivery + 1 AS deliveries
  FROM (
    SELECT coalesce(i.seq, d.event_seq) AS seq, coalesce(i.id, d.id) AS id, coalesce(i.name, d.name) AS name,
      coalesce(i.version, d.version) AS version, coalesce(i.published_at, d.published_at) AS published_at,
      coalesce(i.broadcaster_user_id, d.broadcaster_user_id) AS broadcaster_user_id,
      coalesce(i.fingerprint, '') AS fingerprint, coalesce(d.first, i.seq + 1) AS first_delivery,
      coalesce(d.last, i.seq) AS last
    FROM event_ids i FULL JOIN (
      SELECT event_seq, min(event_id) AS id, min(type) AS name, min(version) AS version,
        min(published_at) AS published_at, min(broadcaster_user_id) AS broadcaster_user_id, min(seq) AS first,
        max(seq) AS last
      FROM deliveries GROUP BY event_seq
    ) d ON d.event_seq = i.seq
  ) known LEFT JOIN events e USING (seq)
) AS events`;

/** How a table is read. */
interface Reading {
  readonly columns: readonly CopiedColumn[];
  readonly from: string;
  readonly order: string;
}

/** The tables that are not read as they are, in the order of their first column. */
const exceptions: Readonly<Record<string, Partial<Reading>>> = {
  settings: { from: copiedSettings },
  tokens: { order: "made" },
  events: {
    columns: [
      ...copiedColumns(eventIds),
      { name: "body", type: "text" },
      { name: "first_delivery", type: "bigint" },
    ],
    from: allEvents,
    order: "seq",
  },
};

const readingOf = (name: string, table: PgTable): Reading => ({
  columns: copiedColumns(table),
  from: name,
  order: "1",
  ...exceptions[name],
});

/** Opens a database as the source of a copy. No other copy can use it until it is closed. Throws `StoreError`. */
export async function databaseToCopy(settings: ConnectionSettings): Promise<CopySource> {
  const location = shownLocation(settings);
  const { applied, pending } = await schemaOf(settings);
  if (applied.length === 0) throw new StoreError(`There is no data in the database ${location}.`, true);
  if (pending.length > 0) throw tooOld(location, `onair migrate --database "${namedLocation(settings)}"`);
  const pool = await openLocked(settings);
  return {
    async mark() {
      const found = await pool.run<{ value: string }>("SELECT value FROM settings WHERE key = $1", [
        movedSetting,
      ]);
      return found[0]?.value ?? null;
    },
    setMark: (to) => setMark(pool, movedSetting, to),
    async read(work) {
      await requireNoAdditions(pool, location);
      // The mark is set. A server writes a heartbeat and then looks for the mark: at least one of them sees the other.
      await requireUnserved(pool, location);
      return pool.transact(async (snapshot) => {
        await snapshot.run("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY");
        // PostgreSQL plans cursors for their first rows by default, for example with a nested loop. Here all rows are
        // read, for which such a plan takes far longer.
        await snapshot.run("SET LOCAL cursor_tuple_fraction = 1");
        return work({ damagedBodies: [], counts: () => countsOf(snapshot), rows: () => rowsOf(snapshot) });
      });
    },
    close: () => pool.close(),
  };
}

/**
 * Opens a pool of one connection without statement timeouts, because a statement may read all data. Its lock prevents
 * other copies to and from the database until the pool is closed. Throws a `StoreError` when one is running.
 */
async function openLocked(settings: ConnectionSettings): Promise<Postgres> {
  const pool = openPool(settings, { connections: 1, statementTimeoutMs: 0 });
  try {
    const [row] = await pool.run<{ is_mine: boolean }>("SELECT pg_try_advisory_lock($1) AS is_mine", [
      advisoryLocks.copy,
    ]);
    if (row?.is_mine) return pool;
    throw new StoreError(
      `A copy of the database ${shownLocation(settings)} is running. Wait until it ends, or stop it.`,
    );
  } catch (error) {
    await pool.close();
    throw error;
  }
}

/** Stores a mark, or removes it with null. */
async function setMark({ run }: Queries, key: string, value: string | null): Promise<void> {
  if (value === null) await run("DELETE FROM settings WHERE key = $1", [key]);
  else await run("INSERT INTO settings (key, value) VALUES ($1, $2) ON CONFLICT DO NOTHING", [key, value]);
}

/** Throws a `StoreError` when a server uses the database. */
async function requireUnserved(queries: Queries, location: string): Promise<void> {
  if (!(await isAnyAlive(queries))) return;
  throw new StoreError(
    `A server uses the database ${location}, or ended within the last seconds. Stop all of them, and copy again.`,
  );
}

/** Returns the number of rows of each copied table, and of attempts. */
async function countsOf(queries: Queries): Promise<CopyCounts> {
  const counted = [...postgresCopied].map(
    ([name, table]) => `(SELECT count(*) FROM ${readingOf(name, table).from})::float8 AS ${name}`,
  );
  const [counts] = await queries.run<CopyCounts>(
    `SELECT ${counted.join()}, (SELECT coalesce(sum(cardinality(attempt_log)), 0) FROM deliveries)::float8 AS attempts`,
  );
  if (!counts) throw new Error("The database returned no counts");
  return counts;
}

async function* rowsOf(snapshot: Queries): AsyncGenerator<CopiedRows> {
  for (const [name, table] of postgresCopied) {
    const { columns, from, order } = readingOf(name, table);
    const values = columns.map(({ name, type }) => {
      const value = `"${name}"`;
      return `${forms[type]?.read(value) ?? value} AS ${value}`;
    });
    // The driver keeps what it knows about the rows of a statement, so each table has a cursor of its own name.
    const cursor = `copied_${name}`;
    await snapshot.run(
      `DECLARE ${cursor} NO SCROLL CURSOR FOR SELECT ${values.join()} FROM ${from} ORDER BY ${order}`,
    );
    for (let many = batchRows; many === batchRows; ) {
      const rows = await snapshot.run<CopiedRow>(`FETCH ${batchRows} FROM ${cursor}`);
      many = rows.length;
      if (many > 0) yield { table: name, rows };
    }
    await snapshot.run(`CLOSE ${cursor}`);
  }
}

/**
 * Copies into an empty database, in one transaction: an interrupted copy leaves the database empty. The database is
 * marked first, so that no server that starts meanwhile uses it. After a killed copy, the mark stays until the next
 * copy. Throws `StoreError`.
 */
export async function copyToDatabase<T>(
  settings: ConnectionSettings,
  work: (target: CopyTarget) => Promise<T>,
): Promise<T> {
  await (await openPostgres(settings, { connections: 1 })).close();
  const location = shownLocation(settings);
  const pool = await openLocked(settings);
  let isMarked = false;
  try {
    await pool.transact(async (transaction) => {
      await transaction.run("LOCK TABLE settings IN ACCESS EXCLUSIVE MODE");
      const counts = Object.values(await countsOf(transaction));
      if (counts.some((count) => count > 0)) throw notEmpty(`The database ${location}`);
      await setMark(transaction, copyingSetting, "");
    });
    isMarked = true;
    // The mark is set, and a server looks for it after its first heartbeat: at least one of them sees the other.
    await requireUnserved(pool, location);
    return await pool.transact(async (transaction) => {
      const made = await work(new Filling(transaction));
      await setMark(transaction, copyingSetting, null);
      return made;
    });
  } catch (error) {
    if (isMarked) await setMark(pool, copyingSetting, null).catch(() => {}); // the first error is the one to report
    throw error;
  } finally {
    await pool.close();
  }
}

/** A boundary: the row was a user in the source. */
const userOf = (row: CopiedRow) => ({ ...row, is_verified: row["is_verified"] === 1 }) as unknown as NewUser;

/** Returns a row with bytes as PostgreSQL reads them from text. */
const withHex = (row: CopiedRow): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name,
      value instanceof Uint8Array ? `\\x${value.toHex()}` : value,
    ]),
  );

const numberOf = (row: CopiedRow, name: string): number => Number(row[name] ?? 0);

/** Fills the tables in one transaction. */
class Filling implements CopyTarget {
  /** Parts of the log that are known to exist. */
  readonly #parts = new Set([0]);
  /** The highest number that an event or delivery uses; 0 without any. */
  #last = 0;
  /** The last minute in `delivery_times`. */
  #minute = -1;

  constructor(readonly transaction: Queries) {}

  counts(): Promise<CopyCounts> {
    return countsOf(this.transaction);
  }

  async add({ table: name, rows }: CopiedRows): Promise<void> {
    const table = postgresCopied.get(name);
    if (!table) throw new Error(`${name} is not copied`);
    if (table === users) return finished(putUsers(this.transaction.orm, rows.map(userOf), ""));
    if (table === events) return this.#addEvents(rows);
    if (table === deliveries) await this.#reach(rows.map((row) => numberOf(row, "seq")));
    await this.#insert(table, rows);
  }

  async #addEvents(rows: readonly CopiedRow[]): Promise<void> {
    await this.#reach(
      rows.flatMap((row) => [
        numberOf(row, "seq"),
        numberOf(row, "first_delivery") + numberOf(row, "deliveries") - 1,
      ]),
    );
    await this.#insert(eventIds, rows);
    await this.#insert(
      events,
      rows.filter(({ body }) => body !== null),
    );
    const times: CopiedRow[] = [];
    for (const row of rows) {
      const at = numberOf(row, "published_at");
      const minute = Math.floor(at / 60_000);
      if (minute <= this.#minute) continue;
      this.#minute = minute;
      times.push({ at, seq: numberOf(row, "first_delivery") });
    }
    await this.#insert(deliveryTimes, times);
  }

  /** Makes the parts of the log for these numbers. */
  async #reach(numbers: readonly number[]): Promise<void> {
    for (const number of numbers) {
      this.#last = Math.max(this.#last, number);
      await this.#makePart(partOf(number));
    }
  }

  async #makePart(part: number): Promise<void> {
    if (this.#parts.has(part)) return;
    await makePart(this.transaction, part);
    this.#parts.add(part);
  }

  /** Inserts rows, passed as one JSON parameter. */
  async #insert(table: PgTable, rows: readonly CopiedRow[]): Promise<void> {
    if (rows.length === 0) return;
    const columns = copiedColumns(table);
    const declared = columns.map(({ name, type }) => `"${name}" ${forms[type]?.write ? "text" : type}`);
    const values = columns.map(({ name, type }) => forms[type]?.write?.(`"${name}"`) ?? `"${name}"`);
    const hasBytes = columns.some(({ type }) => type === "bytea");
    await this.transaction.run(
      `INSERT INTO ${getTableName(table)} (${columns.map(({ name }) => `"${name}"`).join()}) OVERRIDING SYSTEM VALUE
         SELECT ${values.join()} FROM json_to_recordset($1::text::json) AS given(${declared.join()})`,
      [JSON.stringify(hasBytes ? rows.map(withHex) : rows)],
    );
  }

  /** Sets sequences and parts of the log to continue after the copied rows, and collects the planner's statistics. */
  async derive(): Promise<void> {
    const { run } = this.transaction;
    for (const table of ["notices", "audit"]) {
      await run(
        `SELECT setval(pg_get_serial_sequence('${table}', 'seq'), max(seq)) FROM ${table} HAVING max(seq) > 0`,
      );
    }
    if (this.#last > 0) {
      // `RESTART` makes the change of the sequence part of the transaction. `setval` alone is not rolled back.
      await run("ALTER SEQUENCE delivery_numbers RESTART");
      await run("SELECT setval('delivery_numbers', $1)", [this.#last]);
    }
    const [current, now] = [partOf(this.#last), Date.now()];
    await this.#makePart(current + 1);
    // Retention counts from the time of the copy, because the original times of the parts are not known.
    for (const part of this.#parts) {
      if (part > current) continue;
      await run(
        "INSERT INTO delivery_parts (part, begun_at, ended_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
        [part, now, part < current ? now : null],
      );
    }
    await run("ANALYZE");
  }
}
