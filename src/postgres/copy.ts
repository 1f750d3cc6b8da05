import { getTableName } from "drizzle-orm";
import { getTableConfig, type PgTable } from "drizzle-orm/pg-core";
import {
  type CopiedNoun,
  type CopiedRow,
  type CopyCounts,
  type CopySource,
  type CopyTarget,
  copiedNouns,
  copiedSettings,
  copyingSetting,
  movedMessage,
  movedSetting,
  notEmpty,
} from "../domain/copy.ts";
import { StoreError } from "../domain/store.ts";
import { columnsOf } from "../store/drizzle/dialect.ts";
import { type ConnectionSettings, namedLocation, shownLocation } from "../store/location.ts";
import { tables } from "./dialect.ts";
import { advisoryLocks, requireNoAdditions, takeLock } from "./migrations.ts";
import { openPool, type Postgres, type Queries } from "./pool.ts";
import { makePart, partOf } from "./retention.ts";
import { foldedNames, termsOf } from "./search.ts";
import { isAnyAlive } from "./shards.ts";
import { openPostgres, schemaOf } from "./store.ts";

/** The tables of PostgreSQL that are not copied, with the reason. */
export const postgresNotCopied: Readonly<Record<string, string>> = {
  user_search: "is made of the users",
  delivery_parts: "is made for the numbers of what is copied",
  category_orders: "are kept for minutes, for walks that can begin again",
  endpoint_shards: "says which process sends now",
  replicas: "says which processes run now",
  operator_sessions: "begin again by signing in",
};

/** The tables of PostgreSQL that are copied. Events are in several of them. */
const postgresTables = Object.fromEntries(
  Object.values<PgTable>(tables)
    .map((table) => [getTableName(table), table] as const)
    .filter(([name]) => !(name in postgresNotCopied)),
) as { readonly [Table in PostgresTable]: PgTable };

type PostgresTable = CopiedNoun | "event_ids" | "delivery_times";

/** Columns that only PostgreSQL has, with their origin. */
export const ownColumns: Readonly<Record<string, string>> = {
  "users.folded": "is made of the names",
  "tokens.made": "counts the rows, which are copied in their order",
  "subscriptions.published_by": "says which process has published last",
};

/** Returns the names and types of the copied columns of a table. */
export function copiedColumns(table: PostgresTable): readonly { name: string; type: string }[] {
  return columnsOf(postgresTables[table])
    .map(([name, column]) => ({ name, type: column.getSQLType() }))
    .filter(({ name }) => !(`${table}.${name}` in ownColumns));
}

const batchRows = 500;

/**
 * What is left of each event: the deliveries, or only the id. Events get new numbers in the order of their last
 * deliveries, because SQLite derives the next number of a delivery from the newest event.
 */
const numbered = `
WITH sent AS (
  SELECT event_seq, min(event_id) AS id, min(type) AS name, min(version) AS version, min(published_at) AS published_at,
    min(broadcaster_user_id) AS broadcaster_user_id, min(seq) AS first, max(seq) AS last
  FROM deliveries GROUP BY event_seq
),
numbered AS (
  SELECT coalesce(s.event_seq, i.seq) AS event_seq, coalesce(i.id, s.id) AS id, coalesce(i.name, s.name) AS name,
    coalesce(i.version, s.version) AS version, coalesce(i.published_at, s.published_at) AS published_at,
    coalesce(i.broadcaster_user_id, s.broadcaster_user_id) AS broadcaster_user_id, i.fingerprint, coalesce(s.first, i.seq) AS first_delivery,
    coalesce(s.last - s.first + 1, 0) AS deliveries,
    row_number() OVER (ORDER BY coalesce(s.last, i.seq - 1), coalesce(s.event_seq, i.seq)) AS seq
  FROM sent s FULL JOIN event_ids i ON i.seq = s.event_seq
)`;

/** Events with the columns of SQLite. */
const events = `${numbered}
SELECT n.seq, n.id, n.name, n.version, n.broadcaster_user_id, e.body, coalesce(n.fingerprint, '') AS fingerprint,
  n.first_delivery, n.deliveries, n.published_at
FROM numbered n LEFT JOIN events e ON e.seq = n.event_seq ORDER BY n.seq`;

const deliveries = `${numbered}
SELECT d.*, n.seq AS numbered FROM deliveries d JOIN numbered n ON n.event_seq = d.event_seq ORDER BY d.seq`;

/**
 * Copies from a database, which no server may use and which is marked as moved for the whole copy. The mark is removed
 * when `work` fails before `keepMark` was called. Throws `StoreError`.
 */
