import { sql } from "drizzle-orm";
import { index, integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { NoticeSending, NoticeType } from "../../../domain/operations/notices.ts";
import { applications } from "./access.ts";

/** Notices for developers and operators; see `domain/operations/notices.ts`. Times are milliseconds since the epoch. */
export const notices = sqliteTable(
  "notices",
  {
    seq: integer().primaryKey({ autoIncrement: true }),
    id: text().notNull().unique(),
    type: text().$type<NoticeType>().notNull(),
    /** null for a notice about the server. */
    application_id: text().references(() => applications.id, { onDelete: "cascade" }),
    body: text().notNull(),
    created_at: integer().notNull(),
    status: text().$type<NoticeSending["status"]>().notNull(),
    attempts: integer().notNull(),
    next_attempt_at: integer(),
    error: text(),
  },
  (table) => [
    index("notices_application").on(table.application_id),
    index("notices_created").on(table.created_at),
    index("notices_due").on(table.next_attempt_at).where(sql`${table.status} = 'pending'`),
  ],
);
