import { sql } from "drizzle-orm";
import { index, pgTable, primaryKey, text } from "drizzle-orm/pg-core";
import {
  auditColumns,
  idempotencyKeyColumns,
  noticeColumns,
  operatorKeyColumns,
  operatorSessionColumns,
  settingColumns,
  statisticColumns,
} from "../../drizzle/columns/operations.ts";
import { applications } from "./access.ts";
import { kinds } from "./columns.ts";

export const settings = pgTable("settings", settingColumns(kinds));

export const idempotencyKeys = pgTable("idempotency_keys", idempotencyKeyColumns(kinds), (table) => [
  index("idempotency_keys_age").on(table.first_seen_at),
]);

export const operatorKeys = pgTable("operator_keys", {
  ...operatorKeyColumns(kinds),
  name: text().notNull().unique(),
});

export const operatorSessions = pgTable("operator_sessions", operatorSessionColumns(kinds));

export const audit = pgTable("audit", auditColumns(kinds), (table) => [
  index("audit_at").on(table.at),
  index("audit_actor").on(table.actor_id, table.seq),
  index("audit_action").on(table.action, table.seq),
  index("audit_object").on(table.object, table.object_id, table.seq),
]);

export const notices = pgTable(
  "notices",
  noticeColumns(kinds, () => applications.id),
  (table) => [
    index("notices_application").on(table.application_id, table.seq),
    index("notices_created").on(table.created_at),
    index("notices_due").on(table.next_attempt_at).where(sql`${table.status} = 'pending'`),
  ],
);

export const statistics = pgTable("statistics", statisticColumns(kinds), (table) => [
  primaryKey({ columns: [table.kind, table.subject, table.period, table.at] }),
  index("statistics_period").on(table.period, table.at),
]);
