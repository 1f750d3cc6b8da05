import { index, pgTable, primaryKey, text } from "drizzle-orm/pg-core";
import type { StatisticKind, StatisticPeriod } from "../../../domain/operations/statistics.ts";
import { integer, json } from "./columns.ts";

/** Counts of deliveries and requests; see `domain/operations/statistics.ts`. */
export const statistics = pgTable(
  "statistics",
  {
    kind: text().$type<StatisticKind>().notNull(),
    subject: text().notNull(),
    period: text().$type<StatisticPeriod>().notNull(),
    at: integer().notNull(),
    counts: json<Readonly<Record<string, number>>>().notNull(),
    durations: json<readonly number[]>().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.kind, table.subject, table.period, table.at] }),
    index("statistics_period").on(table.period, table.at),
  ],
);