export async function copyingFromDatabase<T>(
  settings: ConnectionSettings,
  to: string,
  work: (source: CopySource) => Promise<T>,
): Promise<T> {
  const location = shownLocation(settings);
  const pool = await openNewest(settings);
  try {
    await requireNoAdditions(pool, location);
    // The copy sets the mark and then looks for heartbeats. A server writes a heartbeat and then looks for the mark, so
    // at least one of them sees the other.
    const { marked, isNew } = await mark(pool, to);
    if (marked !== to) throw new StoreError(movedMessage(location, namedLocation(settings), marked), true);
    let isKept = !isNew;
    try {
      await requireUnserved(pool, location);
      return await pool.transact(async (snapshot) => {
        await snapshot.run("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY");
        await requireOnlyCopy(snapshot, location);
        // PostgreSQL plans cursors for their first rows by default, for example with a nested loop. Here all rows are
        // read, for which such a plan takes far longer.
        await snapshot.run("SET LOCAL cursor_tuple_fraction = 1");
        const keepMark = () => {
          isKept = true;
        };
        return work({
          damagedBodies: [],
          counts: () => countsOf(snapshot),
          rows: (noun) => rowsOf(snapshot, noun),
          keepMark,
        });
      });
    } catch (error) {
      if (!isKept) await removeMark(pool).catch(() => {}); // the first error is the one to report
      throw error;
    }
  } finally {
    await pool.close();
  }
}

/** Removes the mark of a database. Returns false when there is none. Throws `StoreError`. */
export async function reopenDatabase(settings: ConnectionSettings): Promise<boolean> {
  const pool = await openNewest(settings);
  try {
    return await pool.transact(async (transaction) => {
      await requireOnlyCopy(transaction, shownLocation(settings));
      const wasMarked = (await settingOf(transaction, movedSetting)) !== undefined;
      await removeMark(transaction);
      return wasMarked;
    });
  } finally {
    await pool.close();
  }
}

/** Prevents other copies of the database until the transaction ends. Throws a `StoreError` when one is running. */
async function requireOnlyCopy(transaction: Queries, location: string): Promise<void> {
  if (!(await takeLock(transaction, advisoryLocks.copy))) throw copyIsRunning(location);
}

/** Opens a database with the current schema, without statement timeouts, because a statement may read all data. */
async function openNewest(settings: ConnectionSettings): Promise<Postgres> {
  const { applied, pending } = await schemaOf(settings);
  const location = shownLocation(settings);
  if (applied.length === 0) throw new StoreError(`There is no data in the database ${location}.`, true);
  if (pending.length > 0) {
    throw new StoreError(
      `The data of ${location} is of an older version. Migrate it first, with onair migrate.`,
      true,
    );
  }
  return openPool(settings, { connections: 2, statementTimeoutMs: 0 });
}

async function settingOf(queries: Queries, key: string): Promise<string | undefined> {
  const [row] = await queries.run<{ value: string }>("SELECT value FROM settings WHERE key = $1", [key]);
  return row?.value;
}

/** Marks the source if it is not marked yet. Returns the mark, which may be of an earlier copy. */
async function mark(pool: Postgres, to: string): Promise<{ marked: string; isNew: boolean }> {
  const made = await pool.run(
    "INSERT INTO settings (key, value) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING key",
    [movedSetting, to],
  );
  return { marked: (await settingOf(pool, movedSetting)) ?? "", isNew: made.length > 0 };
}

async function removeMark(queries: Queries): Promise<void> {
  await queries.run("DELETE FROM settings WHERE key = $1", [movedSetting]);
}

/** Throws a `StoreError` when a server uses the database. */
async function requireUnserved(queries: Queries, location: string): Promise<void> {
  if (!(await isAnyAlive(queries))) return;
  throw new StoreError(
    `A server uses the database ${location}, or ended within the last seconds. Stop all of them, and copy again.`,
  );
}

/** Returns the number of rows of each noun. */
async function countsOf(queries: Queries): Promise<CopyCounts> {
  const froms: Partial<Record<CopiedNoun, string>> = {
    settings: `settings WHERE ${copiedSettings}`,
    events: "(SELECT event_seq FROM deliveries UNION SELECT seq FROM event_ids) AS known",
  };
  const counted = copiedNouns.map(
    (noun) => `(SELECT count(*) FROM ${froms[noun] ?? noun})::float8 AS ${noun}`,
  );
  const [counts] = await queries.run<CopyCounts>(
    `SELECT ${counted.join()}, (SELECT coalesce(sum(cardinality(attempt_log)), 0) FROM deliveries)::float8 AS attempts`,
  );
  if (!counts) throw new Error("The database returned no counts");
  return counts;
}

