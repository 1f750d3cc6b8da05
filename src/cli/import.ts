import { thisProcess } from "../api/admin/operator-keys.ts";
import { DomainError } from "../domain/errors.ts";
import { newId } from "../domain/ids.ts";
import { confirmedFrom, defaultConfirmAbovePercent } from "../domain/livestreams.ts";
import type { Store } from "../domain/store.ts";
import {
  applyBatch,
  type BatchReport,
  type Intake,
  maxErrors,
  maxLineBytes,
  untilSignal,
} from "../platform/batches.ts";
import { type DataKind, dataKinds, otherKindOf, platformData } from "../platform/platform-data.ts";
import { Ranking } from "../platform/ranking.ts";
import { storageAt } from "../server/storage-at.ts";
import { shownDataLocation } from "../store/location.ts";
import { command, switches } from "./arguments.ts";
import { isServed, withAdminApi } from "./calls/admin-api.ts";
import { Unreachable, withRefusedLines } from "./calls/http.ts";
import { adviseUrl, readTarget, type Target, targetHelp, targetOptions } from "./calls/target.ts";
import { onTermination, stoppedByUser } from "./command.ts";
import { isTyped, lineEnds, sizeOf, streamOf } from "./files.ts";
import { megabytes, note, type Progress, printReport, showProgress, stopwatch } from "./output/print.ts";

/** Rows per transaction when no server uses the data. */
const groupSize = 5_000;

const help = `Usage: onair import <kind> <file> [options]

Imports an NDJSON file, one row per line, into a running server or into a data directory that no
server uses; a missing directory is created. <kind> is ${dataKinds.slice(0, -1).join(", ")} or
${dataKinds.at(-1)}; import them in this order. A row with a known id replaces the stored one:
fields that it omits get their defaults. So a file can be imported again. Of rows with the same id,
the last valid one holds, and the others are counted. Rows may swap names and slugs, or pass them
on.
A file whose first line is of another kind is refused. "-" reads standard input.

${targetHelp}
  --snapshot     livestreams only: end every livestream that the file does not name
  --confirm      with --snapshot: however many it ends; without it, a snapshot that would end more
                 than ${defaultConfirmAbovePercent} % of at least ${confirmedFrom} livestreams (--confirm-snapshot-above of "onair serve")
                 ends none
  --json         print the report as one line of JSON: accepted, rejected, ignored_fields,
                 duplicate_ids, errors (the first ${maxErrors}), interrupted, and for livestreams
                 ended

The required fields of each kind; the documentation of the admin API lists all fields:
  users        {"id": 1, "username": "maya"}
  categories   {"id": 1, "slug": "chess", "name": "Chess"}
  channels     {"id": 1, "user_id": 1, "slug": "maya"}
  livestreams  {"channel_id": 1, "category_id": 1, "viewers": 12}

Rejected lines are reported with number and reason; all others are imported. A snapshot without a
valid line fails and ends nothing; a livestream on a rejected line goes on. Unknown fields are
ignored and counted. Ctrl-C stops after the lines in progress and reports what was imported.
Exit code: 0 if every line was accepted, 1 if some were rejected or the import failed, 2 for wrong
usage, ${stoppedByUser} if it was stopped.
`;

interface Import {
  readonly kind: DataKind;
  readonly target: Target;
  readonly snapshot: boolean;
  /** Whether a snapshot may end any number of livestreams. */
  readonly confirmed: boolean;
}

const needs = "the file";

export const importCommand = command({
  summary: "import the platform's data from a file",
  help,
  options: { ...targetOptions, ...switches("snapshot", "confirm", "json") },
  called: "kind",
  actions: {
    users: { needs },
    categories: { needs },
    channels: { needs },
    livestreams: { needs, options: ["snapshot", "confirm"] },
  },
  async run({ action: kind, words: [file = ""], values, env, mistakes, check }) {
    const { snapshot = false, confirm: confirmed = false, json = false } = values;
    if (confirmed && !snapshot) mistakes.push("--confirm is only for --snapshot");
    const target = readTarget(values, env, mistakes);
    check();
    const progress = { bytes: 0, totalBytes: sizeOf(file), rows: 0 };
    const input = { isNdjson: true };
    const stopped = new AbortController();
    onTermination().then(() => {
      const newLine = process.stderr.isTTY ? "\n" : "";
      note(`${newLine}Stopping after the lines in progress. Press Ctrl-C again to stop at once.`);
      stopped.abort();
    });
    const lines = counted(
      asLines(untilSignal(streamOf(file), stopped.signal, maxLineBytes), file, kind, input),
      progress,
    );
    const rows = snapshot ? whole(lines, stopped.signal) : lines;
    const took = stopwatch();
    const display = isTyped(file) ? { end() {} } : showProgress(progress);
    const work = { kind, target, snapshot, confirmed };
    try {
      const report = await ((await isServed(target))
        ? importThrough(work, progress, rows)
        : importInto(work, rows));
      display.end();
      const named = file === "-" ? "standard input" : file;
      if (!input.isNdjson)
        note(
          `The first line of ${named} is not a JSON object. The file must be NDJSON, one object on each line; "onair import --help" has one of each kind.`,
        );
      if (report.accepted + report.rejected === 0 && !stopped.signal.aborted)
        note(`There are no lines in ${named}. Nothing was imported.`);
      await printReport(report, { json, interrupted: stopped.signal.aborted, took: took() });
      if (stopped.signal.aborted) return stoppedByUser;
      return report.rejected === 0 ? 0 : 1;
    } catch (error) {
      display.end();
      if (!(error instanceof SnapshotStopped)) throw error;
      note(error.message);
      return stoppedByUser;
    }
  },
});

