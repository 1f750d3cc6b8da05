import { getTableName, type Table } from "drizzle-orm";
import type { PgTable } from "drizzle-orm/pg-core";
import { StoreError } from "../domain/store.ts";
import type { NewUser } from "../domain/users.ts";
import {
  batchRows,
  type CopiedRow,
  type CopySource,
  type CopyTarget,
  copiedSettings,
  copyingSetting,
  movedSetting,
  notEmpty,
  tooOld,
} from "../store/data-storage.ts";
import { columnsOf } from "../store/drizzle/dialect.ts";
import { type ConnectionSettings, namedLocation, shownLocation } from "../store/location.ts";
import { finished, tables } from "./dialect.ts";
import { advisoryLocks, requireNoAdditions } from "./migrations.ts";
import { putUsers } from "./nouns.ts";
import { openPool, type Postgres, type Queries } from "./pool.ts";
import { makePart, partOf } from "./retention.ts";
import { deliveries, eventIds, events, users } from "./schema.ts";
import { isAnyAlive } from "./shards.ts";
import { openPostgres, schemaOf } from "./store.ts";

const ofName = new Map<string, PgTable>(Object.values(tables).map((table) => [getTableName(table), table]));

/** Expressions of a value of SQLite, by drizzle's type. `custom` is the list of attempts. */
const reads: Readonly<Record<string, (column: string) => string>> = {
  number: (column) => `${column}::float8`,
  boolean: (column) => `${column}::int`,
  json: (column) => `to_json(${column})::text`,
  custom: (column) => `to_json(${column})::text`,
};

/** Expressions of a value that SQLite has as text, by its type. */
const writes: Readonly<Record<string, (column: string) => string>> = {
  json: (column) => `${column}::json`,
  "json[]": (column) => `ARRAY(SELECT json_array_elements(${column}::json))`,
  "text[]": (column) => `ARRAY(SELECT json_array_elements_text(${column}::json))`,
};

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

/** What is read in place of a table, in SQL after `FROM`. */
const sources: Readonly<Record<string, string>> = {
  settings: copiedSettings,
  events: allEvents,
  attempts: "(SELECT generate_series(1, cardinality(attempt_log)) FROM deliveries) AS attempts",
};

const sourceOf = (table: Table): string => sources[getTableName(table)] ?? getTableName(table);

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
        return work({
          damagedBodies: [],
          count: (table) => countIn(snapshot, table),
          rows: (table) => rowsOf(snapshot, table),
        });
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

/** Returns the number of copied rows of a table. */
async function countIn({ run }: Queries, table: Table): Promise<number> {
  const [counted] = await run<{ n: number }>(`SELECT count(*)::float8 AS n FROM ${sourceOf(table)}`);
  return counted?.n ?? 0;
}

async function* rowsOf({ run }: Queries, table: Table): AsyncGenerator<CopiedRow[]> {
  const name = getTableName(table);
  // The columns of SQLite, and those of deliveries that are in other tables there.
  const columns = columnsOf(name === "deliveries" ? deliveries : table);
  const values = columns.map(([column, { dataType }]) => {
    const value = `"${column}"`;
    return `${reads[dataType]?.(value) ?? value} AS ${value}`;
  });
  const order = name === "tokens" ? "made" : "1";
  // The driver keeps what it knows about the rows of a statement, so each table has a cursor of its own name.
  const cursor = `copied_${name}`;
  await run(
    `DECLARE ${cursor} NO SCROLL CURSOR FOR SELECT ${values.join()} FROM ${sourceOf(table)} ORDER BY ${order}`,
  );
  for (let many = batchRows; many === batchRows; ) {
    const rows = await run<CopiedRow>(`FETCH ${batchRows} FROM ${cursor}`);
    many = rows.length;
    if (many > 0) yield rows;
  }
  await run(`CLOSE ${cursor}`);
}

/**
 * Copies into an empty database, in one transaction: an interrupted copy leaves the database empty. The database is
 * marked first, so that no server that starts meanwhile uses it. After a killed copy, the mark stays until the next
 * copy. Throws `StoreError`.
 */
