import { DomainError } from "./errors.ts";

type BackupStatus = "running" | "done" | "failed";

/** A copy of the whole database as it was at one moment. */
export interface Backup {
  readonly id: string;
  readonly status: BackupStatus;
  /** Which part of the database is copied, from 0 to 1; what is copied is then checked. */
  readonly progress: number;
  /** What is written so far. */
  readonly size_bytes: number;
  /** In hexadecimal digits, once it is done. */
  readonly sha256: string | null;
  /** Why it failed, for people. */
  readonly error: string | null;
  /** Milliseconds since the epoch; what was acknowledged before is in it. */
  readonly created_at: number;
  readonly finished_at: number | null;
}

export const backupLimits = {
  /** So many that failed are remembered, until the server stops. */
  maxFailed: 10,
  /** Left to the server beside the backup, which needs room for what is written meanwhile. */
  spareBytes: 32 * 1024 * 1024,
} as const;

const megabytes = (bytes: number) => `${Math.ceil(bytes / 1e6).toLocaleString("en")} MB`;

/** The error where there is no room for a backup. */
export function noRoom(of?: { readonly neededBytes: number; readonly freeBytes: number }): DomainError {
  const found = of
    ? `it may need ${megabytes(of.neededBytes)} and ${megabytes(of.freeBytes)} are free`
    : "the disk became full while it was written";
  const message = `There is no room for a backup: ${found}. Nothing of it is left; delete older ones or make room.`;
  return new DomainError("unavailable", message, { retryAfterSeconds: 60 });
}
