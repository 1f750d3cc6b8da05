import { readdirSync, type Stats, statSync } from "node:fs";
import { join } from "node:path";
import { shownTooSmall } from "../../domain/backups.ts";
import { messageOf } from "../../domain/errors.ts";
import { type Finding, findingsOf } from "../../domain/findings.ts";
import { idTime } from "../../domain/ids.ts";
import { diskForecast, leastFreeBytes, shownBytes } from "../../domain/sizes.ts";
import { saveBeforeStop } from "../../domain/store.ts";
import { day, shownDuration } from "../../domain/time.ts";
import { databaseFile, lockFile, partIn, pidFile } from "../../store/sqlite/directory.ts";
import { everyMsOf, openBackupDestination } from "../backups/backups.ts";
import { awsVariables, destinationOfOthers } from "../backups/destination.ts";
import { tooSmallFor } from "../backups/open-destination.ts";
import { readCredentials } from "../backups/s3.ts";
import { sizesOf } from "../storage-health.ts";
import { type Check, type DirectoryUse, type Subject, statsOf } from "./subject.ts";

/*
 * Checks of the data directory, its disk and its backups.
 */

export const directoryCheck: Check = {
  name: "data_directory",
  examines: "it exists, and this user may write in it",
  places: ["server", "doctor"],
  async *run(subject, { ok, warning, wrong, skipped }) {
    const { directory, place } = subject;
    if (directory === null) return;
    if (place === "server") {
      const { problem = null, isPostponed = false } = (await subject.file) ?? {};
      if (isPostponed) return yield skipped(`the data directory was not read. ${problem}`);
      return yield problem === null
        ? skipped("the database pages were not read, because that takes long", '"onair doctor" reads them')
        : wrong(`the data directory cannot be read: ${problem}`, "check the disk and the log");
    }
    const said = { usable: ok, "without a database": warning };
    const { use } = subject;
    const lost = use === "without a database" ? lostDatabase(directory, subject.holder) : null;
    if (lost !== null) return yield wrong(...lost);
    const [message, advice] = uses[use](directory);
    yield (use === "usable" || use === "without a database" ? said[use] : wrong)(message, advice);
  },
};

const uses: Readonly<Record<DirectoryUse, (data: string) => [message: string, advice?: string]>> = {
  "out of reach": (data) => [
    `this user cannot access ${data}`,
    "run this as the user of the server, or correct the path",
  ],
  missing: (data) => [
    `there is no directory ${data}`,
    'name another one with --data, or let "onair serve" create it',
  ],
  "not a directory": (data) => [`${data} is not a directory`, "name another one with --data"],
  "read-only": (data) => [
    `the file system of ${data} is mounted read-only`,
    "see the kernel log for the reason, and mount it read-write",
  ],
  "not writable": (data) => [
    `this user cannot write in ${data}`,
    "run this as the user of the server, or chown the directory",
  ],
  "without a database": (data) => [
    `${data} has no database yet`,
    '"onair serve" creates one; "onair restore" restores one from a backup',
  ],
  usable: (data) => [`${data} exists, and this user can write in it`],
};

/** What is wrong with a directory whose database was removed, and what to do; null where it may have had none. */
function lostDatabase(data: string, holder: Subject["holder"]): [message: string, advice: string] | null {
  const part = partIn(data);
  // A restore or a copy may be in progress.
  if (holder !== null && (part === null || part.file.startsWith(databaseFile)))
    return [
      `process ${holder.pid ?? "(unknown)"} uses ${data}, and its database is missing`,
      `move ${databaseFile} back, and restart the server. ${saveBeforeStop}`,
    ];
  if (holder !== null || part === null) return null;
  return [part.message, part.advice];
}

export const fileModesCheck: Check = {
  name: "file_modes",
  examines:
    "files with secrets, in `doctor` also backups, have mode 0600, and all belong to one user; a warning if everybody can read a file of a secret or a TLS key that the settings name",
  places: ["server", "doctor"],
  async *run(subject, say) {
    if (subject.doctor.withData) yield* secretFiles(subject, say);
    const data = await subject.openDirectory;
    // A server leaves out the backups: calls on their directory may hang, and its main thread answers requests.
    if (data !== null) yield* dataFiles(data, subject.place !== "server", say);
  },
};

type Say = ReturnType<typeof findingsOf>;

/** Warns of files with secret settings that every user can read; access by a group is allowed. */
function* secretFiles({ secretFiles }: Subject, { warning }: Say): Generator<Finding> {
  for (const path of process.platform === "win32" ? [] : secretFiles) {
    const stats = statsOf(path);
    if (stats && stats !== "out of reach" && (stats.mode & 0o007) !== 0)
      yield warning(
        `${path} holds a secret, and every user of this machine can read it (mode ${modeOf(stats)})`,
        `chmod o= ${path}`,
      );
  }
}

/** Files of a data directory that hold no secrets. */
const open: readonly string[] = [lockFile, `${lockFile}-journal`, pidFile];
const ours = /^(onair\.|dev\.json$)/;
const listed = 10;