async function* rowsOf(snapshot: Queries, noun: CopiedNoun): AsyncGenerator<readonly CopiedRow[]> {
  const cursor = `copied_${noun}`;
  await snapshot.run(
    `DECLARE ${cursor} NO SCROLL CURSOR FOR SELECT row_to_json(r)::text AS row FROM (${statementOf(noun)}) AS r`,
  );
  for (;;) {
    const found = await snapshot.run<{ row: string }>(`FETCH ${batchRows} FROM ${cursor}`);
    if (found.length > 0) yield found.map(({ row }) => rowOf(noun, JSON.parse(row)));
    if (found.length < batchRows) break;
  }
  await snapshot.run(`CLOSE ${cursor}`);
}

function rowOf(noun: CopiedNoun, row: CopiedRow): CopiedRow {
  return noun === "deliveries" ? { ...row, event_seq: row["numbered"] } : row;
}

function statementOf(noun: CopiedNoun): string {
  if (noun === "events") return events;
  if (noun === "deliveries") return deliveries;
  if (noun === "settings") return `SELECT * FROM settings WHERE ${copiedSettings} ORDER BY key`;
  if (noun === "tokens") return "SELECT * FROM tokens ORDER BY made";
  return `SELECT * FROM ${noun} ORDER BY ${keyOf(noun).join()}`;
}

/** Returns the columns of the primary key, which give the rows a fixed order. */
function keyOf(noun: CopiedNoun): readonly string[] {
  const { columns, primaryKeys } = getTableConfig(postgresTables[noun]);
  const key = primaryKeys[0]?.columns ?? columns.filter(({ primary }) => primary);
  if (key.length === 0) throw new Error(`${noun} has no primary key`);
  return key.map(({ name }) => `"${name}"`);
}

/**
 * Copies into an empty database, in one transaction: an interrupted copy leaves the database empty. The database is
 * marked first, so that no server that starts meanwhile uses it. After a killed copy, the mark stays until the next
 * copy. Throws `StoreError`.
 */
export async function copyingToDatabase<T>(
  settings: ConnectionSettings,
  work: (target: CopyTarget) => Promise<T>,
): Promise<T> {
  await (await openPostgres(settings, { connections: 1 })).close();
  const location = `The database ${shownLocation(settings)}`;
  const pool = openPool(settings, { connections: 1, statementTimeoutMs: 0 });
  const removeCopying = ({ run }: Queries) => run("DELETE FROM settings WHERE key = $1", [copyingSetting]);
  let isMarked = false;
  try {
    await requireOnlyCopyTo(pool, shownLocation(settings));
    await pool.transact(async (transaction) => {
      await transaction.run("LOCK TABLE settings IN ACCESS EXCLUSIVE MODE");
      if (Object.values(await countsOf(transaction)).some((count) => count > 0)) throw notEmpty(location);
      await transaction.run("INSERT INTO settings (key, value) VALUES ($1, '') ON CONFLICT DO NOTHING", [
        copyingSetting,
      ]);
    });
    isMarked = true;
    // The mark is set, and a server looks for it after its first heartbeat: at least one of them sees the other.
    await requireUnserved(pool, shownLocation(settings));
    return await pool.transact(async (transaction) => {
      const filling = new Filling(transaction);
      const made = await work({
        counts: () => countsOf(transaction),
        add: (noun, rows) => filling.add(noun, rows),
        derive: () => filling.derive(Date.now()),
      });
      await removeCopying(transaction);
      return made;
    });
  } catch (error) {
    if (isMarked) await removeCopying(pool).catch(() => {}); // the first error is the one to report
    throw error;
  } finally {
    await pool.close();
  }
}

/** Prevents other copies to and from the database until the only connection of the pool is closed. */
async function requireOnlyCopyTo(pool: Postgres, location: string): Promise<void> {
  const [row] = await pool.run<{ is_mine: boolean }>("SELECT pg_try_advisory_lock($1) AS is_mine", [
    advisoryLocks.copy,
  ]);
  if (!row?.is_mine) throw copyIsRunning(location);
}

const copyIsRunning = (location: string) =>
  new StoreError(`A copy of the database ${location} is running. Wait until it ends, or stop it.`);

const numberOf = (row: CopiedRow, name: string): number => Number(row[name] ?? 0);

