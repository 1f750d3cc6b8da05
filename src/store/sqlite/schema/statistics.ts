import { index, integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { StatisticKind, StatisticPeriod } from "../../../domain/operations/statistics.ts";

/** Counts of deliveries and requests; see `domain/operations/statistics.ts`. */
export const statistics = sqliteTable(
  "statistics",
  {
    kind: text().$type<StatisticKind>().notNull(),
    subject: text().notNull(),
    period: text().$type<StatisticPeriod>().notNull(),
    /** When the period began, in milliseconds since the epoch. */
    at: integer().notNull(),
    counts: text({ mode: "json" }).$type<Readonly<Record<string, number>>>().notNull(),
    durations: text({ mode: "json" }).$type<readonly number[]>().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.kind, table.subject, table.period, table.at] }),
    index("statistics_period").on(table.period, table.at),
  ],
);
