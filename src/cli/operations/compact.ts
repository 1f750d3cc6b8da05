import { compactDatabase } from "../../store/sqlite/database/compact.ts";
import { lockDirectory } from "../../store/sqlite/database/lock.ts";
import { command, switches, valued } from "../arguments.ts";
import { requireDatabase } from "../client/require-data.ts";
import { locationOfCommand } from "../client/target.ts";
import { UsageError } from "../command.ts";
import { megabytes, stopwatch } from "../output/format.ts";

const help = `Usage: onair compact [options]

Rewrites the database file without its free space, which returns that space to the disk. This is
needed only once, for a database made by an earlier version: afterwards, and in every new database,
a running server returns free space by itself.

  --data DIR     the data directory (ONAIR_DATA, default: onair-data); no server may use it
  --config FILE  instead: the data directory of this settings file of "onair serve" (ONAIR_CONFIG)
  --json         print the sizes as JSON

The new file replaces the old one only when it is complete, checked and on disk; an interruption
leaves one of the two intact. The disk needs as much free space as the data uses. Exit code: 0 on
success, 1 on failure, 2 for wrong usage.
`;

export const compact = command({
  summary: "return the free space of the database to the disk",
  help,
  options: { ...valued("data", "config"), ...switches("json") },
  async run({ values, env, out, mistakes, check }) {
    const location = locationOfCommand(values, env);
    if ("database" in location) {
      throw new UsageError(
        "PostgreSQL compacts its databases itself (VACUUM); compact needs a data directory: name it with --data",
      );
    }
    const { directory } = location;
    requireDatabase(directory, "--data", mistakes);
    check();
    const took = stopwatch();
    const lock = lockDirectory(directory);
    try {
      const { beforeBytes, afterBytes } = compactDatabase(directory);
      const [before, after] = [beforeBytes, afterBytes].map(megabytes);
      await out.answer(
        { data: directory, before_bytes: beforeBytes, after_bytes: afterBytes },
        `The database in ${directory} was compacted from ${before} MB to ${after} MB ${took()}. From now on, a running server returns free space by itself.`,
      );
    } finally {
      lock.close();
    }
  },
});
