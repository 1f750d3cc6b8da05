import { hour } from "../time.ts";

/** Who made a change: a key of the admin API, or an application that changed itself. */
export const auditActors = ["operator_key", "application"] as const;

/** A change that was made, without its values: those may be secrets. Times are milliseconds since the epoch. */
export interface NewAuditEntry {
  /** When it was made; of several, the first of them. */
  readonly at: number;
  /** Of several, the last of them. */
  readonly last_at: number;
  /** How many there were. */
  readonly count: number;
  readonly actor_kind: (typeof auditActors)[number];
  readonly actor_id: string;
  /** Its name then: a key may be revoked and an application deleted since. */
  readonly actor_name: string;
  /** The `operationId` of the call. */
  readonly action: string;
  /** What kind of thing was changed, as in the path: `applications`. */
  readonly object: string;
  /** null for several, or where its id is secret. */
  readonly object_id: string | null;
  /** The fields that were given. */
  readonly fields: readonly string[];
  /** The network address of the caller; empty for a command in the data directory. */
  readonly address: string;
  /** Of several, the last one's. */
  readonly request_id: string;
}

export interface AuditEntry extends NewAuditEntry {
  /** The order in which entries were stored. */
  readonly seq: number;
}

/** Which entries are asked for; null: all. */
export interface AuditFilter {
  /** The id of a key or application. */
  readonly actor_id: string | null;
  readonly action: string | null;
  readonly object: string | null;
  readonly object_id: string | null;
  /** Made at this time or later. */
  readonly after: number | null;
  /** Made, or of several the first, before this time. */
  readonly before: number | null;
}

/**
 * How many entries are kept, the newest: of an application, which could otherwise make those of others go, and of all.
 */
export const auditLimits = { ofApplication: 200, all: 200_000 } as const;

/** Entries with the same key are counted as one: those of a caller's equal changes within an hour. */
export function auditMergeKey({ at, actor_id, action, object, address }: NewAuditEntry): string {
  return [actor_id, action, object, address, Math.floor(at / hour)].join(" ");
}