/** Checks that other users cannot read or change the files of a data directory. */
function* dataFiles(data: string, withBackups: boolean, say: Say): Generator<Finding> {
  if (process.platform === "win32") return yield say.skipped("Windows has no file modes");
  const directory = statSync(data);
  const files = filesOf(data, withBackups);
  const isOpen = (directory.mode & 0o022) !== 0;
  if (isOpen)
    yield say.wrong(
      `other users can change files in ${data} (mode ${modeOf(directory)})`,
      `chmod 700 ${data}`,
    );
  const readable = files.filter(({ isSecret, stats }) => isSecret && (stats.mode & 0o077) !== 0);
  for (const { path, stats } of readable.slice(0, listed))
    yield say.wrong(
      `${path} holds secrets, and other users can read it (mode ${modeOf(stats)})`,
      `chmod 600 ${path}`,
    );
  if (readable.length > listed) yield say.wrong(`the same for ${readable.length - listed} more files`);
  const foreign = files.find(({ stats }) => stats.uid !== directory.uid);
  if (foreign)
    yield say.wrong(
      `${foreign.path} belongs to user ${foreign.stats.uid}, but ${data} to user ${directory.uid}`,
      `chown -R ${directory.uid} ${data}, if that is the user of the server`,
    );
  if (!isOpen && readable.length === 0 && !foreign)
    yield say.ok(`${files.length} files, accessible only to their owner`);
}

const modeOf = ({ mode }: Stats) => (mode & 0o777).toString(8).padStart(4, "0");

interface FoundFile {
  readonly path: string;
  readonly stats: Stats;
  readonly isSecret: boolean;
}

function filesOf(data: string, withBackups: boolean): FoundFile[] {
  const backups = join(data, "backups");
  const own = readdirSync(data).filter((name) => ours.test(name));
  const areKept = withBackups && statSync(backups, { throwIfNoEntry: false })?.isDirectory();
  const kept = areKept ? readdirSync(backups) : [];
  const paths = [...own.map((name) => join(data, name)), ...kept.map((name) => join(backups, name))];
  return paths.flatMap((path) => {
    const stats = statSync(path, { throwIfNoEntry: false });
    return stats?.isFile()
      ? [{ path, stats, isSecret: !open.some((name) => path === join(data, name)) }]
      : [];
  });
}

export const diskSpaceCheck: Check = {
  name: "disk_space",
  examines: "at least 256 MB; a warning if there is no space for a backup",
  places: ["server", "doctor"],
  async *run(subject) {
    const data = await subject.openDirectory;
    if (data === null) return;
    const { free_bytes, database_bytes } = sizesOf(data);
    yield spaceFinding(data, free_bytes, database_bytes);
  },
};

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

/** A forecast of less time than this is a warning. */
const soonFullMs = 7 * day;

export const diskForecastCheck: Check = {
  name: "disk_forecast",
  examines:
    "shown only if the disk is filling up: growth a day over the last week, and when it will be full; a warning within 7 days",
  places: ["server", "doctor"],
  async *run(subject, { ok, warning }) {
    const data = await subject.openDirectory;
    const facts = (await subject.file)?.facts;
    if (data === null || !facts) return;
    const now = subject.now();
    const { usedPerDay, fullAt } = diskForecast(facts.freeBefore, sizesOf(data).free_bytes, now);
    if (usedPerDay === null || fullAt === null) return;
    const left = fullAt - now;
    const found = `the disk of ${data} fills by ${shownBytes(usedPerDay)} a day, and will be full in ${shownDuration(left)}`;
    yield left > soonFullMs
      ? ok(found)
      : warning(found, "free some space, or keep less data: --max-data-size, --keep-delivered-days");
  },
};

export const backupsCheck: Check = {
  name: "backups",
  examines:
    "age of the newest; wrong if older than two periods of `--backup-every`; a warning if there is no space for the next one; S3 only with `--reach`, which rewrites the id there",
  places: ["config", "doctor"],
  async *run(subject, say) {
    if (subject.place === "config") yield* credentials(subject, say);
    else if (await subject.file) yield* keptBackups(subject, say);
  },
};

/** Warns of missing credentials for backups to S3. */
function* credentials({ config: { backupTo }, env }: Subject, { warning }: Say): Generator<Finding> {
  if (!backupTo?.startsWith("s3://")) return;
  try {
    readCredentials(awsVariables(env));
  } catch (error) {
    yield warning(
      `backup-to is ${backupTo}. ${messageOf(error)}`,
      "if only the service has them in its environment, that is fine",
    );
  }
}

/** Checks the age of the newest backup, and the destination. */
async function* keptBackups(subject: Subject, { ok, warning, wrong, skipped }: Say): AsyncGenerator<Finding> {
  const { config, env } = subject;
  const { reach } = subject.doctor;
  const data = subject.directory ?? "";
  const dataId = (await subject.file)?.facts?.dataId;
  if (config.backupTo?.startsWith("s3://") && !reach)
    return yield skipped(`${config.backupTo} was not checked`, "check it with --reach");
  try {
    const { settings, destination, location } = await openBackupDestination(data, config, awsVariables(env));
    const owner = await destination.owner();
    if (owner !== null && dataId !== undefined && owner !== dataId) throw destinationOfOthers(location);
    if (owner !== null && reach && !(await destination.keepsFirst(owner)))
      yield warning(
        `two servers that start at the same moment could both use ${location}: this storage ignores If-None-Match`,
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
    const age = times.length === 0 ? null : Math.max(0, subject.now() - Math.max(...times));
    const found =
      age === null
        ? `no backup in ${location}`
        : `${times.length} in ${location}, the newest ${shownDuration(age)} old`;
    if (everyMs === null) return yield ok(`${found}; automatic backups are off (--backup-every)`);
    if (age === null) return yield warning(`${found}, although --backup-every is set`, make);
    if (age > 2 * everyMs) return yield wrong(`${found}: that is more than twice --backup-every`, make);
    yield ok(found);
  } catch (error) {
    yield wrong(messageOf(error));
  }
}
