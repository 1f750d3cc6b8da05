import { Database, type SQLQueryBindings } from "bun:sqlite";
import { closeSync, existsSync, openSync, renameSync } from "node:fs";
import { type Column, getTableName } from "drizzle-orm";
import type { SQLiteTable } from "drizzle-orm/sqlite-core";
import {
  type CopiedNoun,
  type CopiedRow,
  type CopyCounts,
  type CopySource,
  type CopyTarget,
  copiedNouns,
  copiedSettings,
  movedMessage,
  movedSetting,
  notEmpty,
} from "../../domain/copy.ts";
import type { Attempt } from "../../domain/deliveries.ts";
import { StoreError } from "../../domain/store.ts";
import { columnsOf } from "../drizzle/dialect.ts";
import { attemptReader } from "./deliveries.ts";
import { type KeptBody, keptBody, readableBody } from "./delivery-rows.ts";
import { tables } from "./dialect.ts";
import {
  copyingIn,
  databaseIn,
  explain,
  lockDirectory,
  removeDatabase,
  removeLog,
  sync,
} from "./directory.ts";
import { codeOf } from "./faults.ts";
import { migrate, requireNoAdditions } from "./migrations.ts";
import { inspect, openDatabase, schemaState } from "./open.ts";
import { fillingSearch } from "./search.ts";

/** The tables of a data directory that are not copied, with the reason. */
export const sqliteNotCopied: Readonly<Record<string, string>> = {
  staged_events: "is moved into events and deliveries when the source is opened",
  search_statistics: "is made of the users, with the index of the search",
  subscription_counts: "is kept by triggers",
  operator_sessions: "begin again by signing in",
};

/** The tables of a data directory that are copied. */
export const sqliteTables = Object.fromEntries(
  Object.values<SQLiteTable>(tables)
    .map((table) => [getTableName(table), table] as const)
    .filter(([name]) => !(name in sqliteNotCopied)),
) as { readonly [Noun in CopiedNoun | "attempts"]: SQLiteTable };

const batchRows = 500;

/**
 * Copies from a data directory, which is locked and marked as moved for the whole copy. The mark is removed when `work`
 * fails before `keepMark` was called. Throws `StoreError`.
 */
export async function copyingFromDirectory<T>(
  directory: string,
  to: string,
  work: (source: CopySource) => Promise<T>,
): Promise<T> {
  const { db, close } = openNewest(directory);
  try {
    requireNoAdditions(db, directory);
    const marked = markOf(db);
    if (marked !== null && marked !== to)
      throw new StoreError(movedMessage(directory, directory, marked), true);
    db.run("INSERT OR REPLACE INTO settings (key, value) VALUES (?, ?)", [movedSetting, to]);
    let isKept = marked !== null;
    try {
      const keepMark = () => {
        isKept = true;
      };
      const damagedBodies: string[] = [];
      return await work({
        damagedBodies,
        counts: async () => countsIn(db),
        rows: (noun) => rowsOf(db, noun, damagedBodies),
        keepMark,
      });
    } catch (error) {
      if (!isKept) removeMark(db);
      throw error;
    }
  } finally {
    close();
  }
}

/** Removes the mark of a directory. Returns false when there is none. Throws `StoreError`. */
export function reopenDirectory(directory: string): boolean {
  const { db, close } = openNewest(directory);
  const wasMarked = markOf(db) !== null;
  removeMark(db);
  close();
  return wasMarked;
}

function openNewest(directory: string) {
  const lock = lockDirectory(directory);
  try {
    if (inspect(directory, schemaState).pending.length > 0) {
      throw new StoreError(
        `The data of ${directory} is of an older version. Migrate it first: onair migrate --data ${directory}`,
        true,
      );
    }
  } catch (error) {
    lock.close();
    throw error;
  }
  return openDatabase(directory, lock);
}

const markOf = (db: Database): string | null =>
  db.query<{ value: string }, [string]>("SELECT value FROM settings WHERE key = ?").get(movedSetting)
    ?.value ?? null;

function removeMark(db: Database): void {
  db.run("DELETE FROM settings WHERE key = ?", [movedSetting]);
}