/** Fills the tables in one transaction. */
class Filling {
  /** Parts of the log that are known to exist. */
  readonly #parts = new Set([0]);
  /** The highest number that an event or delivery uses; 0 without any. */
  #last = 0;

  constructor(readonly transaction: Queries) {}

  async add(noun: CopiedNoun, rows: readonly CopiedRow[]): Promise<void> {
    if (noun === "events" || noun === "deliveries") {
      for (const number of rows.flatMap(numbersOf)) {
        this.#last = Math.max(this.#last, number);
        await this.#makePart(partOf(number));
      }
    }
    if (noun === "users") await addUsers(this.transaction, rows);
    else if (noun === "events") await addEvents(this.transaction, rows);
    else await insert(this.transaction, noun, rows);
  }

  async #makePart(part: number): Promise<void> {
    if (this.#parts.has(part)) return;
    await makePart(this.transaction, part);
    this.#parts.add(part);
  }

  /** Sets sequences and parts of the log to continue after the copied rows, and collects the planner's statistics. */
  async derive(now: number): Promise<void> {
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
    const current = partOf(this.#last);
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

/** Returns the first and last number that a row of the log uses. */
function numbersOf(row: CopiedRow): number[] {
  const seq = numberOf(row, "seq");
  if (!("first_delivery" in row)) return [seq];
  return [seq, numberOf(row, "first_delivery") + numberOf(row, "deliveries") - 1];
}

async function addUsers(queries: Queries, rows: readonly CopiedRow[]): Promise<void> {
  const folded = rows.map((row) => ({
    ...row,
    folded: foldedNames({ username: String(row["username"]), display_name: String(row["display_name"]) }),
  }));
  await insert(queries, "users", folded, [{ name: "folded", type: "text" }]);
  await queries.run(
    `INSERT INTO user_search (user_id, terms, popularity)
     SELECT id, terms::int4[], onair_popularity(followers)
     FROM unnest($1::bigint[], $2::text[], $3::bigint[]) AS t(id, terms, followers)`,
    [
      folded.map((row) => numberOf(row, "id")),
      folded.map((row) => `{${termsOf(row.folded)}}`),
      folded.map((row) => numberOf(row, "followers_count")),
    ],
  );
}

async function addEvents(queries: Queries, rows: readonly CopiedRow[]): Promise<void> {
  await insert(queries, "event_ids", rows);
  await insert(
    queries,
    "events",
    rows.filter(({ body }) => body !== null),
  );
  const [last] = await queries.run<{ at: number | null }>("SELECT max(at)::float8 AS at FROM delivery_times");
  let lastMinute = minuteOf(last?.at ?? -1);
  const times: CopiedRow[] = [];
  for (const row of rows) {
    const at = numberOf(row, "published_at");
    const minute = minuteOf(at);
    if (minute <= lastMinute) continue;
    lastMinute = minute;
    times.push({ at, seq: row["first_delivery"] });
  }
  await insert(queries, "delivery_times", times);
}

/**
 * Inserts rows, passed as one JSON parameter. JSON columns are strings in this parameter, because JSON text may contain
 * an escaped NUL.
 */
async function insert(
  queries: Queries,
  table: PostgresTable,
  rows: readonly CopiedRow[],
  more: readonly { name: string; type: string }[] = [],
): Promise<void> {
  if (rows.length === 0) return;
  const columns = [...copiedColumns(table), ...more];
  const isJson = (type: string) => type.startsWith("json");
  const given = columns.map(({ name, type }) => `"${name}" ${isJson(type) ? "text" : type}`);
  const values = columns.map(({ name, type }) => {
    if (type === "json[]") return `ARRAY(SELECT json_array_elements("${name}"::json))`;
    return type === "json" ? `"${name}"::json` : `"${name}"`;
  });
  const json = columns.filter(({ type }) => isJson(type)).map(({ name }) => name);
  const encoded = rows.map((row) => {
    const texts = json.map((name) => [name, row[name] === null ? null : JSON.stringify(row[name])]);
    return {
      ...Object.fromEntries(columns.map(({ name }) => [name, row[name]])),
      ...Object.fromEntries(texts),
    };
  });
  await queries.run(
    `INSERT INTO ${table} (${columns.map(({ name }) => `"${name}"`).join()}) OVERRIDING SYSTEM VALUE
       SELECT ${values.join()} FROM json_to_recordset($1::text::json) AS given(${given.join()})`,
    [JSON.stringify(encoded)],
  );
}

const minuteOf = (at: number) => Math.floor(at / 60_000);
