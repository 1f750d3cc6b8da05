import { sql } from "drizzle-orm";
import { index, primaryKey, sqliteTable } from "drizzle-orm/sqlite-core";
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
import { shared } from "./columns.ts";

export const settings = sqliteTable("settings", shared(settingColumns));

export const idempotencyKeys = sqliteTable("idempotency_keys", shared(idempotencyKeyColumns), (table) => [
  index("idempotency_keys_age").on(table.first_seen_at),
]);

export const operatorKeys = sqliteTable("operator_keys", shared(operatorKeyColumns));

export const operatorSessions = sqliteTable("operator_sessions", shared(operatorSessionColumns));

export const audit = sqliteTable("audit", shared(auditColumns), (table) => [
  index("audit_at").on(table.at),
  index("audit_actor").on(table.actor_id),
  index("audit_action").on(table.action),
  index("audit_object").on(table.object, table.object_id),
]);

export const notices = sqliteTable(
  "notices",
  shared(noticeColumns, () => applications.id),
  (table) => [
    index("notices_application").on(table.application_id),
    index("notices_created").on(table.created_at),
    index("notices_due").on(table.next_attempt_at).where(sql`${table.status} = 'pending'`),
  ],
);

export const statistics = sqliteTable("statistics", shared(statisticColumns), (table) => [
  primaryKey({ columns: [table.kind, table.subject, table.period, table.at] }),
  index("statistics_period").on(table.period, table.at),
]);
