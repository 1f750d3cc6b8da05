import { Database, type SQLQueryBindings } from "bun:sqlite";
import { closeSync, existsSync, openSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Column } from "drizzle-orm";
import type { Attempt } from "../../../domain/deliveries.ts";
import { columnsOf } from "../../drizzle/columns/of-table.ts";
import {
  type CopiedNoun,
  type CopiedRow,
  type CopyTarget,
  completedNow,
  copiedSetting,
  refuseFull,
} from "../../operations/copy.ts";
import { copyingName, databaseIn, explain } from "../database/directory.ts";
import { codeOf } from "../database/faults.ts";
import { removeLog, sync } from "../database/files.ts";
import { lockDirectory } from "../database/lock.ts";
import { look } from "../database/look.ts";
import { migrate } from "../database/migrations.ts";
import { keptBody } from "../deliveries/bodies.ts";
import { fillingSearch } from "../search/filling.ts";
import { countsIn, settingOf } from "./source.ts";
import { sqliteTables } from "./tables.ts";

/**
 * Copies into a directory that has no database. The database is built in another file and renamed when `work` has
 * ended, so that an interrupted copy leaves nothing that a server takes for a database. Throws `StoreError`.
 */
export async function copyingToDirectory<T>(
  directory: string,
  copyId: string,
  work: (target: CopyTarget) => Promise<T>,
): Promise<T> {
  const lock = lockDirectory(directory);
  try {
    if (existsSync(databaseIn(directory)))
      refuseFull(
        directory,
        copyId,
        look(directory, (db) => settingOf(db, copiedSetting)),
      );
    const name = copyingName + copyId;
    for (const file of readdirSync(directory)) {
      if (file.startsWith(copyingName) && !file.startsWith(name)) rmSync(join(directory, file));
    }
    const partial = join(directory, name);
    const made = await filled(partial, copyId, work);
    putInPlace(partial, directory);
    return made;
  } catch (error) {
    // An error of SQLite is about the target. The source throws errors of its own.
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

async function filled<T>(file: string, copyId: string, work: (target: CopyTarget) => Promise<T>): Promise<T> {
  if (!existsSync(file)) closeSync(openSync(file, "wx", 0o600));
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
    db.run("INSERT OR REPLACE INTO settings (key, value) VALUES (?, ?)", [
      copiedSetting,
      completedNow(copyId),
    ]);
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
