import { Database } from "bun:sqlite";
import { closeSync, existsSync, openSync, renameSync } from "node:fs";
import { getTableConfig, type SQLiteTable } from "drizzle-orm/sqlite-core";
import type { Attempt } from "../../domain/deliveries.ts";
import {
  batchRows,
  type CopiedRow,
  type CopiedRows,
  type CopyCounts,
  type CopySource,
  type CopyTarget,
  copiedSettings,
  movedSetting,
  notEmpty,
  tooOld,
} from "../data-storage.ts";
import { columnsOf, copiedTables } from "../drizzle/dialect.ts";
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
import { attempts } from "./schema.ts";
import { fillingSearch } from "./search.ts";

/** The tables of a data directory that are not copied, with the reason. */
export const sqliteNotCopied: Readonly<Record<string, string>> = {
  attempts: "are a part of their deliveries",
  staged_events: "is moved into events and deliveries when the source is opened",
  search_statistics: "is made of the users, with the index of the search",
  subscription_counts: "is kept by triggers",
  operator_sessions: "begin again by signing in",
};

export const sqliteCopied = copiedTables<SQLiteTable>(tables, sqliteNotCopied, getTableConfig);

/** Deliveries with their events, in a forced order of joining: by old statistics, SQLite may scan all events often. */
const loggedDeliveries = "deliveries d CROSS JOIN events e NOT INDEXED ON e.seq = d.event_seq";

/** The tables whose copied rows are others than all of the table. */
const exceptions: Readonly<
  Record<string, { readonly columns?: string; readonly from: string; readonly order: string }>
> = {
  settings: { from: copiedSettings, order: "key" },
  deliveries: {
    columns: "d.*, e.id AS event_id, e.name AS type, e.version, e.broadcaster_user_id, e.published_at",
    from: loggedDeliveries,
    order: "d.seq",
  },
};

const sourceOf = (table: string) => ({ columns: "*", from: table, order: "rowid", ...exceptions[table] });

/** Opens the database of a directory as the source of a copy, and locks the directory. Throws `StoreError`. */
export async function directoryToCopy(directory: string): Promise<CopySource> {
  const lock = lockDirectory(directory);
  try {
    if (inspect(directory, schemaState).pending.length > 0)
      throw tooOld(directory, `onair migrate --data ${directory}`);
  } catch (error) {
    lock.close();
    throw error;
  }
  const { db, close } = openDatabase(directory, lock);
  const marked = db.query<{ value: string }, [string]>("SELECT value FROM settings WHERE key = ?");
  return {
    mark: async () => marked.get(movedSetting)?.value ?? null,
    async setMark(to) {
      if (to === null) db.run("DELETE FROM settings WHERE key = ?", [movedSetting]);
      else db.run("INSERT OR REPLACE INTO settings (key, value) VALUES (?, ?)", [movedSetting, to]);
    },
    async read(work) {
      requireNoAdditions(db, directory);
      const damagedBodies: string[] = [];
      return work({
        damagedBodies,
        counts: async () => countsIn(db),
        rows: () => rowsOf(db, damagedBodies),
      });
    },
    close: async () => close(),
  };
}

async function* rowsOf(db: Database, damagedBodies: string[]): AsyncGenerator<CopiedRows> {
  const attemptsOf = attemptReader(db);
  for (const table of sqliteCopied.keys()) {
    let rows: CopiedRow[] = [];
    const { columns, from, order } = sourceOf(table);
    const found = db.query<Record<string, CopiedRow[string]>, []>(
      `SELECT ${columns} FROM ${from} ORDER BY ${order}`,
    );
    for (const row of found.iterate()) {
      if (table === "events") {
        const kept = row["body"] as KeptBody | null;
        row["body"] = readableBody(kept)?.toString() ?? null;
        if (kept !== null && row["body"] === null) damagedBodies.push(String(row["id"]));
      }
      if (table === "deliveries") {
        row["attempt_log"] = JSON.stringify(attemptsOf(Number(row["seq"])));
        // A pending delivery without a time was in memory when its server ended. Such a delivery is due.
        if (row["status"] === "pending") row["next_attempt_at"] ??= 0;
      }
      rows.push(row);
      if (rows.length < batchRows) continue;
      yield { table, rows };
      rows = [];
    }
    if (rows.length > 0) yield { table, rows };
  }
}

/** Returns the number of rows of each copied table, and of attempts. */
function countsIn(db: Database): CopyCounts {
  const counted = (from: string) =>
    db.query<{ n: number }, []>(`SELECT count(*) AS n FROM ${from}`).get()?.n ?? 0;
  const counts = [...sqliteCopied.keys()].map((table) => [table, counted(sourceOf(table).from)]);
  return {
    ...Object.fromEntries(counts),
    attempts: counted(`${loggedDeliveries} CROSS JOIN attempts a ON a.delivery_seq = d.seq`),
  };
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
    const addAll = db.transaction((rows: CopiedRows) => add(db, rows));
    const made = await work({
      counts: async () => countsIn(db),
      add: async (rows) => addAll(rows),
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

function add(db: Database, { table: name, rows }: CopiedRows): void {
  const table = sqliteCopied.get(name);
  if (!table) throw new Error(`${name} is not copied`);
  insert(db, name, table, name === "events" ? rows.map(withKeptBody) : rows);
  if (name === "deliveries") insert(db, "attempts", attempts, rows.flatMap(attemptRows));
}

function withKeptBody(event: CopiedRow): CopiedRow {
  const { body } = event;
  return typeof body === "string" ? { ...event, body: keptBody(body) } : event;
}

function attemptRows({ seq, attempt_log }: CopiedRow): CopiedRow[] {
  // A boundary: the source has read these attempts.
  const log = JSON.parse(String(attempt_log)) as readonly Attempt[];
  return log.map(({ timings, exchange, ...rest }, i) => ({
    ...rest,
    delivery_seq: Number(seq),
    number: i + 1,
    dns_ms: timings.dnsMs,
    connect_ms: timings.connectMs,
    tls_ms: timings.tlsMs,
    first_byte_ms: timings.firstByteMs,
    exchange: exchange === null ? null : JSON.stringify(exchange),
  }));
}

function insert(db: Database, name: string, table: SQLiteTable, rows: readonly CopiedRow[]): void {
  const columns = columnsOf(table).map(([column]) => column);
  const statement = db.query(
    `INSERT INTO ${name} (${columns.map((column) => `"${column}"`).join()}) VALUES (${columns.map(() => "?").join()})`,
  );
  for (const row of rows) statement.run(...columns.map((column) => row[column] ?? null));
}
