import type { Database } from "bun:sqlite";
import { and, count, desc, eq, isNotNull, isNull, max, min, type SQL, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/bun-sqlite";
import type { SQLiteTable } from "drizzle-orm/sqlite-core";
import { type FreeSpace, freeSpaceOf } from "../../../domain/operations/disk-forecast.ts";
import { allSubjects } from "../../../domain/operations/statistics.ts";
import type { DatabaseFacts } from "../../operations/facts.ts";
import { heldSetting } from "../../settings.ts";
import { readableBody } from "../deliveries/bodies.ts";
import { settings } from "../schema/admin.ts";
import { deliveries, endpoints, events, isHandedOut } from "../schema/events.ts";
import { users } from "../schema/platform.ts";
import { statistics } from "../schema/statistics.ts";

/** No more pending deliveries than that are counted, for each of two indexes. */
const maxCounted = 100_000;

export interface FileFacts extends DatabaseFacts {
  /** The id of the data; null before it was needed. */
  readonly dataId: string | null;
  /** Up to a week before the last sample; null without any. */
  readonly freeBefore: FreeSpace | null;
}

/** Reads them, all of the same moment. For a database in the form of this version. */
export function databaseFacts(db: Database): FileFacts {
  const orm = drizzle(db);
  const countOf = (table: SQLiteTable | SQL, where?: SQL) =>
    orm.select({ n: count() }).from(table).where(where).get()?.n ?? 0;
  const pendingIn = (where: SQL | undefined) => {
    const some = orm
      .select({ seq: deliveries.seq })
      .from(deliveries)
      .where(where)
      .limit(maxCounted)
      .as("some");
    return (
      orm
        .select({ n: count(), oldest: min(some.seq) })
        .from(some)
        .get() ?? { n: 0, oldest: null }
    );
  };
  const isDisabled = isNotNull(endpoints.disabled_at);
  const isFailing = and(isNotNull(endpoints.failing_since), isNull(endpoints.disabled_at));
  return orm.transaction((): FileFacts => {
    const due = pendingIn(isNotNull(deliveries.next_attempt_at));
    const handedOut = pendingIn(isHandedOut);
    const oldest = [due.oldest, handedOut.oldest].filter((seq) => seq !== null);
    const publishedAt = (delivery: number) =>
      orm
        .select({ at: events.published_at })
        .from(deliveries)
        .innerJoin(events, eq(events.seq, deliveries.event_seq))
        .where(eq(deliveries.seq, delivery))
        .limit(1)
        .get()?.at ?? null;
    const disabled = orm
      .select({ id: endpoints.application_id })
      .from(endpoints)
      .where(isDisabled)
      .orderBy(desc(endpoints.disabled_at))
      .limit(5)
      .all();
    const setting = (key: string) =>
      orm.select().from(settings).where(eq(settings.key, key)).limit(1).get()?.value ?? null;
    const spaceByHour = orm
      .select({ at: statistics.at, counts: statistics.counts })
      .from(statistics)
      .where(
        and(
          eq(statistics.kind, "storage"),
          eq(statistics.subject, allSubjects),
          eq(statistics.period, "hour"),
        ),
      )
      .orderBy(desc(statistics.at))
      .limit(7 * 24);
    return {
      dataId: setting("data_id"),
      freeBefore: freeSpaceOf(spaceByHour.all().at(-1)),
      users: countOf(users),
      indexedUsers: countOf(sql`user_search_docsize`),
      signingKey: setting("signing_key"),
      newestEventAt:
        orm
          .select({ at: max(events.published_at) })
          .from(events)
          .get()?.at ?? null,
      failingEndpoints: countOf(endpoints, isFailing),
      disabledEndpoints: countOf(endpoints, isDisabled),
      disabledApplications: disabled.map(({ id }) => id),
      pending: due.n + handedOut.n,
      isPendingPartial: due.n === maxCounted || handedOut.n === maxCounted,
      heldSince: setting(heldSetting),
      oldestPendingAt: oldest.length === 0 ? null : publishedAt(Math.min(...oldest)),
    };
  });
}

const listedFaults = 5;

/** What is broken in the pages of a database; `full` also compares every index with its table. */
export function brokenPages(db: Database, full: boolean): string[] {
  const pragma = full ? "integrity_check" : "quick_check";
  const found = db.query<Record<string, string>, []>(`PRAGMA ${pragma}(${listedFaults})`).all();
  const findings = found.map((row) => row[pragma] ?? "");
  return findings.length === 1 && findings[0] === "ok" ? [] : findings;
}

/** Tables with rows that refer to rows which do not exist, as far as a thousand of them tell. */
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
