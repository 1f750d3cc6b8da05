import { resolve } from "node:path";
import { DomainError } from "../domain/errors.ts";
import { backupDirectory, type KeptBackup } from "./files.ts";

/** Where complete backups are. It is cloneable, for threads. */
export type PlaceSettings =
  | { readonly kind: "directory"; readonly directory: string }
  | {
      readonly kind: "s3";
      readonly bucket: string;
      /** "" or with a slash at its end. */
      readonly prefix: string;
      /** null for the variables of the environment, and AWS without them. */
      readonly endpoint: string | null;
      readonly region: string | null;
      readonly aws: AwsVariables;
    };

/** The variables of the environment that AWS's own tools read: with secrets. */
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

/** Takes them out of an environment. */
export function awsVariables(env: Readonly<Record<string, string | undefined>>): AwsVariables {
  return Object.fromEntries(awsNames.map((name) => [name, env[name]]));
}

export interface NewBackup {
  /** A data directory that this process has open. */
  readonly data: string;
  readonly id: string;
  readonly place: PlaceSettings;
  /** Public keys of age; none: it is not encrypted. */
  readonly recipients: readonly string[];
}

/** Where a backup is written: at its place, but what is encrypted or sent from there is made in the data directory. */
export function workDirectory({ data, place, recipients }: Omit<NewBackup, "id">): string {
  return place.kind === "directory" && recipients.length === 0 ? place.directory : backupDirectory(data);
}

/** Where a backup is as it will be kept, before it has its name or is sent. */
export function placeDirectory({ data, place }: Pick<NewBackup, "data" | "place">): string {
  return place.kind === "directory" ? place.directory : backupDirectory(data);
}

/** A local file that is to be kept. */
export interface CheckedFile {
  readonly path: string;
  readonly size: number;
  /** In hexadecimal. */
  readonly sha256: string;
}

/** Complete backups at one place. Faults are `DomainError`s (`unavailable`) that say what to do. */
export interface BackupPlace {
  /** All of them, in no order. */
  list(): Promise<KeptBackup[]>;
  /** Takes a file over under a name, as a whole or not at all, and has read it again when it resolves. */
  keep(file: CheckedFile, name: string): Promise<void>;
  /** A part of the content; `end` is exclusive. */
  read(name: string, range: { readonly start: number; readonly end: number }): ReadableStream<Uint8Array>;
  /** Does nothing where there is no such backup. */
  remove(name: string): Promise<void>;
  /** The id of the data whose backups these are; null where none has claimed the place. */
  owner(): Promise<string | null>;
  /** Claims the place for the data with this id, where none has. Gives its owner. */
  claim(id: string): Promise<string>;
  /**
   * Whether of two servers that claim the place at the same moment surely the first has it. The place must be that of the
   * data with this id: where it keeps the last, it is claimed by that once more.
   */
  keepsFirst(id: string): Promise<boolean>;
}

/** The file at a place that has the id of the data whose backups are there. */
export const ownerFile = "onair-data-id";

/** What such a file says; null where that is nothing. */
export const ownerIn = (text: string): string | null => text.trim() || null;

/** The error at a place that other data has claimed. */
export const placeOfOthers = (shown: string): DomainError =>
  new DomainError(
    "unavailable",
    `Other data has its backups in ${shown}, and each would delete what is old there: name another place with --backup-to, or, where that data is given up, delete ${ownerFile} there`,
    { retryAfterSeconds: 60 },
  );

const s3Form = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/([A-Za-z0-9._/-]{0,500}))?$/;

interface S3Options {
  readonly endpoint: string | null;
  readonly region: string | null;
  readonly aws: AwsVariables;
}

/** Reads a directory or `s3://bucket/prefix`. Throws a `TypeError`. */
export function readPlace(
  text: string,
  { endpoint = null, region = null, aws = {} }: Partial<S3Options> = {},
): PlaceSettings {
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

/** The place as it can be shown. */
export function shownBackupPlace(place: PlaceSettings): string {
  return place.kind === "directory" ? place.directory : `s3://${place.bucket}/${place.prefix}`;
}

/** Opens a place; what speaks to S3 is loaded only then. */
export async function openPlace(place: PlaceSettings): Promise<BackupPlace> {
  if (place.kind === "s3") {
    const { S3Place } = await import("./s3/s3-place.ts");
    return new S3Place(place);
  }
  const { DirectoryPlace } = await import("./directory-place.ts");
  return new DirectoryPlace(place.directory);
}
