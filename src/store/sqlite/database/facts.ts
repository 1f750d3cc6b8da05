import type { Database } from "bun:sqlite";
import { mostPendingCounted } from "../../../domain/delivery-log.ts";
import { type FreeSpace, freeSpaceOf } from "../../../domain/operations/disk-forecast.ts";
import { allSubjects } from "../../../domain/operations/statistics.ts";
import type { DatabaseFacts } from "../../operations/facts.ts";
import { heldSetting } from "../../settings.ts";
import { pendingDeliveries } from "../deliveries/backlog.ts";
import { readableBody } from "../deliveries/bodies.ts";

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

/** Returns damages in the pages of a database, a few at most. `full` also compares every index with its table. */
export function brokenPages(db: Database, full: boolean): string[] {
  const pragma = full ? "integrity_check" : "quick_check";
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
