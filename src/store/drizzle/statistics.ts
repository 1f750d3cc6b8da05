import { and, asc, eq, gte, lt, ne, sql } from "drizzle-orm";
import {
  allSubjects,
  type StatisticPeriod,
  type StatisticRow,
  type StatisticStore,
  statisticPeriods,
  sumOf,
} from "../../domain/statistics.ts";
import { type Dialect, execute, type Orm, type Work } from "./dialect.ts";

/** The most rows of each period that one step removes. */
const stepRows = 1_000;

const periods = Object.keys(statisticPeriods) as StatisticPeriod[];

export function statisticStore(
  { orm, tables: { statistics }, transact, runEach, prepared, lock, rowId }: Dialect,
  sizes: Pick<StatisticStore, "databaseBytes" | "kindSizes" | "connectionUse">,
): StatisticStore {
  const { kind, subject, period, at, counts, durations } = statistics;

  const row = {
    kind: sql.placeholder("kind"),
    subject: sql.placeholder("subject"),
    period: sql.placeholder("period"),
    at: sql.placeholder("at"),
    counts: sql.placeholder("counts"),
    durations: sql.placeholder("durations"),
  };
  const isIt = and(eq(kind, row.kind), eq(subject, row.subject), eq(period, row.period), eq(at, row.at));
  const make = prepared("new_statistic", (orm) =>
    orm.insert(statistics).values(row).onConflictDoNothing().returning({ at }),
  );
  const known = prepared("statistic", (orm) =>
    lock(orm.select({ counts, durations }).from(statistics).where(isIt), "update"),
  );
  const put = prepared("changed_statistic", (orm) =>
    orm
      .insert(statistics)
      .values(row)
      .onConflictDoUpdate({
        target: [kind, subject, period, at],
        set: { counts: sql`excluded.counts`, durations: sql`excluded.durations` },
      }),
  );

  /** Adds to one row. Several processes add to the same rows, so a known row is locked before it is changed. */
  function* addTo(orm: Orm, row: StatisticRow, one: StatisticPeriod): Work<void> {
    const { ms } = statisticPeriods[one];
    const added = { ...row, period: one, at: Math.floor(row.at / ms) * ms };
    if ((yield* execute(make(orm, added))).length > 0) return;
    const [before] = yield* execute(known(orm, added));
    if (before) yield* execute(put(orm, { ...added, ...sumOf(before, row) }));
  }

  return {
    ...sizes,
    add: (rows) =>
      transact(function* (orm) {
        // Always in the same order, so that two processes cannot deadlock.
        const inOrder = rows.toSorted((a, b) =>
          `${a.kind} ${a.subject} ${a.at}` < `${b.kind} ${b.subject} ${b.at}` ? -1 : 1,
        );
        for (const row of inOrder) for (const one of periods) yield* addTo(orm, row, one);
      }),
    read: async (question) =>
      orm
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
    prune: (now) =>
      runEach(function* (orm) {
        let removed = 0;
        for (const one of periods) {
          const old = sql`${rowId} IN (SELECT ${rowId} FROM ${statistics} WHERE ${period} = ${one}
            AND ${at} < ${now - statisticPeriods[one].keepMs} LIMIT ${stepRows})`;
          removed += (yield* execute(orm.delete(statistics).where(old).returning({ at }))).length;
        }
        return removed < stepRows;
      }),
  };
}
