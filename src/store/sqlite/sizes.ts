import type { Database } from "bun:sqlite";
import { mostPendingCounted } from "../../domain/deliveries.ts";
import { DomainError } from "../../domain/errors.ts";
import {
  type DatabaseFacts,
  type FreeSpace,
  freeSpaceOf,
  type KindSizes,
  kindSizes,
} from "../../domain/sizes.ts";
import { allSubjects } from "../../domain/statistics.ts";
import { heldSetting } from "../../domain/store.ts";
import { pendingDeliveries } from "./deliveries.ts";
import { readableBody } from "./delivery-rows.ts";

/** Returns the bytes used by each kind of data. Reads every page of the database, which blocks the thread. */
export function sizesByKind(db: Database): KindSizes {
  const tables = db
    .query<{ name: string; bytes: number }, []>(
      `SELECT ifnull(s.tbl_name, d.name) AS name, sum(d.pgsize) AS bytes
       FROM dbstat d LEFT JOIN sqlite_schema s ON s.name = d.name WHERE d.aggregate = TRUE GROUP BY 1`,
    )
    .all();
  const free = db
    .query<{ bytes: number }, []>(
      "SELECT freelist_count * page_size AS bytes FROM pragma_freelist_count, pragma_page_size",
    )
    .get();
  return kindSizes(tables, free?.bytes ?? 0);
}

/** Returns the size of a database in bytes, without its write-ahead log. */
export function databaseBytes(db: Database): number {
  const statement = "SELECT page_count * page_size AS bytes FROM pragma_page_count, pragma_page_size";
  return db.query<{ bytes: number }, []>(statement).get()?.bytes ?? 0;
}

/** Whether a database can return free pages to the file system. */
function givesBack(db: Database): boolean {
  return db.query<{ auto_vacuum: number }, []>("PRAGMA auto_vacuum").get()?.auto_vacuum === 2;
}

/** Parts of the largest size at which trimming begins and ends. */
const beginsAt = 0.9;
const endsAt = 0.85;

/** This many free pages, or a sixteenth of all pages, stay in the file for new data. */
const sparePages = 1_024;

/** Pages returned in one step. Each may require moving another page. */
const stepPages = 32;

/** The size of the data, and its limit. */
export interface DataSize {
  /** Sets the largest size in bytes; null for no limit. */
  limit(maxBytes: number | null): void;
  /** The error `unavailable` when the data has its largest size, else null. */
  fullError(): DomainError | null;
  /** Whether old data must be removed before its retention ends. */
  isLarge(): boolean;
  /** Whether the database has free pages to return to the file system, and can do so. */
  hasSpare(): boolean;
  /** Returns some free pages to the file system, within a commit. */
  giveBack(): void;
}

export function dataSize(db: Database): DataSize {
  const pages = db.prepare<{ bytes: number; free: number; count: number }, []>(
    `SELECT (page_count - freelist_count) * page_size AS bytes, freelist_count AS free, page_count AS count
     FROM pragma_page_count, pragma_freelist_count, pragma_page_size`,
  );
  const canGiveBack = givesBack(db);
  const vacuum = db.prepare(`PRAGMA incremental_vacuum(${stepPages})`);
  let maxBytes = Number.POSITIVE_INFINITY;
  let isTrimming = false;
  const used = () => (maxBytes === Number.POSITIVE_INFINITY ? 0 : (pages.get()?.bytes ?? 0));
  return {
    limit(most) {
      maxBytes = most ?? Number.POSITIVE_INFINITY;
    },
    fullError() {
      if (used() < maxBytes) return null;
      const size = `${Math.round(maxBytes / 1e6)} MB`;
      return new DomainError(
        "unavailable",
        `The data has its largest size (--max-data-size, ${size}), and no finished deliveries are left to remove. Set a larger size, or have pending deliveries delivered or canceled`,
        { isNothingKept: true },
      );
    },
    isLarge() {
      isTrimming = used() >= maxBytes * (isTrimming ? endsAt : beginsAt);
      return isTrimming;
    },
    hasSpare() {
      if (!canGiveBack) return false;
      const { free, count } = pages.get() ?? { free: 0, count: 0 };
      return free > Math.max(sparePages, count / 16);
    },
    giveBack: () => void vacuum.all(),
  };
}

