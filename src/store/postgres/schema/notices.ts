import { sql } from "drizzle-orm";
import { bigint, index, pgTable, text } from "drizzle-orm/pg-core";
import type { NoticeSending, NoticeType } from "../../../domain/operations/notices.ts";
import { applications } from "./access.ts";
import { integer } from "./columns.ts";

/** Notices for developers and operators; see `domain/operations/notices.ts`. */
export const notices = pgTable(
  "notices",
  {
    seq: bigint({ mode: "number" }).primaryKey().generatedAlwaysAsIdentity(),
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
    index("notices_application").on(table.application_id, table.seq),
    index("notices_created").on(table.created_at),
    index("notices_due").on(table.next_attempt_at).where(sql`${table.status} = 'pending'`),
  ],
);
