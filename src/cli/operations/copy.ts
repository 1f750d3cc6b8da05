import { type Environment, readSecret } from "../../config/read-config.ts";
import { copyData, reopenData } from "../../data/copy.ts";
import { type DataPlace, shownDataPlace } from "../../data/place.ts";
import { AlreadyCopied, type CopyCounts, copiedNouns } from "../../store/operations/copy.ts";
import { readDatabaseUrl, shownPlace } from "../../store/postgres/database/connection-url.ts";
import { command, switches, valued } from "../arguments.ts";
import { requireDatabase } from "../client/require-data.ts";
import { UsageError } from "../command.ts";
import { counted, stopwatch } from "../output/format.ts";
import type { Output } from "../output/output.ts";
import { note, print, table } from "../output/print.ts";
import { type Progress, showProgress } from "../output/progress.ts";

const help = `Usage: onair copy --from PLACE --to PLACE [options]

Moves everything from a data directory to a PostgreSQL database, or back: users, applications with
their secrets, tokens, subscriptions with their sequences, deliveries with their attempts, those
that are pending too, keys and settings. Stop all servers of the source first. The target must be
empty: a directory without a database, or a new database.

  --from PLACE   what is copied: a data directory, or postgres://user@host/database
  --to PLACE     where to, likewise
  --reopen       copies nothing: lets servers use --from again, after a copy of it. Only where
                 nothing uses that copy, for else both send
  --json         print what was copied as JSON

A URL is without a password. Where it needs one, ONAIR_DATABASE, or the file that
ONAIR_DATABASE_FILE names, has the whole URL of the same database with it.

The source is marked as moved from the beginning, so that no server uses or changes it; it keeps its
data. A copy that was cut off goes on with the same command, and no server uses the target before it
is complete: both sides are counted at the end. A copy that is complete says since when, and copies
nothing. The damaged body of an event does not come over: the event is named. Exit code: 0 when
everything is copied, 1 when it failed, 2 for wrong usage, and for places that cannot be used.
`;

export const copy = command({
  summary: "move everything from a data directory to PostgreSQL, or back",
  help,
  options: { ...valued("from", "to"), ...switches("reopen", "json") },
  async run({ values, env, out, mistakes }) {
    const from = readPlace("--from", values.from, env, mistakes);
    if (from !== null && "directory" in from) requireDatabase(from.directory, "--from", mistakes);
    if (values.reopen && values.to !== undefined) mistakes.push("--reopen goes without --to");
    const to = values.reopen ? null : readPlace("--to", values.to, env, mistakes);
    if (mistakes.length > 0 || from === null) throw new UsageError(mistakes.join("\n"));
    if (to === null) await reopen(from);
    else
      await copyAll(from, to, out).catch((error) => {
        if (error instanceof AlreadyCopied) return showCompleted(from, to, error.at, out);
        throw error;
      });
  },
});

function readPlace(
  option: string,
  text: string | undefined,
  env: Environment,
  mistakes: string[],
): DataPlace | null {
  if (text === undefined || text === "") {
    mistakes.push(`${option} is missing: a data directory, or a database like postgres://onair@host/onair`);
    return null;
  }
  if (!/^[a-z]+:\/\//.test(text)) return { directory: text };
  try {
    const named = readDatabaseUrl(text);
    if (named.password !== "") {
      mistakes.push(
        `${option} must be without a password, which others can see: set ONAIR_DATABASE or ONAIR_DATABASE_FILE`,
      );
      return null;
    }
    const secret = readSecret(env, "ONAIR_DATABASE");
    const isSame = secret !== undefined && shownPlace(readDatabaseUrl(secret)) === shownPlace(named);
    return { database: { url: isSame ? secret : text, direct: null, connections: 1 } };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    mistakes.push(`${option}, or ONAIR_DATABASE, ${error.message}`);
    return null;
  }
}

async function reopen(from: DataPlace): Promise<void> {
  const wasMarked = await reopenData(from);
  const place = shownDataPlace(from);
  await print(wasMarked ? `${place} can be served again.` : `${place} was not marked as moved.`);
}

/** The same copy again, of which everything was done. */
function showCompleted(from: DataPlace, to: DataPlace, at: string, out: Output): Promise<void> {
  const [source, target] = [shownDataPlace(from), shownDataPlace(to)];
  return out.answer(
    { from: source, to: target, copied: null, completed_at: at },
    `${target} has everything of ${source} since ${at}, so nothing was copied now. Serve it: ${serving(to)}`,
  );
}

/** The command that serves a place. A password stays in the variable that has it. */
function serving(place: DataPlace): string {
  if ("directory" in place) return `onair serve --data ${place.directory}`;
  const { url } = place.database;
  if (readDatabaseUrl(url).password !== "")
    return "onair serve, with the same ONAIR_DATABASE or ONAIR_DATABASE_FILE";
  return `onair serve --database "${url}"`;
}

const rowsOf = (counts: CopyCounts) => copiedNouns.reduce((sum, noun) => sum + counts[noun], 0);

async function copyAll(from: DataPlace, to: DataPlace, out: Output): Promise<void> {
  const took = stopwatch();
  let display: { end(): void } | null = null;
  const progress: Progress & { rows: number } = { bytes: 0, totalBytes: null, rows: 0 };
  const { counts, damagedBodies } = await copyData(from, to, {
    counted(counts, there) {
      const [totalRows, rows] = [rowsOf(counts), rowsOf(there)];
      display = showProgress(Object.assign(progress, { totalRows, rows }));
    },
    copied(rows) {
      progress.rows += rows;
    },
  }).finally(() => display?.end());
  const [source, target] = [shownDataPlace(from), shownDataPlace(to)];
  const rows = Object.entries(counts).map(([noun, count]) => [noun, counted(count)]);
  await out.answer(
    { from: source, to: target, copied: counts, damaged_bodies: damagedBodies },
    [
      `${target} has everything of ${source} ${took()}. Serve it now: ${serving(to)}`,
      "",
      table(["NOUN", "COPIED"], rows),
      "",
      `${source} is as it was, and no server uses it any more.`,
    ].join("\n"),
  );
  if (damagedBodies.length > 0 && !out.json)
    note(
      `These events have no body any more, because it is damaged in ${source}: ${damagedBodies.join(", ")}. What is pending of them fails; the platform can publish them again, under another id.`,
    );
}
