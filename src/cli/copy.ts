import { StoreError } from "../domain/store.ts";
import { type Environment, readSecret } from "../server/settings/read-config.ts";
import { storageAt } from "../server/storage-at.ts";
import { type CopiedData, type CopyTarget, type DataStorage, moved } from "../store/data-storage.ts";
import {
  type DataLocation,
  namedDataLocation,
  readDatabaseUrl,
  shownDataLocation,
  shownLocation,
} from "../store/location.ts";
import { copiedTables } from "../store/sqlite/copy.ts";
import { attempts } from "../store/sqlite/schema.ts";
import { command, switches, valued } from "./arguments.ts";
import { requireDatabase } from "./calls/target.ts";
import { UsageError } from "./command.ts";
import type { Output } from "./output/output.ts";
import { counted, note, print, showProgress, stopwatch, table } from "./output/print.ts";

const help = `Usage: onair copy --from SOURCE --to TARGET [options]

Moves all data from a data directory to a PostgreSQL database, or back: users, applications with
their secrets, tokens, subscriptions with their sequences, deliveries with their attempts (pending
ones too), keys and settings. First stop all servers of the source. The target must be empty: a
directory without a database, or a new database.

  --from SOURCE  the source: a data directory, or postgres://user@host/database
  --to TARGET    the target, likewise
  --reopen       copy nothing; let servers use --from again after it was copied. Only if nothing
                 uses the copy, because otherwise both would send the same deliveries
  --json         print what was copied as JSON

The URLs must not have a password. If a database needs one, set ONAIR_DATABASE to its whole URL, or
put that into a file and its path into ONAIR_DATABASE_FILE.

At the start, the source is marked as moved, so that no server uses or changes it; it keeps its
data. No server uses the target before the copy is complete: at the end, the rows of both sides are
counted. An interrupted copy leaves the target empty; repeat the command to begin again. A damaged
body of an event is not copied; the event is named.

Exit code: 0 if everything is copied, 1 on failure, 2 for wrong usage, or a source or target that
cannot be used.
`;

export const copy = command({
  summary: "move all data from a data directory to PostgreSQL, or back",
  help,
  options: { ...valued("from", "to"), ...switches("reopen", "json") },
  async run({ values, env, out, mistakes }) {
    const from = readLocation("--from", values.from, env, mistakes);
    if (from !== null && "directory" in from) requireDatabase(from.directory, "--from", mistakes);
    if (values.reopen && values.to !== undefined) mistakes.push("--reopen excludes --to");
    const to = values.reopen ? null : readLocation("--to", values.to, env, mistakes);
    if (mistakes.length > 0 || from === null) throw new UsageError(mistakes.join("\n"));
    if (to === null) await reopen(from);
    else await copyAll(from, to, out);
  },
});

