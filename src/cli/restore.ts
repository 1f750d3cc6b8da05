import { backupsOfPostgres } from "../backups/elsewhere.ts";
import { restoreBackup } from "../backups/restore.ts";
import { type Environment, readConfig } from "../read-config.ts";
import { noMore, readArguments } from "./arguments.ts";
import { type Command, UsageError } from "./command.ts";
import { sizeOf } from "./input.ts";
import { stopwatch } from "./output/format.ts";
import { print } from "./output/print.ts";
import { type Progress, showProgress } from "./output/progress.ts";

const help = `Usage: onair restore <file> [options]

Makes a backup the database of a data directory that has none, and that no server uses. The file is
copied and checked: every page and index, whether it is of onair, and whether this version knows
its form. Then a server can be started there, by the user who restored it. What was pending when
the backup was made is sent again, under the same ids.

  --data DIR     the data directory, made where missing (ONAIR_DATA, default: onair-data)
  --json         print what was restored as JSON

It is restored as a whole or not at all. Exit code: 0 when it is done, 1 when it failed, 2 for
wrong usage.
`;

const options = { data: { type: "string" }, json: { type: "boolean" } } as const;

export const restore: Command = {
  summary: "make a backup the database of a data directory",
  help,
  options,
  async run(args: readonly string[], env: Environment) {
    const { values, positionals } = readArguments(args, options);
    const [file, ...more] = positionals;
    const mistakes: string[] = [];
    if (file === undefined) mistakes.push("the file is missing");
    noMore(more, mistakes);
    if (values.data === undefined && (env["ONAIR_DATABASE"] ?? env["ONAIR_DATABASE_FILE"]) !== undefined)
      mistakes.push(`onair restore makes a data directory: name it with --data. ${backupsOfPostgres}`);
    if (mistakes.length > 0 || file === undefined) throw new UsageError(mistakes.join("\n"));
    const totalBytes = sizeOf(file);
    if (totalBytes === null) throw new UsageError(`${file} is not a file`);
    const { ONAIR_CONFIG, ONAIR_DATA } = env;
    const { data } = readConfig(values.data === undefined ? [] : [`--data=${values.data}`], {
      ONAIR_CONFIG,
      ONAIR_DATA,
    });
    const took = stopwatch();
    const progress: Progress = { bytes: 0, totalBytes, rows: null };
    const display = showProgress(progress);
    const restored = await restoreBackup({
      file,
      data,
      wrote(bytes) {
        progress.bytes = bytes;
      },
      checking() {
        display.end();
        if (process.stderr.isTTY) process.stderr.write("Checking it …\n");
      },
    }).finally(() => display.end());
    if (values.json) await print(JSON.stringify({ data, ...restored }));
    else await print(`${data} has the database of ${file} ${took()}: onair serve --data ${data}`);
    return 0;
  },
};
