import { DomainError } from "./errors.ts";

type BackupStatus = "running" | "done" | "failed";

/** A consistent copy of the whole database. */
export interface Backup {
  readonly id: string;
  readonly status: BackupStatus;
  /** The copied part of the database, from 0 to 1; a check of the copy follows. */
  readonly progress: number;
  /** The size so far. */
  readonly size_bytes: number;
  /** Of the content as it is kept, in hexadecimal; null until it is done. */
  readonly sha256: string | null;
  readonly is_encrypted: boolean;
  /** The reason of a failure, for people. */
  readonly error: string | null;
  /** Milliseconds since the epoch; everything acknowledged before is in the backup. */
  readonly created_at: number;
  readonly finished_at: number | null;
}

/** What is known of the backups of a server, without asking where they are. */
export interface BackupState {
  /** Whether it is known which ones there are. */
  readonly isListed: boolean;
  /** When the newest backup began, in milliseconds since the epoch; null where none is known. */
  readonly newestAt: number | null;
  /** Milliseconds between the backups of the schedule; null without one. */
  readonly everyMs: number | null;
  /** Since the start. */
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

/** A disk that has too little room for a backup. */
export interface TooSmall {
  /** A directory on it. */
  readonly directory: string;
  readonly neededBytes: number;
  readonly freeBytes: number;
}

/** What is wrong with such a disk. */
export const shownTooSmall = ({ directory, neededBytes, freeBytes }: TooSmall) =>
  `it may need ${megabytes(neededBytes)} and ${megabytes(freeBytes)} are free in ${directory}`;

/** The error when there is no space for a backup. */
export function noRoom(of?: TooSmall): DomainError {
  const found = of ? shownTooSmall(of) : "the disk became full while it was written";
  const message = `There is no room for a backup: ${found}. Nothing of it is left; delete older ones or make room.`;
  return new DomainError("unavailable", message, { retryAfterSeconds: 60 });
}

/** What commands and the admin API say where the data is in PostgreSQL. */
export const backupsOfPostgres =
  "The data is in PostgreSQL, which makes its own backups: docs/postgres.md has the commands";
