import type { Database } from "bun:sqlite";
import type { Column } from "drizzle-orm";
import { newId } from "../../../domain/ids.ts";
import { columnsOf } from "../../drizzle/columns/of-table.ts";
import { StoreError } from "../../faults.ts";
import {
  type CopiedNoun,
  type CopiedRow,
  type CopyCounts,
  type CopySource,
  copiedNouns,
  copiedSettings,
  copyIdSetting,
  movedMessage,
  movedSetting,
} from "../../operations/copy.ts";
import { lockDirectory } from "../database/lock.ts";
import { look, schemaState } from "../database/look.ts";
import { openDatabase } from "../database/open.ts";
import { type KeptBody, readableBody } from "../deliveries/bodies.ts";
import { attemptReader } from "../deliveries/log.ts";
import { sqliteTables } from "./tables.ts";

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
    const marked = markOf(db);
    if (marked !== null && marked !== to)
      throw new StoreError(movedMessage(directory, directory, marked), true);
    // An id without a mark is of an earlier copy: an older version, which does not know ids, has reopened the source.
    const copyId = (marked !== null && settingOf(db, copyIdSetting)) || newId();
    const put = "INSERT OR REPLACE INTO settings (key, value) VALUES (?, ?), (?, ?)";
    db.run(put, [movedSetting, to, copyIdSetting, copyId]);
    let isKept = marked !== null;
    try {
      const keepMark = () => {
        isKept = true;
      };
      const damagedBodies: string[] = [];
      return await work({
        copyId,
        damagedBodies,
        counts: async () => countsIn(db),
        rows: (noun, skipped) => rowsOf(db, noun, skipped, damagedBodies),
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
    if (look(directory, schemaState).pending.length > 0) {
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

export const settingOf = (db: Database, key: string): string | undefined =>
  db.query<{ value: string }, [string]>("SELECT value FROM settings WHERE key = ?").get(key)?.value;

const markOf = (db: Database) => settingOf(db, movedSetting) ?? null;

function removeMark(db: Database): void {
  db.run("DELETE FROM settings WHERE key IN (?, ?)", [movedSetting, copyIdSetting]);
}

async function* rowsOf(
  db: Database,
  noun: CopiedNoun,
  skipped: number,
  damagedBodies: string[],
): AsyncGenerator<readonly CopiedRow[]> {
  const attemptsOf = attemptReader(db);
  const columns = columnsOf(sqliteTables[noun]);
  let batch: CopiedRow[] = [];
  const all = db.query<Record<string, unknown>, [number]>(`${statementOf(noun)} LIMIT -1 OFFSET ?`);
  for (const row of all.iterate(skipped)) {
    for (const [name, column] of columns) row[name] = asJson(column, row[name]);
    if (noun === "events") {
      const kept = row["body"] as KeptBody | null;
      row["body"] = readableBody(kept)?.toString() ?? null;
      if (kept !== null && row["body"] === null) damagedBodies.push(String(row["id"]));
    }
    if (noun === "deliveries") {
      row["attempt_log"] = attemptsOf(Number(row["seq"]));
      // It was in memory when its server ended. `releaseAll` does the same at the next start.
      if (row["status"] === "pending") row["next_attempt_at"] ??= 0;
    }
    batch.push(row);
    if (batch.length < batchRows) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

/** Forces the order of the join: with old statistics, SQLite would scan all events for each delivery. */
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
export function countsIn(db: Database): CopyCounts {
  const counted = (from: string) =>
    db.query<{ n: number }, []>(`SELECT count(*) AS n FROM ${from}`).get()?.n ?? 0;
  const froms: Partial<Record<CopiedNoun, string>> = {
    settings: `settings WHERE ${copiedSettings}`,
    deliveries: loggedDeliveries,
  };
  const nouns = copiedNouns.map((noun) => [noun, counted(froms[noun] ?? noun)]);
  const attempts = counted(`${loggedDeliveries} CROSS JOIN attempts a ON a.delivery_seq = d.seq`);
  // Object.fromEntries loses the names.
  return { ...Object.fromEntries(nouns), attempts } as CopyCounts;
}

function asJson({ dataType }: Column, value: unknown): unknown {
  if (value === null) return null;
  if (dataType === "buffer") return `\\x${Buffer.from(value as Uint8Array).toString("hex")}`;
  if (dataType === "boolean") return value === 1;
  return dataType === "json" ? JSON.parse(String(value)) : value;
}
