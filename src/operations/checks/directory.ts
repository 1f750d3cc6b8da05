import { accessSync, constants, readdirSync, type Stats, statSync } from "node:fs";
import { join } from "node:path";
import { shownTooSmall } from "../../domain/backups.ts";
import { messageOf } from "../../domain/errors.ts";
import { type Finding, findingsOf } from "../../domain/findings.ts";
import { idTime } from "../../domain/ids.ts";
import { diskForecast, type FreeSpace, leastFreeBytes, shownBytes } from "../../domain/storage.ts";
import { day, shownDuration } from "../../domain/time.ts";
import { databaseIn, lockFile, pidFile } from "../../store/sqlite/directory.ts";
import { type AwsVariables, destinationOfOthers } from "../backups/destination.ts";
import { type BackupConfig, everyMsOf, openBackupDestination } from "../backups/open-backups.ts";
import { tooSmallFor } from "../backups/open-destination.ts";
import { sizesOf } from "../storage.ts";

/** Checks that this user can use the data directory, which all further checks need. */
export function directoryFinding(data: string): Finding {
  const { ok, warning, wrong } = findingsOf("data_directory");
  const stats = statsOf(data);
  if (stats === "out of reach")
    return wrong(
      `this user cannot access ${data}`,
      "run this as the user of the server, or correct the path",
    );
  if (!stats)
    return wrong(
      `there is no directory ${data}`,
      'name another one with --data, or let "onair serve" create it',
    );
  if (!stats.isDirectory()) return wrong(`${data} is not a directory`, "name another one with --data");
  const refusal = refusalOf(data);
  if (refusal === "EROFS")
    return wrong(
      `the file system of ${data} is mounted read-only`,
      "see the kernel log for the reason, and mount it read-write",
    );
  if (refusal !== null)
    return wrong(
      `this user cannot write in ${data}`,
      "run this as the user of the server, or chown the directory",
    );
  if (!statSync(databaseIn(data), { throwIfNoEntry: false }))
    return warning(
      `${data} has no database yet`,
      '"onair serve" creates one; "onair restore" restores one from a backup',
    );
  return ok(`${data} exists, and this user can write in it`);
}

/**
 * Returns null when nothing exists there, and `out of reach` when a part of the path is not a directory or not
 * accessible.
 */
function statsOf(path: string): Stats | null | "out of reach" {
  try {
    return statSync(path, { throwIfNoEntry: false }) ?? null;
  } catch {
    return "out of reach";
  }
}

/** Returns the error code of accessing a directory for reading and writing; null when this user may. */
function refusalOf(directory: string): string | null {
  const { R_OK, W_OK, X_OK } = constants;
  try {
    accessSync(directory, R_OK | W_OK | X_OK);
    return null;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? "";
  }
}

/** Files of a data directory that hold no secrets. */
const open: readonly string[] = [lockFile, `${lockFile}-journal`, pidFile];
const ours = /^(onair\.|dev\.json$)/;
const listed = 10;

/** Checks that other users cannot read or change the files of a data directory. */
export function* modeFindings(data: string): Generator<Finding> {
  const { ok, wrong, skipped } = findingsOf("file_modes");
  if (process.platform === "win32") return yield skipped("Windows has no file modes");
  const directory = statSync(data);
  const files = filesOf(data);
  const isOpen = (directory.mode & 0o022) !== 0;
  if (isOpen)
    yield wrong(`other users can change files in ${data} (mode ${modeOf(directory)})`, `chmod 700 ${data}`);
  const readable = files.filter(({ isSecret, stats }) => isSecret && (stats.mode & 0o077) !== 0);
  for (const { path, stats } of readable.slice(0, listed))
    yield wrong(
      `${path} holds secrets, and other users can read it (mode ${modeOf(stats)})`,
      `chmod 600 ${path}`,
    );
  if (readable.length > listed) yield wrong(`the same for ${readable.length - listed} more files`);
  const foreign = files.find(({ stats }) => stats.uid !== directory.uid);
  if (foreign)
    yield wrong(
      `${foreign.path} belongs to user ${foreign.stats.uid}, but ${data} to user ${directory.uid}`,
      `chown -R ${directory.uid} ${data}, if that is the user of the server`,
    );
  if (!isOpen && readable.length === 0 && !foreign)
    yield ok(`${files.length} files, accessible only to their owner`);
}

/** Warns of files with secret settings that every user can read; access by a group is allowed. */
export function* secretFileFindings(files: readonly string[]): Generator<Finding> {
  for (const path of process.platform === "win32" ? [] : files) {
    const stats = statsOf(path);
    if (stats && stats !== "out of reach" && (stats.mode & 0o007) !== 0)
      yield findingsOf("file_modes").warning(
        `${path} holds a secret, and every user of this machine can read it (mode ${modeOf(stats)})`,
        `chmod o= ${path}`,
      );
  }
}

const modeOf = ({ mode }: Stats) => (mode & 0o777).toString(8).padStart(4, "0");

