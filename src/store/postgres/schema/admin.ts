import { index, pgTable, text } from "drizzle-orm/pg-core";
import type { KeySource, Role } from "../../../domain/operator-keys.ts";
import { bytes, integer } from "./columns.ts";

export const settings = pgTable("settings", {
  key: text().primaryKey(),
  value: text().notNull(),
});

/** Requests of the admin API that came with an `Idempotency-Key`. */
export const idempotencyKeys = pgTable(
  "idempotency_keys",
  {
    key: text().primaryKey(),
    /** Tells the same request again from another one under the same key. */
    fingerprint: bytes().notNull(),
    first_seen_at: integer().notNull(),
    /** The status and body of its answer; null as long as there is none. */
    status: integer(),
    answer: text(),
  },
  (table) => [index("idempotency_keys_age").on(table.first_seen_at)],
);

/** Keys of the admin API; a key from the environment is not among them. */
export const operatorKeys = pgTable("operator_keys", {
  id: text().primaryKey(),
  name: text().notNull().unique(),
  role: text().$type<Role>().notNull(),
  source: text().$type<KeySource>().notNull(),
  /** SHA-256 of the key, in base64. */
  hash: text().notNull().unique(),
  prefix: text().notNull(),
  created_at: integer().notNull(),
  expires_at: integer(),
  last_used_at: integer(),
  shown_at: integer(),
});

/** Sessions of the console that have begun. */
export const operatorSessions = pgTable("operator_sessions", {
  /** SHA-256 of the secret in the cookie and the hash of the key. */
  hash: bytes().primaryKey(),
  expires_at: integer().notNull(),
  /** Of the operator key that began it; "" where an earlier version kept it. */
  key_id: text().notNull().default(""),
});
