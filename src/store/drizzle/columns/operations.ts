import type { NewAuditEntry } from "../../../domain/operations/audit.ts";
import type { NoticeSending, NoticeType } from "../../../domain/operations/notices.ts";
import type { StatisticKind, StatisticPeriod } from "../../../domain/operations/statistics.ts";
import type { KeySource, Role } from "../../../domain/operator-keys.ts";
import type { Kinds, ReferredColumn } from "./kinds.ts";

export const settingColumns = ({ text }: Kinds) => ({
  key: text().primaryKey(),
  value: text().notNull(),
});

/** Requests of the admin API with an `Idempotency-Key`. */
export const idempotencyKeyColumns = ({ text, integer, bytes }: Kinds) => ({
  key: text().primaryKey(),
  /**
   * Hash of the request, to tell a repetition from another request with the same key. Empty when the key was released.
   */
  fingerprint: bytes().notNull(),
  first_seen_at: integer().notNull(),
  /** The status of the answer, and its body below; null while there is no answer. */
  status: integer(),
  answer: text(),
});

/** Keys of the admin API, except a key from the environment. */
export const operatorKeyColumns = ({ text, integer }: Kinds) => ({
  id: text().primaryKey(),
  name: text().notNull(),
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

/** Open sessions of the console. */
export const operatorSessionColumns = ({ text, integer, bytes }: Kinds) => ({
  /** SHA-256 over the secret in the cookie and the hash of the key. */
  hash: bytes().primaryKey(),
  expires_at: integer().notNull(),
  /** The operator key that it was begun with. */
  key_id: text().notNull(),
});

/**
 * The audit log; see `domain/operations/audit.ts`. Entries have no foreign keys, and remain when their object is
 * removed.
 */
export const auditColumns = ({ counter, text, integer, words }: Kinds) => ({
  seq: counter(),
  /** Entries with the same key are merged. Null for an entry that is not. */
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
  fields: words<string>().notNull(),
  address: text().notNull(),
  request_id: text().notNull(),
});

/** Notices for developers and operators; see `domain/operations/notices.ts`. */
export const noticeColumns = ({ counter, text, integer }: Kinds, application: ReferredColumn) => ({
  seq: counter(),
  id: text().notNull().unique(),
  type: text().$type<NoticeType>().notNull(),
  /** Null for a notice about the server. */
  application_id: text().references(application, { onDelete: "cascade" }),
  body: text().notNull(),
  created_at: integer().notNull(),
  status: text().$type<NoticeSending["status"]>().notNull(),
  attempts: integer().notNull(),
  next_attempt_at: integer(),
  error: text(),
});

/** Counts of deliveries and requests; see `domain/operations/statistics.ts`. */
export const statisticColumns = ({ text, integer, json }: Kinds) => ({
  kind: text().$type<StatisticKind>().notNull(),
  subject: text().notNull(),
  period: text().$type<StatisticPeriod>().notNull(),
  /** When the period began. */
  at: integer().notNull(),
  counts: json<Readonly<Record<string, number>>>().notNull(),
  durations: json<readonly number[]>().notNull(),
});