export interface FileFacts extends DatabaseFacts {
  /** The id of the data; null until it was first used. */
  readonly dataId: string | null;
  /** The oldest sample of free space within the last week of samples; null without any. */
  readonly freeBefore: FreeSpace | null;
}

const settingOf = (key: string) => `(SELECT value FROM settings WHERE key = '${key}')`;

const statement = `
WITH pending AS MATERIALIZED (SELECT count(*) AS n, min(seq) AS oldest FROM (${pendingDeliveries})),
unwell AS (SELECT application_id, disabled_at FROM endpoints
  WHERE disabled_at IS NOT NULL OR failing_since IS NOT NULL ORDER BY disabled_at DESC NULLS LAST)
SELECT ${settingOf("data_id")} AS dataId, ${settingOf("signing_key")} AS signingKey,
  ${settingOf(heldSetting)} AS heldSince,
  (SELECT json_object('at', at, 'counts', json(counts)) FROM (
     SELECT at, counts FROM statistics WHERE kind = 'storage' AND subject = '${allSubjects}' AND period = 'hour'
     ORDER BY at DESC LIMIT ${7 * 24}) ORDER BY at LIMIT 1) AS freeBefore,
  (SELECT count(*) FROM users) AS users, (SELECT count(*) FROM user_search_docsize) AS indexedUsers,
  (SELECT max(published_at) FROM events) AS newestEventAt,
  (SELECT count(*) - count(disabled_at) FROM unwell) AS failingEndpoints,
  (SELECT count(disabled_at) FROM unwell) AS disabledEndpoints,
  (SELECT json_group_array(application_id) FROM (SELECT * FROM unwell LIMIT 5)) AS unwellApplications,
  (SELECT n FROM pending) AS pending, (SELECT n = ${mostPendingCounted} FROM pending) AS isPendingPartial,
  (SELECT e.published_at FROM deliveries d JOIN events e ON e.seq = d.event_seq
   WHERE d.seq = (SELECT oldest FROM pending)) AS oldestPendingAt`;

interface Row extends Omit<FileFacts, "freeBefore" | "unwellApplications" | "isPendingPartial"> {
  readonly freeBefore: string | null;
  readonly unwellApplications: string;
  readonly isPendingPartial: 0 | 1;
}

/** Reads the facts of a database with the current schema, as one snapshot. */
export function databaseFacts(db: Database): FileFacts {
  const row = db.query<Row, []>(statement).get();
  if (!row) throw new Error("The database returned no facts");
  return {
    ...row,
    freeBefore: freeSpaceOf(row.freeBefore === null ? undefined : JSON.parse(row.freeBefore)),
    unwellApplications: JSON.parse(row.unwellApplications),
    isPendingPartial: row.isPendingPartial === 1,
  };
}

const listedFaults = 5;

/** Returns damages in the pages of a database, a few at most. `thorough` also compares every index with its table. */
export function brokenPages(db: Database, thorough: boolean): string[] {
  const pragma = thorough ? "integrity_check" : "quick_check";
  const found = db.query<Record<string, string>, []>(`PRAGMA ${pragma}(${listedFaults})`).all();
  const findings = found.map((row) => row[pragma] ?? "");
  return findings.length === 1 && findings[0] === "ok" ? [] : findings;
}

/** Returns tables with dangling foreign keys, judged by the first thousand such rows. */
export function danglingTables(db: Database): string[] {
  const tables = new Set<string>();
  let rows = 0;
  for (const { table } of db.query<{ table: string }, []>("PRAGMA foreign_key_check").iterate()) {
    tables.add(table);
    if (++rows === 1_000) break;
  }
  return [...tables];
}

/** Events whose bodies are damaged. */
export interface BrokenBodies {
  readonly count: number;
  /** Ids of some of them. */
  readonly first: readonly string[];
}

export function brokenBodies(db: Database): BrokenBodies {
  const first: string[] = [];
  let count = 0;
  const packed = "SELECT id, body FROM events WHERE typeof(body) = 'blob'";
  for (const { id, body } of db.query<{ id: string; body: Uint8Array }, []>(packed).iterate()) {
    if (readableBody(body) !== null) continue;
    if (count++ < listedFaults) first.push(id);
  }
  return { count, first };
}