async function* rowsOf(
  db: Database,
  noun: CopiedNoun,
  damagedBodies: string[],
): AsyncGenerator<readonly CopiedRow[]> {
  const attemptsOf = attemptReader(db);
  const columns = columnsOf(sqliteTables[noun]);
  let batch: CopiedRow[] = [];
  for (const row of db.query<Record<string, unknown>, []>(statementOf(noun)).iterate()) {
    for (const [name, column] of columns) row[name] = asJson(column, row[name]);
    if (noun === "events") {
      const kept = row["body"] as KeptBody | null;
      row["body"] = readableBody(kept)?.toString() ?? null;
      if (kept !== null && row["body"] === null) damagedBodies.push(String(row["id"]));
    }
    if (noun === "deliveries") {
      row["attempt_log"] = attemptsOf(Number(row["seq"]));
      // A pending delivery without a time was in memory when its server ended. Such a delivery is due.
      if (row["status"] === "pending") row["next_attempt_at"] ??= 0;
    }
    batch.push(row);
    if (batch.length < batchRows) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

/** Deliveries with their events, in a forced order of joining: by old statistics, SQLite may scan all events often. */
const loggedDeliveries = "deliveries d CROSS JOIN events e NOT INDEXED ON e.seq = d.event_seq";

function statementOf(noun: CopiedNoun): string {
  if (noun === "deliveries") {
    return `SELECT d.*, e.id AS event_id, e.name AS type, e.version, e.broadcaster_user_id, e.published_at
      FROM ${loggedDeliveries} ORDER BY d.seq`;
  }
  const where = noun === "settings" ? `WHERE ${copiedSettings}` : "";
  return `SELECT * FROM ${noun} ${where} ORDER BY rowid`;
}

/** Returns the number of rows of each noun. */
function countsIn(db: Database): CopyCounts {
  const counted = (from: string) =>
    db.query<{ n: number }, []>(`SELECT count(*) AS n FROM ${from}`).get()?.n ?? 0;
  const froms: Partial<Record<CopiedNoun, string>> = {
    settings: `settings WHERE ${copiedSettings}`,
    deliveries: loggedDeliveries,
  };
  const nouns = copiedNouns.map((noun) => [noun, counted(froms[noun] ?? noun)]);
  const attempts = counted(`${loggedDeliveries} CROSS JOIN attempts a ON a.delivery_seq = d.seq`);
  // A boundary: `Object.fromEntries` loses the names.
  return { ...Object.fromEntries(nouns), attempts } as CopyCounts;
}

function asJson({ dataType }: Column, value: unknown): unknown {
  if (value === null) return null;
  if (dataType === "buffer") return `\\x${Buffer.from(value as Uint8Array).toString("hex")}`;
  if (dataType === "boolean") return value === 1;
  return dataType === "json" ? JSON.parse(String(value)) : value;
}

/**
 * Copies into a directory that has no database. The database is built in another file and renamed when `work` has
 * ended, so that an interrupted copy leaves nothing that a server takes for a database. Throws `StoreError`.
 */
export async function copyingToDirectory<T>(
  directory: string,
  work: (target: CopyTarget) => Promise<T>,
): Promise<T> {
  const lock = lockDirectory(directory);
  const partial = copyingIn(directory);
  try {
    if (existsSync(databaseIn(directory))) throw notEmpty(directory);
    removeDatabase(partial);
    const made = await filled(partial, work);
    putInPlace(partial, directory);
    return made;
  } catch (error) {
    removeDatabase(partial);
    // Only errors of SQLite are about the target; errors of the source already say what is wrong.
    throw codeOf(error) === "" ? error : explain(error, directory);
  } finally {
    lock.close();
  }
}

/** Renames the finished copy to the database. Throws `StoreError`. */
function putInPlace(partial: string, directory: string): void {
  try {
    // SQLite leaves these files when a statement is still open as it closes the database.
    removeLog(partial);
    renameSync(partial, databaseIn(directory));
    sync(directory);
  } catch (error) {
    throw explain(error, directory);
  }
}

async function filled<T>(file: string, work: (target: CopyTarget) => Promise<T>): Promise<T> {
  closeSync(openSync(file, "wx", 0o600));
  const db = new Database(file, { create: false, readwrite: true, strict: true });
  try {
    db.run("PRAGMA auto_vacuum = INCREMENTAL");
    db.run("PRAGMA journal_mode = WAL");
    db.run("PRAGMA synchronous = NORMAL");
    db.run("PRAGMA temp_store = MEMORY");
    db.run("PRAGMA foreign_keys = ON");
    migrate(db);
    const addAll = db.transaction((noun: CopiedNoun, rows: readonly CopiedRow[]) => add(db, noun, rows));
    const made = await work({
      counts: async () => countsIn(db),
      add: async (noun, rows) => addAll(noun, rows),
      async derive() {
        for (const _ of fillingSearch(db)) await Bun.sleep(0);
      },
    });
    db.run("PRAGMA wal_checkpoint(TRUNCATE)");
    return made;
  } finally {
    db.close();
  }
}

function add(db: Database, noun: CopiedNoun, rows: readonly CopiedRow[]): void {
  insert(db, noun, noun === "events" ? rows.map(withKeptBody) : rows);
  if (noun !== "deliveries") return;
  const attempts = rows.flatMap(({ seq, attempt_log }) =>
    // A boundary: the source has read these attempts.
    (attempt_log as readonly Attempt[]).map(({ timings, ...rest }, i) => ({
      ...rest,
      delivery_seq: seq,
      number: i + 1,
      dns_ms: timings.dnsMs,
      connect_ms: timings.connectMs,
      tls_ms: timings.tlsMs,
      first_byte_ms: timings.firstByteMs,
    })),
  );
  insert(db, "attempts", attempts);
}

function withKeptBody(event: CopiedRow): CopiedRow {
  const { body } = event;
  return typeof body === "string" ? { ...event, body: keptBody(body) } : event;
}

function insert(db: Database, table: CopiedNoun | "attempts", rows: readonly CopiedRow[]): void {
  const columns = columnsOf(sqliteTables[table]);
  const names = columns.map(([name]) => `"${name}"`).join();
  const statement = db.query(`INSERT INTO ${table} (${names}) VALUES (${columns.map(() => "?").join()})`);
  for (const row of rows) statement.run(...columns.map(([name, column]) => asStored(column, row[name])));
}

function asStored({ dataType }: Column, value: unknown): SQLQueryBindings {
  if (value === null || value === undefined) return null;
  if (dataType === "buffer") return Buffer.from(String(value).slice(2), "hex");
  if (dataType === "boolean") return value === true ? 1 : 0;
  // All other values are numbers, text or packed bodies.
  return dataType === "json" ? JSON.stringify(value) : (value as SQLQueryBindings);
}
