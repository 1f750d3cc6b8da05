import { DomainError } from "./errors.ts";

export const backupStatuses = ["running", "done", "failed"] as const;

/** A consistent copy of the whole database. */
export interface Backup {
  readonly id: string;
  readonly status: (typeof backupStatuses)[number];
  /** The copied part of the database, from 0 to 1; a check of the copy follows. */
  readonly progress: number;
  /** Bytes written so far. */
  readonly size_bytes: number;
  /** Of the stored, possibly encrypted file, in hexadecimal; null until it is done. */
  readonly sha256: string | null;
  readonly is_encrypted: boolean;
  /** The reason of a failure, for people. */
  readonly error: string | null;
  /** Milliseconds since the epoch; everything acknowledged before is in the backup. */
  readonly created_at: number;
  readonly finished_at: number | null;
}

/** The state of a server's backups, without a request to their storage. */
export interface BackupState {
  /** Whether the list of backups has been read. */
  readonly isListed: boolean;
  /** When the newest backup began, in milliseconds since the epoch; null when none is known. */
  readonly newestAt: number | null;
  /** Milliseconds between the backups of the schedule; null without a schedule. */
  readonly everyMs: number | null;
  /** Counts since the server started. */
  readonly made: number;
  readonly failed: number;
}

export const backupLimits = {
  /** Failed backups that are listed until the server stops. */
  maxFailed: 10,
  /** Disk space left to the server for its writes during the backup. */
  spareBytes: 32 * 1024 * 1024,
} as const;

const megabytes = (bytes: number) => `${Math.ceil(bytes / 1e6).toLocaleString("en")} MB`;

/** A disk with too little free space for a backup. */
export interface TooSmall {
  /** A directory on it. */
  readonly directory: string;
  readonly neededBytes: number;
  readonly freeBytes: number;
}

/** Describes the missing space, as a part of a message. */
export const shownTooSmall = ({ directory, neededBytes, freeBytes }: TooSmall) =>
  `it may need ${megabytes(neededBytes)} and ${megabytes(freeBytes)} are free in ${directory}`;

/** The error when there is no space for a backup. */
export function noSpaceForBackup(disk?: TooSmall): DomainError {
  const found = disk ? shownTooSmall(disk) : "the disk became full while it was written";
  const message = `Not enough disk space for a backup: ${found}. No partial backup remains. Delete older backups or free some space.`;
  return new DomainError("unavailable", message, { retryAfterSeconds: 60 });
}

/** The message of commands and the admin API when the data is in PostgreSQL. */
export const backupsOfPostgres =
  "The data is in PostgreSQL, which makes its own backups: docs/postgres.md has the commands";