function readLocation(
  option: string,
  text: string | undefined,
  env: Environment,
  mistakes: string[],
): DataLocation | null {
  const wrong = (mistake: string) => {
    mistakes.push(`${option}${mistake}`);
    return null;
  };
  if (!text)
    return wrong(" is missing: name a data directory, or a database like postgres://onair@host/onair");
  if (!/^[a-z]+:\/\//.test(text)) return { directory: text };
  try {
    const named = readDatabaseUrl(text);
    if (named.password !== "")
      return wrong(
        " must be without a password, because other users of the machine can see it: remove it here, and set ONAIR_DATABASE to the whole URL, or ONAIR_DATABASE_FILE to a file with it",
      );
    const secret = readSecret(env, "ONAIR_DATABASE");
    const isSame = secret !== undefined && shownLocation(readDatabaseUrl(secret)) === shownLocation(named);
    return { database: { url: isSame ? secret : text, direct: null, connections: 1 } };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return wrong(`, or ONAIR_DATABASE, ${error.message}`);
  }
}

/** Removes the mark of data that was moved. */
async function reopen(from: DataLocation): Promise<void> {
  const location = shownDataLocation(from);
  const source = await (await storageAt(from)).openToCopy();
  try {
    const isMarked = (await source.mark()) !== null;
    await source.setMark(null);
    await print(isMarked ? `${location} can be served again.` : `${location} was not marked as moved.`);
  } finally {
    await source.close();
  }
}

/** Returns the command that serves the data. A password is not shown; it stays in its variable. */
function serving(location: DataLocation): string {
  if ("directory" in location) return `onair serve --data ${location.directory}`;
  const { url } = location.database;
  if (readDatabaseUrl(url).password !== "")
    return "onair serve, with the same ONAIR_DATABASE or ONAIR_DATABASE_FILE";
  return `onair serve --database "${url}"`;
}

async function copyAll(from: DataLocation, to: DataLocation, out: Output): Promise<void> {
  const took = stopwatch();
  const progress = { bytes: 0, totalBytes: null, rows: 0, totalRows: 0 };
  let display: { end(): void } | null = null;
  const shown = (rows: number, totalRows: number) => {
    Object.assign(progress, { rows, totalRows });
    display ??= showProgress(progress);
  };
  const { counts, damagedBodies } = await copyData(await storageAt(from), await storageAt(to), shown).finally(
    () => display?.end(),
  );
  const [source, target] = [shownDataLocation(from), shownDataLocation(to)];
  const rows = Object.entries(counts).map(([noun, count]) => [noun, counted(count)]);
  await out.answer(
    { from: source, to: target, copied: counts, damaged_bodies: damagedBodies },
    [
      `Everything was copied from ${source} to ${target} ${took()}. To serve it: ${serving(to)}`,
      "",
      table(["NOUN", "COPIED"], rows),
      "",
      `${source} keeps its data, but no server can use it any more.`,
    ].join("\n"),
  );
  if (damagedBodies.length > 0 && !out.json)
    note(
      `These events were copied without their body, which is damaged in ${source}: ${damagedBodies.join(", ")}. Their pending deliveries will fail; the platform can publish the events again under new ids.`,
    );
}

/** Called with the rows copied so far and all rows of the source. */
type CopyProgress = (rows: number, totalRows: number) => void;

/**
 * Copies all data from a location that no server uses to an empty one, and marks the source as moved. The target cannot
 * be used before it is complete. A copy that fails leaves the target empty and the source unmarked. When the last step
 * fails, the source stays marked, because the target may be complete. Returns the rows of each table, and the ids of
 * events copied without their bodies, because the source could not read them. Throws `StoreError`.
 */
export async function copyData(from: DataStorage, to: DataStorage, progress: CopyProgress) {
  const place = shownDataLocation(to.location);
  const source = await from.openToCopy();
  let [isBegun, isMarkKept] = [false, true];
  try {
    const marked = await source.mark();
    if (marked !== null && marked !== place)
      throw moved(shownDataLocation(from.location), namedDataLocation(from.location), marked);
    isMarkKept = marked !== null;
    await source.setMark(place);
    return await source.read((data) =>
      to.copyTo([...copiedTables.values()], async (target) => {
        isBegun = true;
        const counts = await copyRows(data, target, progress);
        isMarkKept = true;
        return { counts, damagedBodies: data.damagedBodies };
      }),
    );
  } catch (error) {
    if (!isMarkKept) await source.setMark(null).catch(() => {}); // the first error is the one to report
    if (!isBegun) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new StoreError(
      `${reason.replace(/\.?$/, ".")} The copy was interrupted: run the same command to begin it again.`,
    );
  } finally {
    await source.close();
  }
}

/** Returns the rows of each table, and of attempts, which are copied with their deliveries. */
async function copyRows(
  data: CopiedData,
  target: CopyTarget,
  progress: CopyProgress,
): Promise<Readonly<Record<string, number>>> {
  const counts: Record<string, number> = {};
  let [copied, total] = [0, 0];
  for (const [name, table] of copiedTables) total += counts[name] = await data.count(table);
  counts["attempts"] = await data.count(attempts);
  progress(copied, total);
  for (const table of copiedTables.values()) {
    for await (const rows of data.rows(table)) {
      await target.add(table, rows);
      copied += rows.length;
      progress(copied, total);
    }
  }
  await target.derive();
  for (const [name, table] of [...copiedTables, ["attempts", attempts] as const]) {
    const there = await target.count(table);
    if (there !== counts[name])
      throw new StoreError(`The source has ${counts[name]} ${name}, but the target has ${there}`);
  }
  return counts;
}
