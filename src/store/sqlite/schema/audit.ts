import { index, integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { NewAuditEntry } from "../../../domain/operations/audit.ts";

/** Who changed what; see `domain/operations/audit.ts`. Nothing refers to it, and it outlives what it is about. */
export const audit = sqliteTable(
  "audit",
  {
    seq: integer().primaryKey({ autoIncrement: true }),
    /** null for an entry of its own. */
    merge_key: text().unique(),
    at: integer().notNull(),
    last_at: integer().notNull(),
    count: integer().notNull(),
    actor_kind: text().$type<NewAuditEntry["actor_kind"]>().notNull(),
    actor_id: text().notNull(),
    actor_name: text().notNull(),
    action: text().notNull(),
    object: text().notNull(),
    object_id: text(),
    fields: text({ mode: "json" }).$type<readonly string[]>().notNull(),
    address: text().notNull(),
    request_id: text().notNull(),
  },
  (table) => [
    index("audit_at").on(table.at),
    index("audit_actor").on(table.actor_id),
    index("audit_action").on(table.action),
    index("audit_object").on(table.object, table.object_id),
  ],
);
