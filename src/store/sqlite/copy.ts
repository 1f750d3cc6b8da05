import { Database } from "bun:sqlite";
import { closeSync, existsSync, openSync, renameSync } from "node:fs";
import { getTableName, type Table } from "drizzle-orm";
import { getTableConfig, type SQLiteTable } from "drizzle-orm/sqlite-core";
import type { Attempt } from "../../domain/deliveries.ts";
import {
  batchRows,
  type CopiedRow,
  type CopySource,
  type CopyTarget,
  copiedSettings,
  movedSetting,
  notEmpty,
  tooOld,
} from "../data-storage.ts";
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
import { attemptInserter, attemptRow } from "./queue.ts";
import { deliveries, events } from "./schema.ts";
import { fillingSearch } from "./search.ts";

/** The tables that are not copied, with the reason. Those that only PostgreSQL has are made of what is copied. */
export const notCopied: Readonly<Record<string, string>> = {
  attempts: "are a part of their deliveries",
  staged_events: "is moved into events and deliveries when the source is opened",
  search_statistics: "is made of the users, with the index of the search",
  subscription_counts: "is kept by triggers",
  operator_sessions: "begin again by signing in",
};

/** The copied tables by their names, each after the tables that it refers to. PostgreSQL has them, too. */
export const copiedTables: ReadonlyMap<string, SQLiteTable> = inOrder(Object.values(tables), new Map());

function inOrder(all: readonly SQLiteTable[], ordered: Map<string, SQLiteTable>): Map<string, SQLiteTable> {
  for (const table of all) {
    const { name, foreignKeys } = getTableConfig(table);
    if (name in notCopied) continue;
    const referred = foreignKeys.map((key) => key.reference().foreignTable);
    inOrder(referred, ordered).set(name, table);
  }
  return ordered;
}

/** Deliveries with their events, in a forced order of joining: by old statistics, SQLite may scan all events often. */
const loggedDeliveries = "deliveries d CROSS JOIN events e NOT INDEXED ON e.seq = d.event_seq";

/** What is read in place of a table, in SQL after `FROM`. */
const sources: Readonly<Record<string, string>> = {
  settings: copiedSettings,
  deliveries: `(SELECT d.*, e.id AS event_id, e.name AS type, e.version, e.broadcaster_user_id, e.published_at
    FROM ${loggedDeliveries})`,
  attempts: `${loggedDeliveries} CROSS JOIN attempts a ON a.delivery_seq = d.seq`,
};

const sourceOf = (table: Table): string => sources[getTableName(table)] ?? getTableName(table);

/** Returns the number of copied rows of a table. */
const countIn = (db: Database, table: Table): number =>
  db.query<{ n: number }, []>(`SELECT count(*) AS n FROM ${sourceOf(table)}`).get()?.n ?? 0;

/** Opens the database of a directory as the source of a copy, and locks the directory. Throws `StoreError`. */
export async function directoryToCopy(directory: string): Promise<CopySource> {
  if (inspect(directory, schemaState).pending.length > 0)
    throw tooOld(directory, `onair migrate --data ${directory}`);
  const { db, ensureWriter, close } = openDatabase(directory);
  const marked = db.query<{ value: string }, [string]>("SELECT value FROM settings WHERE key = ?");
  return {
    mark: async () => marked.get(movedSetting)?.value ?? null,
    async setMark(to) {
      if (to === null) db.run("DELETE FROM settings WHERE key = ?", [movedSetting]);
      else db.run("INSERT OR REPLACE INTO settings (key, value) VALUES (?, ?)", [movedSetting, to]);
    },
    async read(work) {
      requireNoAdditions(db, directory);
      // On a full disk the database was opened with staged events, which are in no table that is copied.
      ensureWriterOrExplain(ensureWriter, directory);
      const damagedBodies: string[] = [];
      return work({
        damagedBodies,
        count: async (table) => countIn(db, table),
        rows: (table) => rowsOf(db, table, damagedBodies),
      });
    },
    close: async () => close(),
  };
}

function ensureWriterOrExplain(ensureWriter: () => void, directory: string): void {
  try {
    ensureWriter();
  } catch (error) {
    throw explain(error, directory);
  }
}

async function* rowsOf(db: Database, table: Table, damagedBodies: string[]): AsyncGenerator<CopiedRow[]> {
  const attemptsOf = attemptReader(db);
  const order = table === deliveries ? "seq" : "rowid";
  const found = db.query<Record<string, CopiedRow[string]>, []>(
    `SELECT * FROM ${sourceOf(table)} ORDER BY ${order}`,
  );
  let rows: CopiedRow[] = [];
  for (const row of found.iterate()) {
    if (table === events) {
      const kept = row["body"] as KeptBody | null;
      row["body"] = readableBody(kept)?.toString() ?? null;
      if (kept !== null && row["body"] === null) damagedBodies.push(String(row["id"]));
    }
    if (table === deliveries) {
      row["attempt_log"] = JSON.stringify(attemptsOf(Number(row["seq"])));
      // A pending delivery without a time was in memory when its server ended. Such a delivery is due.
      if (row["status"] === "pending") row["next_attempt_at"] ??= 0;
    }
    rows.push(row);
    if (rows.length < batchRows) continue;
    yield rows;
    rows = [];
  }
  if (rows.length > 0) yield rows;
}

/**
 * Copies into a directory that has no database. The database is built in another file and renamed when `work` has
 * ended, so that an interrupted copy leaves nothing that a server takes for a database. A copy that fails leaves no
 * file. Throws `StoreError`.
 */
export async function copyToDirectory<T>(
  directory: string,
  work: (target: CopyTarget) => Promise<T>,
): Promise<T> {
  const lock = lockDirectory(directory);
  const partial = copyingIn(directory);
  let isFilled = false;
  try {
    if (existsSync(databaseIn(directory))) throw notEmpty(directory);
    removeDatabase(partial);
    const made = await filled(partial, work);
    isFilled = true;
    // SQLite leaves these files when a statement is still open as it closes the database.
    removeLog(partial);
    renameSync(partial, databaseIn(directory));
    sync(directory);
    lock.close();
    return made;
  } catch (error) {
    removeDatabase(partial);
    lock.undo();
    // Until then, only errors of SQLite are about the target; errors of the source already say what is wrong.
    throw isFilled || codeOf(error) !== "" ? explain(error, directory) : error;
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
    const addAttempts = attemptInserter(db);
    const add = db.transaction((table: Table, rows: readonly CopiedRow[]) => {
      insert(db, table, table === events ? rows.map(withKeptBody) : rows);
      if (table === deliveries) addAttempts(rows.flatMap(attemptRows));
    });
    const made = await work({
      count: async (table) => countIn(db, table),
      add: async (table, rows) => add(table, rows),
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

const withKeptBody = ({ body, ...event }: CopiedRow): CopiedRow => ({
  ...event,
  body: body === null ? null : keptBody(String(body)),
});

function attemptRows({ seq, attempt_log }: CopiedRow) {
  // A boundary: the source has read these attempts.
  const log = JSON.parse(String(attempt_log)) as readonly Attempt[];
  return log.map((attempt, i) => attemptRow(Number(seq), i + 1, attempt));
}

function insert(db: Database, table: Table, rows: readonly CopiedRow[]): void {
  const columns = columnsOf(table).map(([column]) => column);
  const statement = db.query(
    `INSERT INTO ${getTableName(table)} (${columns.map((column) => `"${column}"`).join()}) VALUES (${columns.map(() => "?").join()})`,
  );
  for (const row of rows) statement.run(...columns.map((column) => row[column] ?? null));
}