async function* counted(
  input: AsyncIterable<Uint8Array>,
  progress: { bytes: number; rows: number },
): AsyncGenerator<Uint8Array> {
  for await (const chunk of input) {
    yield chunk;
    progress.bytes += chunk.byteLength;
    progress.rows += lineEnds(chunk);
  }
}

/**
 * Yields the input. Before any line, throws for content that is certainly not NDJSON or whose first line is of another
 * kind. Sets `isNdjson` to false if the first line is not an object.
 */
async function* asLines(
  input: AsyncIterable<Uint8Array>,
  file: string,
  kind: DataKind,
  about: { isNdjson: boolean },
): AsyncGenerator<Uint8Array> {
  let isFirst = true;
  for await (const chunk of input) {
    if (isFirst && chunk[0] === 0x1f && chunk[1] === 0x8b)
      throw new Error(
        `${file} is compressed with gzip: unpack it first, as in: gunzip -c FILE | onair import KIND -`,
      );
    if (isFirst && /^\s*\[/.test(new TextDecoder().decode(chunk.subarray(0, 100))))
      throw new Error(
        `${file} is a JSON array. The file must have one object on each line, as jq -c '.[]' writes them`,
      );
    const other = isFirst
      ? otherKindOf(new TextDecoder().decode(chunk).trimStart().split("\n", 1)[0] ?? "", kind)
      : null;
    if (other !== null)
      throw new Error(
        `The first line of ${file} is one of ${other}, not of ${kind}. Nothing is imported; to import it: onair import ${other} ${file}`,
      );
    if (isFirst && /^\s*[^\s{]/.test(new TextDecoder().decode(chunk.subarray(0, 100))))
      about.isNdjson = false;
    isFirst = false;
    yield chunk;
  }
}

/** A snapshot was interrupted. */
class SnapshotStopped extends Error {
  constructor() {
    super("Stopped. The lines read so far are imported, and no livestream was ended.");
  }
}

/** Yields the input. Throws `SnapshotStopped` after the signal, so that a part never counts as a complete snapshot. */
async function* whole(input: AsyncIterable<Uint8Array>, stopped: AbortSignal): AsyncGenerator<Uint8Array> {
  yield* input;
  if (stopped.aborted) throw new SnapshotStopped();
}

/** Imports into data that no server uses. */
async function importInto(
  { kind, target, snapshot, confirmed }: Import,
  input: AsyncIterable<Uint8Array>,
): Promise<BatchReport> {
  const { dev, location } = target;
  const storage = await storageAt(location);
  if (dev !== null && !(await storage.hasData()))
    note(
      `"onair dev" is not running at ${dev.url.origin}: importing into the new data directory ${shownDataLocation(location)}`,
    );
  const { store } = await storage.open().catch(adviseUrl);
  try {
    const ranking = new Ranking(Date.now);
    ranking.putLive(await store.livestreams.all());
    const { confirmAbovePercent } = target;
    const data = platformData({ store, ranking, now: Date.now, confirmAbovePercent });
    const options = { groupSize, confirmed };
    const report =
      kind === "livestreams"
        ? await data.applyLivestreams(input, snapshot, options)
        : await applyBatch(input, data[kind] as Intake<unknown>, groupSize);
    await noteImport(store, kind, snapshot ? (report as SnapshotReport) : null);
    return report;
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    throw new Error(withRefusedLines(error.message, error.details.errors ?? []));
  } finally {
    await store.close();
  }
}

type SnapshotReport = BatchReport & { readonly ended: number };

/** Records the import in the audit log. A snapshot has an entry of its own, and other batches are counted together. */
async function noteImport(store: Store, kind: DataKind, snapshot: SnapshotReport | null): Promise<void> {
  const at = Date.now();
  const entry = {
    at,
    last_at: at,
    count: 1,
    actor_kind: "operator_key",
    actor_id: thisProcess.id,
    actor_name: thisProcess.name,
    action: `put${kind.charAt(0).toUpperCase()}${kind.slice(1)}`,
    object: kind,
    object_id: null,
    object_name: null,
    fields: [],
    changes: [],
    address: "",
    request_id: newId(),
    accepted: snapshot?.accepted ?? null,
    ended: snapshot?.ended ?? null,
  } as const;
  await (snapshot === null ? store.audit.count([entry]) : store.audit.add(entry));
}

/** Imports through the admin API of a running server; the body is read at the server's pace. */
async function importThrough(
  { kind, snapshot, confirmed, target }: Import,
  progress: Readonly<Progress>,
  input: AsyncIterable<Uint8Array>,
): Promise<BatchReport> {
  const isLive = kind === "livestreams";
  const path = isLive
    ? `/admin/v1/livestreams?snapshot=${snapshot}&confirm=${confirmed}`
    : `/admin/v1/${kind}/batch`;
  const send = { method: isLive ? "PUT" : "POST", path, lines: input } as const;
  try {
    return await withAdminApi(target, async (api) => (await api.send(send)).json() as Promise<BatchReport>);
  } catch (error) {
    if (!(error instanceof Unreachable && error.isBrokenOff)) throw error;
    const sent = `The connection to ${error.origin} broke off after ${megabytes(progress.bytes)} MB.`;
    throw new Error(
      `${sent} The server keeps the lines that it received; import the whole file again, which is safe.`,
    );
  }
}
