import { hour } from "./time.ts";

/** Callers that make changes: a key of the admin API, or an application that changed itself. */
export const auditActors = ["operator_key", "application"] as const;

/**
 * One change, or several equal ones (see `auditMergeKey`), without values, because they may be secrets. Times are
 * milliseconds since the epoch.
 */
export interface NewAuditEntry {
  /** Time of the first change. */
  readonly at: number;
  /** Time of the last change. */
  readonly last_at: number;
  /** Number of changes. */
  readonly count: number;
  readonly actor_kind: (typeof auditActors)[number];
  readonly actor_id: string;
  /** Name at the time: the key may since be revoked, or the application deleted. */
  readonly actor_name: string;
  /** The `operationId` of the call. */
  readonly action: string;
  /** Kind of the changed object, as in the path: `applications`. */
  readonly object: string;
  /** null for several objects, and when the id is secret. */
  readonly object_id: string | null;
  /** Names of the given fields. */
  readonly fields: readonly string[];
  /** Network address of the caller; empty for a command in the data directory. */
  readonly address: string;
  /** Id of the last request. */
  readonly request_id: string;
  /** Number of accepted lines of a snapshot of livestreams; else null. */
  readonly accepted: number | null;
  /** Number of livestreams that a snapshot ended; else null. */
  readonly ended: number | null;
}

export interface AuditEntry extends NewAuditEntry {
  /** The order in which entries were stored. */
  readonly seq: number;
}

/** The filter of a list; null matches all. */
export interface AuditFilter {
  /** The id of a key or application. */
  readonly actor_id: string | null;
  readonly action: string | null;
  readonly object: string | null;
  readonly object_id: string | null;
  /** Last change at this time or later. */
  readonly after: number | null;
  /** First change before this time. */
  readonly before: number | null;
}

/**
 * The newest entries are kept, up to these numbers. The limit per application protects the entries of all others.
 */
export const auditLimits = { ofApplication: 200, all: 200_000 } as const;

/** Entries with the same key are merged: equal changes of one caller within an hour. */
export function auditMergeKey({ at, actor_id, action, object, address }: NewAuditEntry): string {
  return [actor_id, action, object, address, Math.floor(at / hour)].join(" ");
}

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
