import { statSync } from "node:fs";
import { resolve } from "node:path";
import { backupsOfPostgres } from "../domain/backups.ts";
import { awsVariables, readDestination } from "../operations/backups/destination.ts";
import { type BackupSource, fileSource, restoreBackup } from "../operations/backups/restore.ts";
import { variablesOf } from "../server/settings/shown-settings.ts";
import type { DatabaseCounts } from "../store/sqlite/backup.ts";
import { command, type OptionValues, switches, valued } from "./arguments.ts";
import { keptSource, readNamedSource, sourceHelp, sourceOptions } from "./backup.ts";
import { readSettings } from "./calls/target.ts";
import { UsageError } from "./command.ts";
import { sizeOf } from "./files.ts";
import { countOf, note, type Progress, showProgress, stopwatch } from "./output/print.ts";

const help = `Usage: onair restore <file> [options]
       onair restore [<id>] --from SOURCE [options]
       onair restore --config FILE [options]

Restores a backup into a data directory that has no database yet and that no server uses. With
--from, it is the newest backup there, or the one with the id. The backup is copied and checked: its
hash, every page and index, and whether this version of onair can use it. Then start a server on the
directory, as the user who owns it. That server sends nothing before "onair deliveries release",
because the original server may still be sending the same deliveries.

  --data DIR     the data directory, created if missing (ONAIR_DATA, default: onair-data)
  --config FILE  the settings file of "onair serve" (ONAIR_CONFIG), for its data directory; without
                 file and --from, it also names the location of the backups
${sourceHelp("")}
  --identity FILE
                 the secret key of age (AGE-SECRET-KEY-1…), for an encrypted backup
  --json         print what was restored as JSON

The data directory gets its database only when everything is copied and checked. Exit code: 0 on
success, 1 on failure, 2 for wrong usage.
`;

const options = { ...sourceOptions, ...valued("data", "config", "identity"), ...switches("json") };

export const restore = command({
  summary: "restore a backup into a data directory",
  help,
  options,
  most: 1,
  async run({ words: [named], values, env, out, mistakes, check }) {
    const settings = readSettings(values, ["data", "config"], variablesOf(env, "config", "data"));
    const { data, backupTo, backupEndpoint: endpoint, backupRegion: region } = settings;
    const configured =
      named === undefined && values.config !== undefined && backupTo !== null
        ? readDestination(backupTo, { endpoint, region, aws: awsVariables(env) })
        : null;
    const kept = readNamedSource(values, env, mistakes) ?? configured;
    if (named === undefined && values.from === undefined && configured === null)
      mistakes.push("Name the file of a backup, or the location of backups with --from");
    if (values.from !== undefined && statSync(values.from, { throwIfNoEntry: false })?.isFile())
      mistakes.push(`--from is for a location of backups, and ${values.from} is a file: leave out --from`);
    const isInPostgres =
      settings.database !== null || (env["ONAIR_DATABASE"] ?? env["ONAIR_DATABASE_FILE"]) !== undefined;
    if (values.data === undefined && isInPostgres)
      mistakes.push(`onair restore needs a data directory: name it with --data. ${backupsOfPostgres}`);
    const identities = values.identity === undefined ? [] : await readIdentities(values.identity, mistakes);
    check();
    const took = stopwatch();
    const { source, size } = kept ? await keptSource(kept, named) : sourceOf(named ?? "");
    const progress: Progress = { bytes: 0, totalBytes: size, rows: null };
    const display = showProgress(progress);
    const { counts, ...restored } = await restoreBackup({
      source,
      identities,
      data,
      wrote(bytes) {
        progress.bytes = bytes;
      },
      checking() {
        display.end();
        if (process.stderr.isTTY) note("Checking it …");
      },
    }).finally(() => display.end());
    await out.answer(
      { data, ...restored, ...counts },
      `${data} has the database of ${source.label} ${took()}: ${shownCounts(counts)}.\n${next(data, values)}`,
    );
  },
});

function sourceOf(file: string): { source: BackupSource; size: number | null } {
  const size = sizeOf(file);
  if (size === null) throw new UsageError(`${file} is not a file`);
  return { source: fileSource(file), size };
}

/** Reads the secret keys in an age identity file. */
async function readIdentities(file: string, mistakes: string[]): Promise<string[]> {
  const size = sizeOf(file);
  if (size === null || size > longestKeyFile) {
    mistakes.push(`--identity must name a file with a secret key of age; ${file} is not such a file`);
    return [];
  }
  const lines = (await Bun.file(file).text()).split("\n").map((line) => line.trim());
  const found = lines.filter((line) => line !== "" && !line.startsWith("#"));
  const { requireIdentity } = await import("../operations/backups/encryption.ts");
  try {
    if (found.length === 0) throw new TypeError("it has none");
    for (const line of found) requireIdentity(line);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    mistakes.push(`${file} must hold secret keys of age (AGE-SECRET-KEY-1…), and ${error.message}`);
  }
  return found;
}

const longestKeyFile = 100_000;

function next(restored: string, { config, data }: OptionValues<typeof options>) {
  const settings = config === undefined ? "" : ` --config ${config}`;
  const directory = config === undefined || data !== undefined ? ` --data ${restored}` : "";
  const later =
    config === undefined || data === undefined
      ? ""
      : `If ${config} names another directory or a database, set data = ${JSON.stringify(resolve(restored))} in it instead: otherwise the next start with that file alone serves the former data, and sends\n`;
  return `Start it with: onair serve${settings}${directory}\n${later}Under systemd, the directory has to be that of the unit: systemctl start onair\nIt sends nothing yet. Once no other server of this data runs, let it send: onair deliveries release\nUntil then it also deletes no old backups, because they may belong to that other server.`;
}

const shownCounts = ({ users, applications, subscriptions, events }: DatabaseCounts) =>
  [
    countOf(users, "user"),
    countOf(applications, "application"),
    countOf(subscriptions, "subscription"),
    countOf(events, "event"),
  ].join(", ");
