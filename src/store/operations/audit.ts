import type { AuditEntry, AuditFilter, NewAuditEntry } from "../../domain/operations/audit.ts";

/** The audit log: who changed what. Only the newest entries are kept (`auditLimits`). */
export interface AuditStore {
  add(entry: NewAuditEntry): Promise<void>;
  /** Adds entries for frequent changes. Entries with the same `auditMergeKey` are merged into one. */
  count(entries: readonly NewAuditEntry[]): Promise<void>;
  /** Entries numbered below `below` (null for the first page), newest first. */
  page(filter: AuditFilter, below: number | null, limit: number): Promise<AuditEntry[]>;
  /** Removes some entries from before a time. Resolves to true when none of them is left. */
  prune(before: number): Promise<boolean>;
}
