import { Database, type SQLQueryBindings } from "bun:sqlite";
import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type Column, getTableColumns } from "drizzle-orm";
import type { SQLiteTable } from "drizzle-orm/sqlite-core";
import type { Attempt } from "../../../domain/deliveries.ts";
import { StoreError } from "../../faults.ts";
import {
  type CopiedNoun,
  type CopiedRow,
  type CopyCounts,
  type CopySource,
  type CopyTarget,
  copiedNouns,
  movedMessage,
  movedSetting,
  notEmptyMessage,
} from "../../operations/copy.ts";
import * as access from "../schema/access.ts";
import * as admin from "../schema/admin.ts";
import { audit } from "../schema/audit.ts";
import * as events from "../schema/events.ts";
import { notices } from "../schema/notices.ts";
import * as platform from "../schema/platform.ts";
import { statistics } from "../schema/statistics.ts";
import { fillingSearch } from "../search/filling.ts";
import { databaseIn, explain } from "./directory.ts";
import { codeOf } from "./faults.ts";
import { lockDirectory } from "./lock.ts";
import { look, schemaState } from "./look.ts";
import { migrate } from "./migrations.ts";
import { openDatabase } from "./open.ts";

/** The tables of this side that are copied. */
export const sqliteTables: { readonly [Noun in CopiedNoun | "attempts"]: SQLiteTable } = {
  settings: admin.settings,
  operator_keys: admin.operatorKeys,
  idempotency_keys: admin.idempotencyKeys,
  users: platform.users,
  tags: platform.tags,
  categories: platform.categories,
  channels: platform.channels,
  livestreams: platform.livestreams,
  applications: access.applications,
  tokens: access.tokens,
  login_requests: access.loginRequests,
  authorization_codes: access.authorizationCodes,
  refresh_tokens: access.refreshTokens,
  consents: access.consents,
  event_types: events.eventTypes,
  subscriptions: events.subscriptions,
  events: events.events,
  deliveries: events.deliveries,
  attempts: events.attempts,
  removed_deliveries: events.removedDeliveries,
  endpoints: events.endpoints,
  replays: events.replays,
  notices,
  audit,
  statistics,
};

/** Those that are not, and why. */
export const sqliteNotCopied: Readonly<Record<string, string>> = {
  staged_events: "is moved into events and deliveries when the source is opened",
  search_statistics: "is made of the users, with the index of the search",
  subscription_counts: "is kept by triggers",
};

/** Rows that are read and written at once. */
const batchRows = 500;

/**
 * Copies from a data directory, which no server uses meanwhile, and which is marked as moved from the beginning; where
 * `work` fails before the target can be complete, the mark is removed. Throws `StoreError`.
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
    db.run("INSERT OR REPLACE INTO settings (key, value) VALUES (?, ?)", [movedSetting, to]);
    let isKept = false;
    try {
      const keepMark = () => {
        isKept = true;
      };
      return await work({ counts: async () => countsIn(db), rows: (noun) => rowsOf(db, noun), keepMark });
    } catch (error) {
      if (!isKept) removeMark(db);
      throw error;
    }
  } finally {
    close();
  }
}

/** Undoes the mark of a directory; false where there is none. Throws `StoreError`. */
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
        `The data of ${directory} is of an older version. Bring it to the form of this one first: onair migrate --data ${directory}`,
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

/**
 * Copies into a directory that has no database. It is made beside its place, and moved there when `work` has ended: what
 * is cut off leaves nothing that a server takes for one. Throws `StoreError`.
 */
export async function copyingToDirectory<T>(
  directory: string,
  work: (target: CopyTarget) => Promise<T>,
): Promise<T> {
  const lock = lockDirectory(directory);
  const partial = join(directory, "onair.copying");
  const remove = () => {
    for (const suffix of ["", "-journal", "-wal", "-shm"]) rmSync(partial + suffix, { force: true });
  };
  try {
    if (existsSync(databaseIn(directory))) throw new StoreError(notEmptyMessage(directory), true);
    remove();
    const made = await filled(partial, work);
    renameSync(partial, databaseIn(directory));
    const entry = openSync(directory, "r");
    fsyncSync(entry);
    closeSync(entry);
    return made;
  } catch (error) {
    remove();
    // Any other is of the source.
    throw codeOf(error) === "" ? error : explain(error, directory);
  } finally {
    lock.close();
  }
}

async function filled<T>(file: string, work: (target: CopyTarget) => Promise<T>): Promise<T> {
  closeSync(openSync(file, "wx", 0o600));
  const db = new Database(file, { create: true, strict: true });
  try {
    db.run("PRAGMA auto_vacuum = INCREMENTAL");
    // What is cut off is thrown away as a whole.
    db.run("PRAGMA journal_mode = OFF");
    db.run("PRAGMA foreign_keys = ON");
    migrate(db);
    db.run("BEGIN");
    const made = await work({
      add: async (noun, rows) => add(db, noun, rows),
      async counts() {
        db.run("COMMIT");
        for (const _ of fillingSearch(db)) await Bun.sleep(0);
        return countsIn(db);
      },
    });
    return made;
  } finally {
    db.close();
  }
}

