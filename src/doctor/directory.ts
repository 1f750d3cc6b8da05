import { accessSync, constants, readdirSync, type Stats, statSync } from "node:fs";
import { join } from "node:path";
import { sizesOf } from "../data/disk-sizes.ts";
import { diskForecast, type FreeSpace } from "../domain/operations/disk-forecast.ts";
import { type Finding, findingsOf } from "../domain/operations/findings.ts";
import { shownBytes } from "../domain/operations/kind-sizes.ts";
import { day, shownDuration } from "../domain/time.ts";
import { databaseIn, lockFile, pidFile } from "../store/sqlite/database/directory.ts";

/** Whether this user can use the data directory, which all further checks need. */
export function directoryFinding(data: string): Finding {
  const { ok, warning, wrong } = findingsOf("data_directory");
  const stats = statsOf(data);
  if (stats === "out of reach")
    return wrong(`this user cannot come to ${data}`, "run it as the user who serves, or look at the path");
  if (!stats)
    return wrong(
      `there is no directory ${data}`,
      'name another one with --data, or let "onair serve" make it',
    );
  if (!stats.isDirectory()) return wrong(`${data} is not a directory`, "name another one with --data");
  const refusal = refusalOf(data);
  if (refusal === "EROFS")
    return wrong(
      `the file system of ${data} is mounted read-only`,
      "the log of the kernel may say why; mount it to be written",
    );
  if (refusal !== null)
    return wrong(
      `this user may not write in ${data}`,
      "run it as the user who serves, or chown the directory",
    );
  if (!statSync(databaseIn(data), { throwIfNoEntry: false }))
    return warning(
      `${data} has no database yet`,
      '"onair serve" makes one, "onair restore" takes it from a backup',
    );
  return ok(`${data} is there, and this user may write in it`);
}

/** null: there is nothing. `out of reach`: a part of the path is no directory, or that of another user. */
function statsOf(path: string): Stats | null | "out of reach" {
  try {
    return statSync(path, { throwIfNoEntry: false }) ?? null;
  } catch {
    return "out of reach";
  }
}

/** Why this user cannot read and write in a directory, as the code of an error; null where that is possible. */
function refusalOf(directory: string): string | null {
  const { R_OK, W_OK, X_OK } = constants;
  try {
    accessSync(directory, R_OK | W_OK | X_OK);
    return null;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? "";
  }
}

/** Files of a data directory without secrets. */
const open: readonly string[] = [lockFile, `${lockFile}-journal`, pidFile];
const ours = /^(onair\.|dev\.json$)/;
const listed = 10;

/** Whether other users can read the files of a data directory. */
export function* modeFindings(data: string): Generator<Finding> {
  const { ok, wrong, skipped } = findingsOf("file_modes");
  if (process.platform === "win32") return yield skipped("Windows has no modes");
  const directory = statSync(data);
  const files = filesOf(data);
  const isOpen = (directory.mode & 0o022) !== 0;
  if (isOpen)
    yield wrong(`others may change what is in ${data} (mode ${modeOf(directory)})`, `chmod 700 ${data}`);
  const readable = files.filter(({ isSecret, stats }) => isSecret && (stats.mode & 0o077) !== 0);
  for (const { path, stats } of readable.slice(0, listed))
    yield wrong(`${path} holds secrets and is open to others (mode ${modeOf(stats)})`, `chmod 600 ${path}`);
  if (readable.length > listed) yield wrong(`so are ${readable.length - listed} more`);
  const foreign = files.find(({ stats }) => stats.uid !== directory.uid);
  if (foreign)
    yield wrong(
      `${foreign.path} belongs to another user (${foreign.stats.uid}) than ${data} (${directory.uid})`,
      `chown -R ${directory.uid} ${data}, where that is the user who serves`,
    );
  if (!isOpen && readable.length === 0 && !foreign)
    yield ok(`${files.length} files, each for its owner alone`);
}

/** Which of the files that hold secrets of the settings other users can read; a group may. */
export function* secretFileFindings(files: readonly string[]): Generator<Finding> {
  for (const path of process.platform === "win32" ? [] : files) {
    const stats = statsOf(path);
    if (stats && stats !== "out of reach" && (stats.mode & 0o007) !== 0)
      yield findingsOf("file_modes").warning(
        `${path} holds a secret and is open to every user of this machine (mode ${modeOf(stats)})`,
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

const leastFreeBytes = 256 * 1024 * 1024;

/**
 * Whether there is enough space for a database of `databaseBytes`, whose write-ahead log may grow to a quarter of the
 * minimum.
 */
export function spaceFinding(data: string, freeBytes: number, databaseBytes: number): Finding {
  const { ok, warning, wrong } = findingsOf("disk_space");
  const free = `${shownBytes(freeBytes)} are free for ${data}`;
  if (freeBytes < leastFreeBytes)
    return wrong(`only ${free}`, "make room: on a full disk every write is answered with 503");
  if (freeBytes < databaseBytes + leastFreeBytes)
    return warning(
      `${free}, less than its database takes (${shownBytes(databaseBytes)}): no backup fits beside it`,
      "make room, or keep backups elsewhere",
    );
  return ok(`${free}, and its database takes ${shownBytes(databaseBytes)}`);
}

/** Measures the space of a data directory and checks it. */
export function measuredSpace(data: string): Finding {
  const { free_bytes, database_bytes } = sizesOf(data);
  return spaceFinding(data, free_bytes, database_bytes);
}

/** A disk that is full sooner is worth a look. */
const soonFullMs = 7 * day;

/** When the disk of a data directory is full, by what was free there before; nothing where it does not fill. */
export function* forecastFindings(data: string, before: FreeSpace | null, now: number): Generator<Finding> {
  const { usedPerDay, fullAt } = diskForecast(before, sizesOf(data).free_bytes, now);
  if (usedPerDay === null || fullAt === null) return;
  const { ok, warning } = findingsOf("disk_forecast");
  const left = fullAt - now;
  const found = `the disk of ${data} fills by ${shownBytes(usedPerDay)} a day, and is full in ${shownDuration(left)}`;
  yield left > soonFullMs
    ? ok(found)
    : warning(found, "make room, or keep less: --max-data-size, --keep-delivered-days");
}