export async function copyToDatabase<T>(
  settings: ConnectionSettings,
  copied: readonly Table[],
  work: (target: CopyTarget) => Promise<T>,
): Promise<T> {
  await (await openPostgres(settings, { connections: 1 })).close();
  const location = shownLocation(settings);
  const pool = await openLocked(settings);
  try {
    await pool.transact(async (transaction) => {
      await transaction.run("LOCK TABLE settings IN ACCESS EXCLUSIVE MODE");
      for (const table of copied)
        if ((await countIn(transaction, table)) > 0) throw notEmpty(`The database ${location}`);
      await setMark(transaction, copyingSetting, "");
    });
    // The mark is set, and a server looks for it after its first heartbeat: at least one of them sees the other.
    await requireUnserved(pool, location);
    return await pool.transact(async (transaction) => {
      const made = await work(filling(transaction));
      await setMark(transaction, copyingSetting, null);
      return made;
    });
  } finally {
    // Still there after a fault, whose error is the one to report.
    await setMark(pool, copyingSetting, null).catch(() => {});
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
function filling(transaction: Queries): CopyTarget {
  const { run, orm } = transaction;
  const parts = new Set<number>();
  /** The highest number that an event or delivery uses; 0 without any. */
  let last = 0;

  /** Makes the parts of the log for these numbers. Retention counts from now: their original times are not known. */
  async function reach(numbers: readonly number[]): Promise<void> {
    for (const number of numbers) {
      last = Math.max(last, number);
      const part = partOf(number);
      if (parts.has(part)) continue;
      parts.add(part);
      await makePart(transaction, part);
      await run("INSERT INTO delivery_parts (part, begun_at) VALUES ($1, $2) ON CONFLICT DO NOTHING", [
        part,
        Date.now(),
      ]);
    }
  }

  /** Inserts rows, passed as one JSON parameter. */
  async function insert(table: PgTable, rows: readonly CopiedRow[]): Promise<void> {
    const [first] = rows;
    if (!first) return;
    const columns = columnsOf(table)
      .filter(([name]) => name in first)
      .map(([name, column]) => ({ name: `"${name}"`, type: column.getSQLType() }));
    const declared = columns.map(({ name, type }) => `${name} ${writes[type] ? "text" : type}`);
    const values = columns.map(({ name, type }) => writes[type]?.(name) ?? name);
    const hasBytes = columns.some(({ type }) => type === "bytea");
    await run(
      `INSERT INTO ${getTableName(table)} (${columns.map(({ name }) => name).join()}) OVERRIDING SYSTEM VALUE
         SELECT ${values.join()} FROM json_to_recordset($1::text::json) AS given(${declared.join()})`,
      [JSON.stringify(hasBytes ? rows.map(withHex) : rows)],
    );
  }

  return {
    count: (table) => countIn(transaction, table),
    async add(from, rows) {
      const table = ofName.get(getTableName(from));
      if (!table) throw new Error(`${getTableName(from)} is not copied`);
      if (table === users) return finished(putUsers(orm, rows.map(userOf), ""));
      if (table === deliveries) await reach(rows.map((row) => numberOf(row, "seq")));
      if (table !== events) return insert(table, rows);
      const lastOf = (row: CopiedRow) => numberOf(row, "first_delivery") + numberOf(row, "deliveries") - 1;
      await reach(rows.flatMap((row) => [numberOf(row, "seq"), lastOf(row)]));
      await insert(eventIds, rows);
      const withBody = rows.filter(({ body }) => body !== null);
      await insert(events, withBody);
    },
    /** Sets sequences and parts of the log to continue after the copied rows, and collects the planner's statistics. */
    async derive() {
      for (const table of ["notices", "audit"]) {
        await run(
          `SELECT setval(pg_get_serial_sequence('${table}', 'seq'), max(seq)) FROM ${table} HAVING max(seq) > 0`,
        );
      }
      if (last > 0) {
        // `RESTART` makes the change of the sequence part of the transaction. `setval` alone is not rolled back.
        await run("ALTER SEQUENCE delivery_numbers RESTART");
        await run("SELECT setval('delivery_numbers', $1)", [last]);
      }
      await reach([last]);
      await run("UPDATE delivery_parts SET ended_at = begun_at WHERE part < $1", [partOf(last)]);
      await makePart(transaction, partOf(last) + 1);
      // The first number of each minute. After a clock was set back, a minute begins with those that follow it.
      await run(
        `INSERT INTO delivery_times (at, seq)
         SELECT min(published_at), min(min(seq)) OVER (ORDER BY published_at / 60000 DESC)
         FROM deliveries GROUP BY published_at / 60000`,
      );
      await run("ANALYZE");
    },
  };
}