interface FoundFile {
  readonly path: string;
  readonly stats: Stats;
  readonly isSecret: boolean;
}

function filesOf(data: string): FoundFile[] {
  const backups = join(data, "backups");
  const own = readdirSync(data).filter((name) => ours.test(name));
  const kept = statSync(backups, { throwIfNoEntry: false })?.isDirectory() ? readdirSync(backups) : [];
  const paths = [...own.map((name) => join(data, name)), ...kept.map((name) => join(backups, name))];
  return paths.flatMap((path) => {
    const stats = statSync(path, { throwIfNoEntry: false });
    return stats?.isFile()
      ? [{ path, stats, isSecret: !open.some((name) => path === join(data, name)) }]
      : [];
  });
}

/**
 * Checks the free space for a database of `databaseBytes`. Its write-ahead log may grow to a quarter of the required
 * minimum.
 */
export function spaceFinding(data: string, freeBytes: number, databaseBytes: number): Finding {
  const { ok, warning, wrong } = findingsOf("disk_space");
  const free = `${shownBytes(freeBytes)} free on the disk of ${data}`;
  if (freeBytes < leastFreeBytes)
    return wrong(`only ${free}`, "free some space: on a full disk, every write request is answered 503");
  if (freeBytes < databaseBytes + leastFreeBytes)
    return warning(
      `${free}, less than the size of its database (${shownBytes(databaseBytes)}): a backup on this disk does not fit`,
      "free some space, or keep backups elsewhere (--backup-to)",
    );
  return ok(`${free}; its database has ${shownBytes(databaseBytes)}`);
}

/** Measures the free space of a data directory and checks it. */
export function measuredSpace(data: string): Finding {
  const { free_bytes, database_bytes } = sizesOf(data);
  return spaceFinding(data, free_bytes, database_bytes);
}

/** A forecast of less time than this is a warning. */
const soonFullMs = 7 * day;

/**
 * Forecasts when the disk of a data directory is full, from an earlier measurement; no finding when it does not fill.
 */
export function* forecastFindings(data: string, before: FreeSpace | null, now: number): Generator<Finding> {
  const { usedPerDay, fullAt } = diskForecast(before, sizesOf(data).free_bytes, now);
  if (usedPerDay === null || fullAt === null) return;
  const { ok, warning } = findingsOf("disk_forecast");
  const left = fullAt - now;
  const found = `the disk of ${data} fills by ${shownBytes(usedPerDay)} a day, and will be full in ${shownDuration(left)}`;
  yield left > soonFullMs
    ? ok(found)
    : warning(found, "free some space, or keep less data: --max-data-size, --keep-delivered-days");
}

interface BackupQuestion {
  readonly data: string;
  /** The id of the data: null before the first start, undefined where the database cannot be read. */
  readonly dataId: string | null | undefined;
  readonly config: BackupConfig;
  readonly aws: AwsVariables;
  /** Whether to send requests to storage in the network. */
  readonly reach: boolean;
  readonly now: number;
}

/** Checks the age of the newest backup, and the backup destination. */
export async function* backupFindings(question: BackupQuestion): AsyncGenerator<Finding> {
  const { data, dataId, config, aws, reach, now } = question;
  const { ok, warning, wrong, skipped } = findingsOf("backups");
  if (config.backupTo?.startsWith("s3://") && !reach)
    return yield skipped(`${config.backupTo} was not checked`, "check it with --reach");
  try {
    const { settings, destination, shown } = await openBackupDestination(data, config, aws);
    const owner = await destination.owner();
    if (owner !== null && dataId !== undefined && owner !== dataId) throw destinationOfOthers(shown);
    if (owner !== null && reach && !(await destination.keepsFirst(owner)))
      yield warning(
        `two servers that start at the same moment could both use ${shown}: this storage ignores If-None-Match`,
        "give each server its own prefix",
      );
    const tooSmall =
      config.backupEvery === null
        ? null
        : await tooSmallFor({ data, destination: settings, recipients: config.backupRecipients });
    if (tooSmall)
      yield warning(
        `there is not enough space for the next backup: ${shownTooSmall(tooSmall)}`,
        "free some space, or keep fewer backups (--keep-backups)",
      );
    const times = (await destination.list()).map(({ id }) => idTime(id));
    const everyMs = everyMsOf(config);
    const make = 'look for the reason in the log, and make one with "onair backup"';
    const age = times.length === 0 ? null : Math.max(0, now - Math.max(...times));
    const found =
      age === null
        ? `no backup in ${shown}`
        : `${times.length} in ${shown}, the newest ${shownDuration(age)} old`;
    if (everyMs === null) return yield ok(`${found}; automatic backups are off (--backup-every)`);
    if (age === null) return yield warning(`${found}, although --backup-every is set`, make);
    if (age > 2 * everyMs) return yield wrong(`${found}: that is more than twice --backup-every`, make);
    yield ok(found);
  } catch (error) {
    yield wrong(messageOf(error));
  }
}
