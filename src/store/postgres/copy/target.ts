import { StoreError } from "../../faults.ts";
import {
  type CopiedNoun,
  type CopiedRow,
  type CopyTarget,
  completedNow,
  copiedSetting,
  copyingSetting,
  refuseFull,
} from "../../operations/copy.ts";
import { type ConnectionSettings, shownLocation } from "../database/connection-url.ts";
import { openPostgres } from "../database/open.ts";
import { openPool, type Postgres, type Queries } from "../database/pool.ts";
import { currentPart, hasPart, makePart, partOf } from "../deliveries/parts.ts";
import { foldedNames, termsOf } from "../search/terms.ts";
import { countsOf, requireUnserved, settingOf } from "./source.ts";
import { copiedColumns, type PostgresTable } from "./tables.ts";

/**
 * Copies into an empty database, or continues an interrupted copy. The database is marked as incomplete, so a server
 * that starts meanwhile refuses it. Throws `StoreError`.
 */
export async function copyingToDatabase<T>(
  settings: ConnectionSettings,
  copyId: string,
  work: (target: CopyTarget) => Promise<T>,
): Promise<T> {
  await (await openPostgres(settings, { connections: 1 })).close();
  const pool = openPool(settings, { connections: 1, statementTimeoutMs: 0 });
  try {
    await claim(pool, `The database ${shownLocation(settings)}`, copyId);
    const filling = new Filling(pool);
    const made = await work({
      counts: () => countsOf(pool),
      add: (noun, rows) => filling.add(noun, rows),
      derive: () => deriveAll(pool, Date.now()),
    });
    const completed = [copiedSetting, completedNow(copyId), copyingSetting];
    await pool.run("UPDATE settings SET key = $1, value = $2 WHERE key = $3", completed);
    return made;
  } finally {
    await pool.close();
  }
}

/** Marks the database as the target of this copy. */
async function claim(pool: Postgres, location: string, copyId: string): Promise<void> {
  const isNew = await pool.transact(async (transaction) => {
    await transaction.run("LOCK TABLE settings IN ACCESS EXCLUSIVE MODE");
    const marked = await settingOf(transaction, copyingSetting);
    if (marked === copyId) return false;
    if (marked)
      throw new StoreError(`${location} has a part of another copy: create the database again.`, true);
    const there = await countsOf(transaction);
    if (Object.values(there).some((count) => count > 0))
      refuseFull(location, copyId, await settingOf(transaction, copiedSetting));
    await transaction.run("INSERT INTO settings (key, value) VALUES ($1, $2)", [copyingSetting, copyId]);
    return true;
  });
  try {
    // A server checks for the mark after its first heartbeat, so one of them notices the other.
    await requireUnserved(pool, location);
  } catch (error) {
    if (isNew) await pool.run("DELETE FROM settings WHERE key = $1", [copyingSetting]);
    throw error;
  }
}

const numberOf = (row: CopiedRow, name: string): number => Number(row[name] ?? 0);

/** Sets sequences and the parts of the log to continue after the copied rows, and collects the planner's statistics. */
async function deriveAll(pool: Postgres, now: number): Promise<void> {
  for (const table of ["notices", "audit"]) {
    await pool.run(
      `SELECT setval(pg_get_serial_sequence('${table}', 'seq'), max(seq)) FROM ${table} HAVING max(seq) > 0`,
    );
  }
  const current = await currentPart(pool);
  await pool.transact((transaction) => makePart(transaction, current + 1));
  // Retention counts from the time of the copy, because the original times of the parts are not known.
  for (let part = 0; part <= current; part++) {
    if (!(await hasPart(pool, "deliveries", part))) continue;
    await pool.run(
      "INSERT INTO delivery_parts (part, begun_at, ended_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
      [part, now, part < current ? now : null],
    );
  }
  await pool.run("ANALYZE");
}

class Filling {
  /** Parts of the log that are known to exist. */
  readonly #parts = new Set([0]);

  constructor(readonly pool: Postgres) {}

  /** Adds rows in one transaction, which is not synced to disk. The last commit of the copy syncs all of them. */
  async add(noun: CopiedNoun, rows: readonly CopiedRow[]): Promise<void> {
    const isLogged = noun === "events" || noun === "deliveries";
    if (isLogged) await this.#reserveNumbers(rows.flatMap(numbersOf));
    await this.pool.transact(async (transaction) => {
      await transaction.run("SET LOCAL synchronous_commit = off");
      if (noun === "users") await addUsers(transaction, rows);
      else if (noun === "events") await addEvents(transaction, rows);
      else await insert(transaction, noun, rows);
    });
  }

  /** Makes the parts of the log for these numbers, and sets the sequence after them. */
  async #reserveNumbers(numbers: readonly number[]): Promise<void> {
    for (const part of new Set(numbers.map(partOf))) {
      if (this.#parts.has(part)) continue;
      await this.pool.transact((transaction) => makePart(transaction, part));
      this.#parts.add(part);
    }
    await this.pool.run(
      "SELECT setval('delivery_numbers', greatest($1::bigint, last_value)) FROM delivery_numbers",
      [numbers.reduce((most, number) => Math.max(most, number), 1)],
    );
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
 * Inserts rows, passed as one JSON parameter. JSON columns are strings in it, because JSON text may contain an escaped
 * NUL.
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
