import { compactDatabase } from "../../store/sqlite/database/compact.ts";
import { lockDirectory } from "../../store/sqlite/database/lock.ts";
import { command, switches, valued } from "../arguments.ts";
import { requireDatabase } from "../client/require-data.ts";
import { placeOfCommand } from "../client/target.ts";
import { UsageError } from "../command.ts";
import { megabytes, stopwatch } from "../output/format.ts";

const help = `Usage: onair compact [options]

Makes the file of the database anew, without the free space in it, so that the disk has that space
back. For a database that an earlier version has made, once: from then on a running server gives
free space back by itself, as it does for every new database.

  --data DIR     the data directory (ONAIR_DATA, default: onair-data); no server may use it
  --config FILE  instead: the file of settings of "onair serve" (ONAIR_CONFIG) names it
  --json         print the sizes as JSON

The new file takes the place of the old one when it is whole, checked, and on the disk; whenever
this is cut off, the one or the other is there. It needs as much free disk as the data takes. Exit
code: 0 when it is done, 1 when it failed, 2 for wrong usage.
`;

export const compact = command({
  summary: "give the free space of the database back to the disk",
  help,
  options: { ...valued("data", "config"), ...switches("json") },
  async run({ values, env, out, mistakes, check }) {
    const place = placeOfCommand(values, env);
    if ("database" in place) {
      throw new UsageError(
        "A PostgreSQL database compacts itself (VACUUM). Name a data directory with --data",
      );
    }
    const { directory } = place;
    requireDatabase(directory, "--data", mistakes);
    check();
    const took = stopwatch();
    const lock = lockDirectory(directory);
    try {
      const { beforeBytes, afterBytes } = compactDatabase(directory);
      const [before, after] = [beforeBytes, afterBytes].map(megabytes);
      await out.answer(
        { data: directory, before_bytes: beforeBytes, after_bytes: afterBytes },
        `The database of ${directory} has ${after} MB now, ${before} MB before, ${took()}. A running server gives free space back from now on.`,
      );
    } finally {
      lock.close();
    }
  },
});
