import { statSync } from "node:fs";
import { awsVariables, readPlace } from "../../backups/place.ts";
import { type BackupSource, fileSource, restoreBackup } from "../../backups/restore.ts";
import { readConfig } from "../../config/read-config.ts";
import { variablesOf } from "../../config/setting-names.ts";
import { backupsOfPostgres } from "../../domain/backups.ts";
import type { DatabaseCounts } from "../../store/sqlite/database/backup.ts";
import { command, type Given, switches, valued } from "../arguments.ts";
import { UsageError } from "../command.ts";
import { sizeOf } from "../input.ts";
import { countOf, stopwatch } from "../output/format.ts";
import { note } from "../output/print.ts";
import { type Progress, showProgress } from "../output/progress.ts";
import { keptSource, placeHelp, placeOptions, readNamedPlace } from "./kept-backups.ts";

const help = `Usage: onair restore <file> [options]
       onair restore [<id>] --from PLACE [options]
       onair restore --config FILE [options]

Makes a backup the database of a data directory that has none, and that no server uses. With
--from it is the newest of a place, or the one with the id. It is copied and checked: its hash,
every page and index, whether it is of onair, and whether this version knows its form. Then a
server can be started there, by the user who restored it. It sends nothing before "onair
deliveries release", because the server of which it is a copy may be sending the same.

  --data DIR     the data directory, made where missing (ONAIR_DATA, default: onair-data)
  --config FILE  the file of settings of "onair serve" (ONAIR_CONFIG), for its data directory; it
                 also names the place, where there is neither a file nor --from
${placeHelp("")}
  --identity FILE
                 the secret key of age (AGE-SECRET-KEY-1…) for a backup that is encrypted
  --json         print what was restored as JSON

It is restored as a whole or not at all. Exit code: 0 when it is done, 1 when it failed, 2 for
wrong usage.
`;

const options = { ...placeOptions, ...valued("data", "config", "identity"), ...switches("json") };

export const restore = command({
  summary: "make a backup the database of a data directory",
  help,
  options,
  most: 1,
  async run({ words: [named], values, env, out, mistakes, check }) {
    const options = (["data", "config"] as const).flatMap((name) =>
      values[name] === undefined ? [] : `--${name}=${values[name]}`,
    );
    const settings = readConfig(options, variablesOf(env, "config", "data"));
    const { data, backupTo, backupEndpoint: endpoint, backupRegion: region } = settings;
    const configured =
      named === undefined && values.config !== undefined && backupTo !== null
        ? readPlace(backupTo, { endpoint, region, aws: awsVariables(env) })
        : null;
    const place = readNamedPlace(values, env, mistakes) ?? configured;
    if (named === undefined && values.from === undefined && configured === null)
      mistakes.push("the file is missing, or --from");
    if (values.from !== undefined && statSync(values.from, { throwIfNoEntry: false })?.isFile())
      mistakes.push(`--from names a place with backups, and ${values.from} is a file: leave out --from`);
    const isInPostgres =
      settings.database !== null || (env["ONAIR_DATABASE"] ?? env["ONAIR_DATABASE_FILE"]) !== undefined;
    if (values.data === undefined && isInPostgres)
      mistakes.push(`onair restore makes a data directory: name it with --data. ${backupsOfPostgres}`);
    const identities = values.identity === undefined ? [] : await readIdentities(values.identity, mistakes);
    check();
    const took = stopwatch();
    const { source, size } = place ? await keptSource(place, named) : sourceOf(named ?? "");
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
      `${data} has the database of ${source.shown} ${took()}: ${shownCounts(counts)}.\n${next(data, values)}`,
    );
  },
});

function sourceOf(file: string): { source: BackupSource; size: number | null } {
  const size = sizeOf(file);
  if (size === null) throw new UsageError(`${file} is not a file`);
  return { source: fileSource(file), size };
}

/** The secret keys in a file of age. */
async function readIdentities(file: string, mistakes: string[]): Promise<string[]> {
  const size = sizeOf(file);
  if (size === null || size > longestKeyFile) {
    mistakes.push(`--identity must name a file with a secret key of age, and ${file} is none`);
    return [];
  }
  const lines = (await Bun.file(file).text()).split("\n").map((line) => line.trim());
  const found = lines.filter((line) => line !== "" && !line.startsWith("#"));
  const { requireIdentity } = await import("../../backups/encryption.ts");
  try {
    if (found.length === 0) throw new TypeError("there is none in it");
    for (const line of found) requireIdentity(line);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    mistakes.push(`${file} must hold secret keys of age (AGE-SECRET-KEY-1…), and ${error.message}`);
  }
  return found;
}

const longestKeyFile = 100_000;

function next(place: string, { config, data }: Given<typeof options>) {
  const settings = config === undefined ? "" : ` --config ${config}`;
  const directory = config === undefined || data !== undefined ? ` --data ${place}` : "";
  return `Start it with: onair serve${settings}${directory}\nIt sends nothing until no other server of this data runs and you say so: onair deliveries release\nIt deletes no older backups before that, because that server may have its own at the same place.`;
}

const shownCounts = ({ users, applications, subscriptions, events }: DatabaseCounts) =>
  [
    countOf(users, "user"),
    countOf(applications, "application"),
    countOf(subscriptions, "subscription"),
    countOf(events, "event"),
  ].join(", ");
