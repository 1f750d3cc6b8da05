import { resolve } from "node:path";
import { DomainError } from "../../domain/errors.ts";
import { backupDirectory, type KeptBackup } from "./files.ts";

/** The settings of a destination of backups. They can be sent to threads. */
export type DestinationSettings =
  | { readonly kind: "directory"; readonly directory: string }
  | (S3Options & {
      readonly kind: "s3";
      readonly bucket: string;
      /** Empty, or ends with a slash. */
      readonly prefix: string;
    });

interface S3Options {
  /** The URL of the storage; null for the one in the environment variables, or else that of AWS. */
  readonly endpoint: string | null;
  readonly region: string | null;
  readonly aws: AwsVariables;
}

/** Environment variables that AWS's own tools read. They contain secrets. */
export type AwsVariables = Readonly<Partial<Record<(typeof awsNames)[number], string | undefined>>>;

const awsNames = [
  "AWS_ACCESS_KEY_ID",
  "AWS_SECRET_ACCESS_KEY",
  "AWS_SESSION_TOKEN",
  "AWS_SHARED_CREDENTIALS_FILE",
  "AWS_PROFILE",
  "AWS_REGION",
  "AWS_DEFAULT_REGION",
  "AWS_ENDPOINT_URL_S3",
  "AWS_ENDPOINT_URL",
] as const;

/** Returns the variables of AWS's tools in an environment. */
export function awsVariables(env: Readonly<Record<string, string | undefined>>): AwsVariables {
  return Object.fromEntries(awsNames.map((name) => [name, env[name]]));
}

export interface NewBackup {
  /** A data directory that this process has open. */
  readonly data: string;
  readonly id: string;
  readonly destination: DestinationSettings;
  /** Public keys of age; without any, the backup is not encrypted. */
  readonly recipients: readonly string[];
}

/**
 * The directory in which a backup is first written: its destination, or `backupDirectory` if it is encrypted or
 * uploaded.
 */
export function workDirectory({ data, destination, recipients }: Omit<NewBackup, "id">): string {
  return destination.kind === "directory" && recipients.length === 0
    ? destination.directory
    : backupDirectory(data);
}

/** The directory with the final content of a backup, before it gets its name or is uploaded. */
export function destinationDirectory({ data, destination }: Pick<NewBackup, "data" | "destination">): string {
  return destination.kind === "directory" ? destination.directory : backupDirectory(data);
}

/** A local file to be stored as a backup. */
export interface CheckedFile {
  readonly path: string;
  readonly size: number;
  /** The hash of the content, in hexadecimal. */
  readonly sha256: string;
}

/** A destination with complete backups. Its errors are `DomainError`s (`unavailable`) that say what to do. */
export interface BackupDestination {
  /** Returns all backups, in no particular order. */
  list(): Promise<KeptBackup[]>;
  /** Stores a file under a name, completely or not at all. Resolves when the stored content is verified. */
  keep(file: CheckedFile, name: string): Promise<void>;
  /** Reads a part of a backup; `end` is exclusive. */
  read(name: string, range: { readonly start: number; readonly end: number }): ReadableStream<Uint8Array>;
  /** Removes a backup; does nothing when there is none with this name. */
  remove(name: string): Promise<void>;
  /** Returns the id of the data that has claimed the destination; null when none has. */
  owner(): Promise<string | null>;
  /** Claims the destination for the data with this id, unless it is claimed. Returns its owner. */
  claim(id: string): Promise<string>;
  /**
   * Whether a concurrent claim of another server is certain to fail. The destination must be claimed for this id
   * already: if it does not support conditional writes, this call writes the claim again.
   */
  keepsFirst(id: string): Promise<boolean>;
}

/** The file in a destination that contains the id of the data that has claimed it. */
export const ownerFile = "onair-data-id";

/** Parses the content of the file `onair-data-id`; null when it is empty. */
export const ownerIn = (text: string): string | null => text.trim() || null;

/** The error when other data has claimed the destination. */
export const destinationOfOthers = (location: string): DomainError =>
  new DomainError(
    "unavailable",
    `Other data stores its backups in ${location}, and each server would delete old backups of the other: set another destination with --backup-to, or, if the other data is no longer used, delete ${ownerFile} there`,
    { retryAfterSeconds: 60 },
  );

const s3Form = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/([A-Za-z0-9._/-]{0,500}))?$/;

/** Parses a directory or `s3://bucket/prefix`. Throws a `TypeError` for anything else. */
export function readDestination(
  text: string,
  { endpoint = null, region = null, aws = {} }: Partial<S3Options> = {},
): DestinationSettings {
  const [matches, bucket = "", path = ""] = s3Form.exec(text) ?? [];
  if (matches !== undefined) {
    const prefix = path
      .split("/")
      .filter((part) => part !== "")
      .join("/");
    return { kind: "s3", bucket, prefix: prefix === "" ? "" : `${prefix}/`, endpoint, region, aws };
  }
  if (/^[a-z0-9+.-]+:\/\//i.test(text) || text.trim() === "" || text.includes("\0"))
    throw new TypeError("must be a directory, or like s3://bucket/prefix");
  return { kind: "directory", directory: resolve(text) };
}

/** Names a destination without its secrets. */
export function shownDestination(destination: DestinationSettings): string {
  return destination.kind === "directory"
    ? destination.directory
    : `s3://${destination.bucket}/${destination.prefix}`;
}
