import { StoreError } from "../domain/store.ts";
import { type Environment, readSecret } from "../server/settings/read-config.ts";
import { storageAt } from "../server/storage-at.ts";
import {
  type CopiedData,
  type CopyCounts,
  type CopyTarget,
  type DataStorage,
  moved,
} from "../store/data-storage.ts";
import {
  type DataLocation,
  namedDataLocation,
  readDatabaseUrl,
  shownDataLocation,
  shownLocation,
} from "../store/location.ts";
import { command, switches, valued } from "./arguments.ts";
import { requireDatabase } from "./calls/target.ts";
import { UsageError } from "./command.ts";
import type { Output } from "./output/output.ts";
import { counted, note, type Progress, print, showProgress, stopwatch, table } from "./output/print.ts";

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
  if (text === undefined || text === "") {
    mistakes.push(
      `${option} is missing: name a data directory, or a database like postgres://onair@host/onair`,
    );
    return null;
  }
  if (!/^[a-z]+:\/\//.test(text)) return { directory: text };
  try {
    const named = readDatabaseUrl(text);
    if (named.password !== "") {
      mistakes.push(
        `${option} must be without a password, because other users of the machine can see it: remove it here, and set ONAIR_DATABASE to the whole URL, or ONAIR_DATABASE_FILE to a file with it`,
      );
      return null;
    }
    const secret = readSecret(env, "ONAIR_DATABASE");
    const isSame = secret !== undefined && shownLocation(readDatabaseUrl(secret)) === shownLocation(named);
    return { database: { url: isSame ? secret : text, direct: null, connections: 1 } };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    mistakes.push(`${option}, or ONAIR_DATABASE, ${error.message}`);
    return null;
  }
}

async function reopen(from: DataLocation): Promise<void> {
  const wasMarked = await reopenData(await storageAt(from));
  const location = shownDataLocation(from);
  await print(wasMarked ? `${location} can be served again.` : `${location} was not marked as moved.`);
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
  let display: { end(): void } | null = null;
  const progress: Progress & { rows: number } = { bytes: 0, totalBytes: null, rows: 0 };
  const { counts, damagedBodies } = await copyData(await storageAt(from), await storageAt(to), {
    counted({ attempts: _, ...rows }) {
      const totalRows = Object.values(rows).reduce((sum, count) => sum + count, 0);
      display = showProgress(Object.assign(progress, { totalRows }));
    },
    copied(rows) {
      progress.rows += rows;
    },
  }).finally(() => display?.end());
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

/** The result of a copy. */
interface Copied {
  readonly counts: CopyCounts;
  /** The ids of events copied without their bodies, because the source could not read them. */
  readonly damagedBodies: readonly string[];
}

/** Callbacks for the progress of a copy. */
interface CopyProgress {
  /** Called with the rows of each table in the source. */
  counted(counts: CopyCounts): void;
  copied(rows: number): void;
}

/**
 * Copies all data from a location that no server uses to an empty one, and marks the source as moved. The target cannot
 * be used before it is complete. A copy that fails leaves the target empty and the source unmarked. When the last step
 * fails, the source stays marked, because the target may be complete. Throws `StoreError`.
 */
export async function copyData(from: DataStorage, to: DataStorage, progress: CopyProgress): Promise<Copied> {
  const place = shownDataLocation(to.location);
  const source = await from.openToCopy();
  let isBegun = false;
  try {
    const marked = await source.mark();
    if (marked !== null && marked !== place)
      throw moved(shownDataLocation(from.location), namedDataLocation(from.location), marked);
    let isMarkKept = marked !== null;
    try {
      await source.setMark(place);
      return await source.read((data) =>
        to.copyTo(async (target) => {
          isBegun = true;
          const copied = await copyRows(data, target, progress);
          isMarkKept = true;
          return copied;
        }),
      );
    } catch (error) {
      if (!isMarkKept) await source.setMark(null).catch(() => {}); // the first error is the one to report
      throw error;
    }
  } catch (error) {
    if (!isBegun) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new StoreError(
      `${reason.replace(/\.?$/, ".")} The copy was interrupted: run the same command to begin it again.`,
    );
  } finally {
    await source.close();
  }
}

async function copyRows(data: CopiedData, target: CopyTarget, progress: CopyProgress): Promise<Copied> {
  const counts = await data.counts();
  progress.counted(counts);
  for await (const rows of data.rows()) {
    await target.add(rows);
    progress.copied(rows.rows.length);
  }
  await target.derive();
  const copied = await target.counts();
  for (const [table, count] of Object.entries(counts)) {
    if (copied[table] === count) continue;
    throw new StoreError(`The source has ${count} ${table}, but the target has ${copied[table]}`);
  }
  return { counts, damagedBodies: data.damagedBodies };
}

/** Removes the mark of data that was moved. Returns false when there is none. Throws `StoreError`. */
async function reopenData(from: DataStorage): Promise<boolean> {
  const source = await from.openToCopy();
  try {
    const isMarked = (await source.mark()) !== null;
    await source.setMark(null);
    return isMarked;
  } finally {
    await source.close();
  }
}
