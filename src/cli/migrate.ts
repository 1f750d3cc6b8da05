import { existsSync, statSync } from "node:fs";
import { backupBeforeUpgrade } from "../backups/before-upgrade.ts";
import { type DatabaseSettings, shownDataPlace } from "../data/place.ts";
import { backupsOfPostgres } from "../domain/backups.ts";
import { version } from "../runtime/version.ts";
import { readDatabaseUrl } from "../store/postgres/database/connection-url.ts";
import { openPostgres, schemaOf } from "../store/postgres/database/open.ts";
import { databaseIn } from "../store/sqlite/database/directory.ts";
import { type DirectoryLock, lockDirectory } from "../store/sqlite/database/lock.ts";
import { look, type SchemaState, schemaState } from "../store/sqlite/database/look.ts";
import { upgradeDatabase } from "../store/sqlite/database/open.ts";
import { command, switches, valued } from "./arguments.ts";
import { requireDatabase } from "./client/require-data.ts";
import { placeOfCommand } from "./client/target.ts";
import { counted, stopwatch } from "./output/format.ts";
import type { Output } from "./output/output.ts";
import { checkOutputFile } from "./output/output-file.ts";
import { note, table } from "./output/print.ts";
import { type Progress, showProgress } from "./output/progress.ts";

const help = `Usage: onair migrate [options]

Brings a database to the form of this version, without serving it. "onair serve" does the same at
its start; this shows beforehand what it will do, and while it does it.
Nothing leads back to an older version but a backup, so make one first: --backup does.

  --data DIR         the data directory (ONAIR_DATA, default: onair-data); refused while a server
                     uses it
  --database URL     instead: the PostgreSQL database (ONAIR_DATABASE, ONAIR_DATABASE_FILE); goes
                     beside running servers
  --config FILE      instead: the file of settings of "onair serve" (ONAIR_CONFIG) says which
  --dry-run          only tell what is applied and what is pending; goes beside a running server,
                     too
  --backup FILE      first copy the database into a file that does not exist yet, for "onair
                     restore"
  --rebuild-search   also make the index of the user search anew, which takes 10 seconds for a
                     million users
  --json             print the migrations as JSON

All migrations are applied or none, and what was applied is not applied again. Exit code: 0 when
the database has the form of this version (with --dry-run: when it can be told), 1 when it failed,
2 for wrong usage.
`;

export const migrate = command({
  summary: "bring the database to the form of this version",
  help,
  options: {
    ...valued("data", "database", "config", "backup"),
    ...switches("dry-run", "rebuild-search", "json"),
  },
  async run({ values, env, out, mistakes, check }) {
    const { "dry-run": dryRun = false, "rebuild-search": rebuildSearch = false, backup = null } = values;
    const place = placeOfCommand(values, env);
    if ("database" in place) {
      if (backup !== null) mistakes.push(`--backup is for a data directory. ${backupsOfPostgres}`);
      if (rebuildSearch) mistakes.push("--rebuild-search is for a data directory");
      check();
      return migratePostgres(place.database, dryRun, out);
    }
    const { directory: data } = place;
    if (dryRun && (backup !== null || rebuildSearch))
      mistakes.push("--dry-run changes nothing: it goes with neither --backup nor --rebuild-search");
    if (backup !== null && existsSync(backup)) mistakes.push(`${backup} exists; name another file`);
    else if (backup !== null) checkOutputFile(backup, { force: false }, mistakes);
    requireDatabase(data, "--data", mistakes);
    check();
    const took = stopwatch();
    const planned = { data, backup, rebuildSearch };
    const before = dryRun ? look(data, schemaState) : await upgrade(planned);
    const report = directoryReport(before, planned, dryRun);
    await out.answer(report, toldOfDirectory(report, took()));
  },
});

interface Planned {
  readonly data: string;
  readonly backup: string | null;
  readonly rebuildSearch: boolean;
}

/** @returns the schema state before the upgrade */
async function upgrade({ data, backup, rebuildSearch }: Planned): Promise<SchemaState> {
  const lock = lockDirectory(data);
  let before: SchemaState;
  try {
    before = look(data, schemaState);
    if (backup !== null) await makeBackup(data, backup);
    else if (before.pending.length > 0)
      note("There is no way back to the older version but a backup; --backup makes one first.");
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

/** Brings a database of PostgreSQL to the form of this version, or tells what that would do. Throws a `StoreError`. */
async function migratePostgres(database: DatabaseSettings, dryRun: boolean, out: Output): Promise<void> {
  const settings = readDatabaseUrl(database.direct ?? database.url);
  const took = stopwatch();
  const before = await schemaOf(settings);
  if (!dryRun && before.pending.length > 0)
    await (await openPostgres(settings, { connections: 1 }, noteMigration)).close();
  const place = shownDataPlace({ database });
  const report = reportOf(before, dryRun);
  await out.answer({ database: place, ...report }, told(place, report, took()));
}

const noteMigration = (name: string) => note(`Applying ${name} …`);

/** `migrated` are the migrations applied by this run. */
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

/** The same with what belongs to a directory. */
function directoryReport(state: SchemaState, { data, backup, rebuildSearch }: Planned, dryRun: boolean) {
  const isIndexed = state.isSearchReady && !rebuildSearch;
  const search_index = isIndexed ? "ready" : dryRun ? "pending" : "migrated";
  return { data, ...reportOf(state, dryRun), search_index, users: state.users, backup };
}

function toldOfDirectory(report: ReturnType<typeof directoryReport>, took: string): string {
  const { data, dry_run, migrations, search_index, users, backup } = report;
  const index = { state: search_index, name: `the index of the search, of ${counted(users)} users` };
  const all = search_index === "ready" ? migrations : [...migrations, index];
  const text = told(data, { ...report, migrations: all }, took);
  if (backup !== null) return `${text}\n\nThe database as it was is in ${backup}.`;
  if (!dry_run || all.every(({ state }) => state === "applied")) return text;
  return `${text}\n\nMake a backup first: onair migrate --data ${data} --backup FILE makes one and then migrates.`;
}

function told(
  place: string,
  { dry_run, from, to, migrations }: ReturnType<typeof reportOf>,
  took: string,
): string {
  const rows = migrations.map(({ state, name }) => [state, name]);
  const range = from === to ? `${to}` : `${from ?? "nothing"} to ${to}`;
  const head = migrations.every(({ state }) => state === "applied")
    ? `${place} has the form of onair ${version} (${to}).`
    : dry_run
      ? `${place} is to be brought from ${range} for onair ${version}. Nothing was changed.`
      : `${place} has the form of onair ${version} now (${range}), ${took}.`;
  return `${head}\n\n${table(["STATE", "MIGRATION"], rows)}`;
}
