import { and, asc, eq, gte, lt, ne, sql } from "drizzle-orm";
import {
  allSubjects,
  type StatisticPeriod,
  type StatisticRow,
  statisticPeriods,
  sumOf,
} from "../../../domain/operations/statistics.ts";
import type { StatisticStore } from "../../operations/statistics.ts";
import type { Postgres, Queries } from "../database/pool.ts";
import { sizesByKind } from "../database/sizes.ts";
import { statistics } from "../schema/statistics.ts";

/** Rows that one step removes. */
const stepRows = 1_000;

const periods = Object.keys(statisticPeriods) as StatisticPeriod[];

export function statisticStore(db: Postgres): StatisticStore {
  const { kind, subject, period, at, counts, durations } = statistics;

  /** Several processes add to the same rows: each row is made, then locked, then changed, in one order. */
  const addTo = async ({ orm }: Queries, row: StatisticRow, one: StatisticPeriod): Promise<void> => {
    const { ms } = statisticPeriods[one];
    const key = { kind: row.kind, subject: row.subject, period: one, at: Math.floor(row.at / ms) * ms };
    const isIt = and(eq(kind, key.kind), eq(subject, key.subject), eq(period, one), eq(at, key.at));
    const made = await orm
      .insert(statistics)
      .values({ ...key, counts: row.counts, durations: row.durations })
      .onConflictDoNothing()
      .returning({ at });
    if (made.length > 0) return;
    const [before] = await orm.select({ counts, durations }).from(statistics).where(isIt).for("update");
    if (before) await orm.update(statistics).set(sumOf(before, row)).where(isIt);
  };

  return {
    add: (rows) =>
      db.transact(async (transaction) => {
        const inOrder = rows.toSorted((a, b) =>
          `${a.kind} ${a.subject} ${a.at}` < `${b.kind} ${b.subject} ${b.at}` ? -1 : 1,
        );
        for (const row of inOrder) for (const one of periods) await addTo(transaction, row, one);
      }),
    read: async (question) =>
      db.orm
        .select({ kind, subject, at, counts, durations })
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
        .orderBy(asc(at)),
    async databaseBytes() {
      const bytes = sql<number>`pg_database_size(current_database())::float8`;
      const [row] = await db.orm.select({ bytes }).from(sql`(SELECT) AS one`);
      return row?.bytes ?? 0;
    },
    kindSizes: () => sizesByKind(db),
    async prune(now) {
      let removed = 0;
      for (const one of periods) {
        const old = sql`ctid IN (SELECT ctid FROM ${statistics} WHERE ${period} = ${one}
          AND ${at} < ${now - statisticPeriods[one].keepMs} LIMIT ${stepRows})`;
        removed += (await db.orm.delete(statistics).where(old).returning({ at })).length;
      }
      return removed < stepRows;
    },
  };
}
