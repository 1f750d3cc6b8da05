import type { Database } from "bun:sqlite";
import { and, asc, eq, gte, lt, ne, sql } from "drizzle-orm";
import type { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import {
  allSubjects,
  type StatisticPeriod,
  type StatisticRow,
  statisticPeriods,
  sumOf,
} from "../../../domain/operations/statistics.ts";
import type { StatisticStore } from "../../operations/statistics.ts";
import type { Commit } from "../database/commit.ts";
import { sizesByKind } from "../database/sizes.ts";
import { statistics } from "../schema/statistics.ts";

/** Rows that one step removes. */
const stepRows = 1_000;

const periods = Object.keys(statisticPeriods) as StatisticPeriod[];

export function statisticStore(db: Database, orm: BunSQLiteDatabase, commit: Commit): StatisticStore {
  const { kind, subject, period, at, counts, durations } = statistics;
  const shown = { kind, subject, at, counts, durations };
  const known = orm
    .select({ counts, durations })
    .from(statistics)
    .where(
      and(
        eq(kind, sql.placeholder("kind")),
        eq(subject, sql.placeholder("subject")),
        eq(period, sql.placeholder("period")),
        eq(at, sql.placeholder("at")),
      ),
    )
    .limit(1)
    .prepare();

  const addTo = (row: StatisticRow, one: StatisticPeriod): void => {
    const { ms } = statisticPeriods[one];
    const key = { kind: row.kind, subject: row.subject, period: one, at: Math.floor(row.at / ms) * ms };
    const before = known.get(key);
    const sum = before ? sumOf(before, row) : { counts: row.counts, durations: row.durations };
    orm
      .insert(statistics)
      .values({ ...key, ...sum })
      .onConflictDoUpdate({ target: [kind, subject, period, at], set: sum })
      .run();
  };

  return {
    add: (rows) =>
      commit(() => {
        for (const row of rows) for (const one of periods) addTo(row, one);
      }),
    read: async (question) =>
      orm
        .select(shown)
        .from(statistics)
        .where(
          and(
            eq(kind, question.kind),
            question.subject === null ? ne(subject, allSubjects) : eq(subject, question.subject),
            eq(period, question.period),
            gte(at, question.from),
            lt(at, question.to),
          ),
        )
        .orderBy(asc(at))
        .all(),
    async databaseBytes() {
      const bytes = sql<number>`(SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size())`;
      return orm.get<[number]>(sql`SELECT ${bytes}`)[0];
    },
    kindSizes: async () => sizesByKind(db),
    prune: (now) =>
      commit(() => {
        let removed = 0;
        for (const one of periods) {
          const old = sql`rowid IN (SELECT rowid FROM ${statistics} WHERE ${period} = ${one}
            AND ${at} < ${now - statisticPeriods[one].keepMs} LIMIT ${stepRows})`;
          removed += orm.delete(statistics).where(old).returning({ at }).all().length;
        }
        return removed < stepRows;
      }),
  };
}
