import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { backupBeforeUpgrade } from "../backups/before-upgrade.ts";
import { backupsOfPostgres } from "../backups/elsewhere.ts";
import { databaseFile } from "../store/sqlite/database/directory.ts";
import { type DirectoryLock, lockDirectory } from "../store/sqlite/database/lock.ts";
import { look, type SchemaState, schemaState } from "../store/sqlite/database/look.ts";
import { upgradeDatabase } from "../store/sqlite/database/open.ts";
import { version } from "../version.ts";
import { command, switches, valued } from "./arguments.ts";
import { placeOfCommand } from "./client/target.ts";
import { migratePostgres } from "./operations/migrate-postgres.ts";
import { counted, stopwatch } from "./output/format.ts";
import { checkOutputFile } from "./output/output-file.ts";
import { print, table } from "./output/print.ts";
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
  async run({ values, env, mistakes, check }) {
    const { "dry-run": dryRun = false, "rebuild-search": rebuildSearch = false, backup = null } = values;
    const place = placeOfCommand(values, env);
    if ("database" in place) {
      if (backup !== null) mistakes.push(`--backup is for a data directory. ${backupsOfPostgres}`);
      if (rebuildSearch) mistakes.push("--rebuild-search is for a data directory");
      check();
      return migratePostgres(place.database, { dryRun, json: values.json === true });
    }
    const { directory: data } = place;
    if (dryRun && (backup !== null || rebuildSearch))
      mistakes.push("--dry-run changes nothing: it goes with neither --backup nor --rebuild-search");
    if (backup !== null && existsSync(backup)) mistakes.push(`${backup} exists; name another file`);
    else if (backup !== null) checkOutputFile(backup, { force: false }, mistakes);
    if (!existsSync(join(data, databaseFile)))
      mistakes.push(`There is no data in ${data}; name its directory with --data`);
    check();
    const took = stopwatch();
    const planned = { data, backup, rebuildSearch };
    const before = dryRun ? look(data, schemaState) : await upgrade(planned);
    await print(
      values.json ? JSON.stringify(asJson(before, planned, dryRun)) : told(before, planned, dryRun, took()),
    );
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
      process.stderr.write(
        "There is no way back to the older version but a backup; --backup makes one first.\n",
      );
  } catch (error) {
    lock.close();
    throw error;
  }
  await withProgress(data, lock, before, rebuildSearch);
  return before;
}

async function makeBackup(data: string, file: string): Promise<void> {
  const progress: Progress = { bytes: 0, totalBytes: statSync(join(data, databaseFile)).size, rows: null };
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
    applying: (name) => process.stderr.write(`Applying ${name} …\n`),
    indexed(users) {
      progress.rows = users;
    },
  }).finally(() => display.end());
}

/** The migrations as JSON; `migrated` are those applied by this run. */
function asJson({ applied, pending, isSearchReady, users }: SchemaState, planned: Planned, dryRun: boolean) {
  const isIndexed = isSearchReady && !planned.rebuildSearch;
  return {
    data: planned.data,
    version,
    dry_run: dryRun,
    from: applied.at(-1) ?? null,
    to: pending.at(-1) ?? applied.at(-1) ?? null,
    migrations: [
      ...applied.map((name) => ({ name, state: "applied" })),
      ...pending.map((name) => ({ name, state: dryRun ? "pending" : "migrated" })),
    ],
    search_index: isIndexed ? "ready" : dryRun ? "pending" : "migrated",
    users,
    backup: planned.backup,
  };
}

function told(state: SchemaState, planned: Planned, dryRun: boolean, took: string): string {
  const { data, from, to, migrations, search_index, users } = asJson(state, planned, dryRun);
  const rows = migrations.map((one) => [one.state, one.name]);
  if (search_index !== "ready")
    rows.push([search_index, `the index of the search, of ${counted(users)} users`]);
  const isChanged = rows.some(([word]) => word !== "applied");
  const range = from === to ? `${to}` : `${from ?? "nothing"} to ${to}`;
  const head = !isChanged
    ? `${data} has the form of onair ${version} (${to}).`
    : dryRun
      ? `${data} is to be brought from ${range} for onair ${version}. Nothing was changed.`
      : `${data} has the form of onair ${version} now (${range}), ${took}.`;
  const advice = `Make a backup first: onair migrate --data ${data} --backup FILE makes one and then migrates.`;
  const kept = planned.backup === null ? [] : ["", `The database as it was is in ${planned.backup}.`];
  return [
    head,
    "",
    table(["STATE", "MIGRATION"], rows),
    ...(dryRun && isChanged ? ["", advice] : []),
    ...kept,
  ].join("\n");
}