async function* rowsOf(db: Database, noun: CopiedNoun): AsyncGenerator<readonly CopiedRow[]> {
  const attemptsOf = db.prepare<LoggedAttempt, [number]>(
    "SELECT * FROM attempts WHERE delivery_seq = ? ORDER BY number",
  );
  const columns = columnsOf(sqliteTables[noun]);
  let batch: CopiedRow[] = [];
  for (const row of db.query<Record<string, unknown>, []>(statementOf(noun)).iterate()) {
    for (const [name, column] of columns) row[name] = asJson(column, row[name]);
    if (noun === "deliveries") {
      row["attempt_log"] = attemptsOf.all(Number(row["seq"])).map(attemptOf);
      // Handed out when its server ended: `releaseAll` says the same at the next start.
      if (row["status"] === "pending") row["next_attempt_at"] ??= 0;
    }
    // Requests of an older version have none.
    if (noun === "login_requests") row["client"] ??= "";
    batch.push(row);
    if (batch.length < batchRows) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

/** Deliveries outside, events by their key: where its statistics are old, SQLite looks through all events for each delivery. */
const loggedDeliveries = "deliveries d CROSS JOIN events e NOT INDEXED ON e.seq = d.event_seq";

function statementOf(noun: CopiedNoun): string {
  if (noun === "deliveries") {
    return `SELECT d.*, e.id AS event_id, e.name AS type, e.version, e.broadcaster_user_id, e.published_at
      FROM ${loggedDeliveries} ORDER BY d.seq`;
  }
  const where = noun === "settings" ? `WHERE key <> '${movedSetting}'` : "";
  return `SELECT * FROM ${noun} ${where} ORDER BY rowid`;
}

function countsIn(db: Database): CopyCounts {
  const counted = (from: string) =>
    db.query<{ n: number }, []>(`SELECT count(*) AS n FROM ${from}`).get()?.n ?? 0;
  const froms: Partial<Record<CopiedNoun, string>> = {
    settings: `settings WHERE key <> '${movedSetting}'`,
    deliveries: loggedDeliveries,
  };
  const nouns = copiedNouns.map((noun) => [noun, counted(froms[noun] ?? noun)]);
  const attempts = counted(`${loggedDeliveries} CROSS JOIN attempts a ON a.delivery_seq = d.seq`);
  // Object.fromEntries forgets the names.
  return { ...Object.fromEntries(nouns), attempts } as CopyCounts;
}

interface LoggedAttempt extends Omit<Attempt, "timings"> {
  readonly delivery_seq: number;
  readonly number: number;
  readonly dns_ms: number | null;
  readonly connect_ms: number | null;
  readonly tls_ms: number | null;
  readonly first_byte_ms: number | null;
}

function attemptOf(row: LoggedAttempt): Attempt {
  const { delivery_seq: _, number: __, dns_ms, connect_ms, tls_ms, first_byte_ms, ...rest } = row;
  const timings = { dnsMs: dns_ms, connectMs: connect_ms, tlsMs: tls_ms, firstByteMs: first_byte_ms };
  return { ...rest, timings };
}

function add(db: Database, noun: CopiedNoun, rows: readonly CopiedRow[]): void {
  insert(db, noun, rows);
  if (noun !== "deliveries") return;
  const attempts = rows.flatMap(({ seq, attempt_log }) =>
    // A boundary: what the other side has read.
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

function insert(db: Database, table: CopiedNoun | "attempts", rows: readonly CopiedRow[]): void {
  const columns = columnsOf(sqliteTables[table]);
  const names = columns.map(([name]) => `"${name}"`).join();
  const statement = db.query(`INSERT INTO ${table} (${names}) VALUES (${columns.map(() => "?").join()})`);
  for (const row of rows) statement.run(...columns.map(([name, column]) => asStored(column, row[name])));
}

const columnsOf = (table: SQLiteTable): [string, Column][] => Object.entries(getTableColumns(table));

function asJson({ dataType }: Column, value: unknown): unknown {
  if (value === null) return null;
  if (dataType === "buffer") return `\\x${Buffer.from(value as Uint8Array).toString("hex")}`;
  if (dataType === "boolean") return value === 1;
  return dataType === "json" ? JSON.parse(String(value)) : value;
}

function asStored({ dataType }: Column, value: unknown): SQLQueryBindings {
  if (value === null || value === undefined) return null;
  if (dataType === "buffer") return Buffer.from(String(value).slice(2), "hex");
  if (dataType === "boolean") return value === true ? 1 : 0;
  // What is neither is a number or text.
  return dataType === "json" ? JSON.stringify(value) : (value as string | number);
}
