import type { AuditEntry, AuditFilter, NewAuditEntry } from "../../domain/operations/audit.ts";

/** Who changed what. Only the newest entries are kept: `auditLimits`. */
export interface AuditStore {
  add(entry: NewAuditEntry): Promise<void>;
  /** Adds entries of changes that come many at a time; those with the same `auditMergeKey` become one. */
  count(entries: readonly NewAuditEntry[]): Promise<void>;
  /** Newest first, those numbered below `below`; null begins. */
  page(filter: AuditFilter, below: number | null, limit: number): Promise<AuditEntry[]>;
  /** Removes some of those made before a time; true: there are no more of them. */
  prune(before: number): Promise<boolean>;
}
