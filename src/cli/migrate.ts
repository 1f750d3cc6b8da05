import { existsSync, renameSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { backupsOfPostgres } from "../domain/backups.ts";
import { type Content, syncDirectory, writePrivately } from "../operations/backups/files.ts";
import { version } from "../runtime/version.ts";
import { databaseAt } from "../server/storage-at.ts";
import type { DirectoryLock } from "../store/data-storage.ts";
import { type DatabaseSettings, shownDataLocation } from "../store/location.ts";
import { checkDatabase } from "../store/sqlite/backup.ts";
import { databaseIn, lockDirectory, removeDatabase } from "../store/sqlite/directory.ts";
import {
  inspect,
  type SchemaState,
  schemaState,
  settleDatabase,
  upgradeDatabase,
} from "../store/sqlite/open.ts";
import { command, switches, valued } from "./arguments.ts";
import { locationOfCommand, requireDatabase } from "./calls/target.ts";
import { checkOutputFile } from "./files.ts";
import type { Output } from "./output/output.ts";
import { counted, note, type Progress, showProgress, stopwatch, table } from "./output/print.ts";

const help = `Usage: onair migrate [options]

Upgrades a database to the schema of this version without serving it. "onair serve" does the same at
its start; this command shows what will change, and its progress.
The only way back to an older version is a backup, so make one first: --backup does.

  --data DIR         the data directory (ONAIR_DATA, default: onair-data); refused while a server
                     uses it
  --database URL     instead: the PostgreSQL database (ONAIR_DATABASE, ONAIR_DATABASE_FILE);
                     refused while servers of an earlier version use it
  --config FILE      instead: the data named by this settings file of "onair serve" (ONAIR_CONFIG)
  --dry-run          only list the applied and pending migrations; can run beside a server
  --backup FILE      first copy the database into a new file, for "onair restore"
  --rebuild-search   also rebuild the index of the user search, which takes 10 seconds for a million
                     users
  --json             print the migrations as JSON

Either all pending migrations are applied or none. Exit code: 0 if the database has the schema of
this version (with --dry-run: if it could be read), 1 on failure, 2 for wrong usage.
`;

export const migrate = command({
  summary: "upgrade the database to the schema of this version",
  help,
  options: {
    ...valued("data", "database", "config", "backup"),
    ...switches("dry-run", "rebuild-search", "json"),
  },
  async run({ values, env, out, mistakes, check }) {
    const { "dry-run": dryRun = false, "rebuild-search": rebuildSearch = false, backup = null } = values;
    const location = locationOfCommand(values, env);
    if ("database" in location) {
      if (backup !== null) mistakes.push(`--backup is for a data directory. ${backupsOfPostgres}`);
      if (rebuildSearch) mistakes.push("--rebuild-search is for a data directory");
      check();
      return migratePostgres(location.database, dryRun, out);
    }
    const { directory: data } = location;
    if (dryRun && (backup !== null || rebuildSearch))
      mistakes.push("--dry-run changes nothing, so it excludes --backup and --rebuild-search");
    if (backup !== null && existsSync(backup)) mistakes.push(`${backup} exists already; name another file`);
    else if (backup !== null) checkOutputFile(backup, { force: false }, mistakes);
    requireDatabase(data, "--data", mistakes);
    check();
    const took = stopwatch();
    const planned = { data, backup, rebuildSearch };
    const before = dryRun ? inspect(data, schemaState) : await upgrade(planned);
    const report = directoryReport(before, planned, dryRun);
    await out.answer(report, directoryText(report, took()));
  },
});

interface Planned {
  readonly data: string;
  readonly backup: string | null;
  readonly rebuildSearch: boolean;
}

/** Upgrades the database. Returns the state of the schema before the upgrade. */
async function upgrade({ data, backup, rebuildSearch }: Planned): Promise<SchemaState> {
  const lock = lockDirectory(data);
  let before: SchemaState;
  try {
    before = inspect(data, schemaState);
    if (backup !== null) await makeBackup(data, backup);
    else if (before.pending.length > 0)
      note("The only way back to the older version is a backup; --backup makes one first.");
  } catch (error) {
    lock.close();
    throw error;
  }
  await withProgress(data, lock, before, rebuildSearch);
  return before;
}

async function makeBackup(data: string, file: string): Promise<void> {
  const progress: Progress = { bytes: 0, totalBytes: statSync(databaseIn(data)).size, rows: null };
  const display = showProgress(progress);
  await backupBeforeUpgrade(data, file, (bytes) => {
    progress.bytes = bytes;
  }).finally(() => display.end());
}

async function withProgress(
  data: string,
  lock: DirectoryLock,
  { users: totalRows }: SchemaState,
  rebuildSearch: boolean,
): Promise<void> {
  const progress: Progress = { bytes: 0, totalBytes: null, rows: 0, totalRows };
  const display = showProgress(progress);
  await upgradeDatabase(data, lock, {
    rebuildSearch,
    applying: noteMigration,
    indexed(users) {
      progress.rows = users;
    },
  }).finally(() => display.end());
}

/** Upgrades a PostgreSQL database. With `dryRun`, only reports pending migrations. Throws a `StoreError`. */
async function migratePostgres(database: DatabaseSettings, dryRun: boolean, out: Output): Promise<void> {
  const storage = await databaseAt(database);
  const took = stopwatch();
  const before = await storage.schema();
  if (!dryRun && before.pending.length > 0) await storage.migrate(noteMigration);
  const location = shownDataLocation({ database });
  const report = reportOf(before, dryRun);
  await out.answer({ database: location, ...report }, reportText(location, report, took()));
}

const noteMigration = (name: string) => note(`Applying ${name} …`);

/** Returns the report. Migrations applied by this run are `migrated`. */
function reportOf({ applied, pending }: Pick<SchemaState, "applied" | "pending">, dryRun: boolean) {
  return {
    version,
    dry_run: dryRun,
    from: applied.at(-1) ?? null,
    to: pending.at(-1) ?? applied.at(-1) ?? null,
    migrations: [
      ...applied.map((name) => ({ name, state: "applied" })),
      ...pending.map((name) => ({ name, state: dryRun ? "pending" : "migrated" })),
    ],
  };
}

/** Adds the facts of a data directory to the report. */
function directoryReport(state: SchemaState, { data, backup, rebuildSearch }: Planned, dryRun: boolean) {
  const search_index = rebuildSearch ? "migrated" : "ready";
  return { data, ...reportOf(state, dryRun), search_index, users: state.users, backup };
}

function directoryText(report: ReturnType<typeof directoryReport>, took: string): string {
  const { data, dry_run, migrations, search_index, users, backup } = report;
  const index = { state: search_index, name: `search index of ${counted(users)} users` };
  const all = search_index === "ready" ? migrations : [...migrations, index];
  const text = reportText(data, { ...report, migrations: all }, took);
  if (backup !== null) return `${text}\n\nThe backup from before is in ${backup}.`;
  if (!dry_run || all.every(({ state }) => state === "applied")) return text;
  return `${text}\n\nTo make a backup and then migrate: onair migrate --data ${data} --backup FILE`;
}

function reportText(
  location: string,
  { dry_run, from, to, migrations }: ReturnType<typeof reportOf>,
  took: string,
): string {
  const rows = migrations.map(({ state, name }) => [state, name]);
  const range = from === to ? `${to}` : `${from ?? "nothing"} to ${to}`;
  const head = migrations.every(({ state }) => state === "applied")
    ? `${location} has the schema of onair ${version} (${to}).`
    : dry_run
      ? `${location} needs an upgrade from ${range} for onair ${version}. Nothing was changed.`
      : `${location} was upgraded to the schema of onair ${version} (${range}) ${took}.`;
  return `${head}\n\n${table(["STATE", "MIGRATION"], rows)}`;
}

/**
 * Copies the closed database of a directory into a file. The copy keeps the schema of the version that wrote it, so
 * that "onair restore" of that version accepts the copy. Requires the directory's lock. The file appears complete or
 * not at all. Throws a `StoreError` for a damaged database.
 */
async function backupBeforeUpgrade(
  directory: string,
  file: string,
  wrote: (bytes: number) => void,
): Promise<Content> {
  const partial = `${file}.partial`;
  try {
    const content = await writePrivately(partial, Bun.file(settleDatabase(directory)).stream(), wrote);
    checkDatabase(partial, { thorough: false });
    renameSync(partial, file);
    syncDirectory(dirname(file));
    return content;
  } finally {
    removeDatabase(partial);
  }
}
