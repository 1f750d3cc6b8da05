import { Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { applyBatch, type BatchReport, maxErrors, maxLineBytes } from "../batch/apply.ts";
import { untilSignal } from "../batch/lines.ts";
import { type DataKind, dataKinds, type Intake, platformData } from "../batch/platform-data.ts";
import type { Environment } from "../config.ts";
import { Ranking } from "../ranking/ranking.ts";
import { onTermination } from "../signals.ts";
import { openStore } from "../store/sqlite/store.ts";
import { type Command, UsageError } from "./command.ts";
import { sizeOf, streamOf } from "./input.ts";
import { type Progress, showProgress } from "./progress.ts";
import { tellReport } from "./report.ts";
import { readArguments, readTarget, type Target, targetHelp, targetOptions } from "./target.ts";

/** Rows that share a transaction where no server has to answer between them. */
const groupSize = 5_000;
/** The exit code of a shell for a program that was stopped by Ctrl-C. */
const stoppedExitCode = 130;

const help = `Usage: onair import <kind> <file> [options]

Takes a file of NDJSON, one row on each line, into a running server or into a data directory that nobody serves.
<kind> is ${dataKinds.slice(0, -1).join(", ")} or ${dataKinds.at(-1)}; import them in this order. A row whose id
is known changes it, so the same file can be imported again. "-" reads standard input.

${targetHelp}; made where missing
  --snapshot     livestreams only: end every livestream that the file does not name
  --json         print the report as one line of JSON: accepted, rejected, ignored_fields,
                 errors (the first ${maxErrors}), interrupted

Refused lines are told with number and reason, and the rest is kept. Fields that are not known are ignored and
counted. Ctrl-C stops after the lines that are under way and tells what was taken. Exit code: 0 when every line was
taken, 1 when some were refused or the import failed, 2 for wrong usage, ${stoppedExitCode} when it was stopped.
`;

interface Options {
  readonly kind: DataKind;
  readonly file: string;
  readonly target: Target;
  readonly snapshot: boolean;
  readonly json: boolean;
}

export const importCommand: Command = {
  summary: "take the platform's data from a file",
  help,
  async run(args: readonly string[], env: Environment) {
    const options = readOptions(args, env);
    const progress = { bytes: 0, totalBytes: sizeOf(options.file), rows: 0 };
    const stopped = new AbortController();
    onTermination().then(() => {
      const newLine = process.stderr.isTTY ? "\n" : "";
      process.stderr.write(
        `${newLine}Stopping after the lines that are under way; once more stops at once.\n`,
      );
      stopped.abort();
    });
    const lines = counted(untilSignal(streamOf(options.file), stopped.signal, maxLineBytes), progress);
    const input = options.snapshot ? whole(lines, stopped.signal) : lines;
    const display = showProgress(progress);
    try {
      const report = await (options.target.server
        ? importThrough(options.target.server, options, progress, input)
        : importInto(options, input));
      display.end();
      await tellReport(report, { json: options.json, interrupted: stopped.signal.aborted });
      if (stopped.signal.aborted) return stoppedExitCode;
      return report.rejected === 0 ? 0 : 1;
    } catch (error) {
      display.end();
      if (!(error instanceof SnapshotStopped)) throw error;
      process.stderr.write(`${error.message}\n`);
      return stoppedExitCode;
    }
  },
};

function readOptions(args: readonly string[], env: Environment): Options {
  const { values, positionals } = readArguments(args, {
    ...targetOptions,
    snapshot: { type: "boolean" },
    json: { type: "boolean" },
  });
  const [kind, file, ...more] = positionals;
  const { snapshot = false, json = false } = values;
  const mistakes: string[] = [];
  if (!isKind(kind)) mistakes.push(`the kind must be one of ${dataKinds.join(", ")}`);
  if (file === undefined) mistakes.push("the file is missing");
  if (more.length > 0) mistakes.push(`"${more[0]}" is not expected here`);
  const target = readTarget(values, env, mistakes);
  if (snapshot && kind !== "livestreams") mistakes.push("--snapshot is for livestreams only");
  if (mistakes.length > 0 || !isKind(kind) || file === undefined) throw new UsageError(mistakes.join("\n"));
  return { kind, file, target, snapshot, json };
}

function isKind(word: string | undefined): word is DataKind {
  return dataKinds.some((kind) => kind === word);
}

const newline = 0x0a;

async function* counted(
  input: AsyncIterable<Uint8Array>,
  progress: { bytes: number; rows: number },
): AsyncGenerator<Uint8Array> {
  for await (const chunk of input) {
    yield chunk;
    progress.bytes += chunk.byteLength;
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, end + 1)) progress.rows++;
  }
}

/** A snapshot was stopped before its end. */
class SnapshotStopped extends Error {
  constructor() {
    super("Stopped. What the file had named so far is taken, and no livestream was ended.");
  }
}

/** Breaks off where it was stopped: half a snapshot must not look like a whole one. */
async function* whole(input: AsyncIterable<Uint8Array>, stopped: AbortSignal): AsyncGenerator<Uint8Array> {
  yield* input;
  if (stopped.aborted) throw new SnapshotStopped();
}

/** Into a directory that this process has to itself. */
async function importInto(options: Options, input: AsyncIterable<Uint8Array>): Promise<BatchReport> {
  const store = openStore(options.target.data);
  try {
    const ranking = new Ranking(Date.now);
    ranking.putLive(await store.livestreams.all());
    const data = platformData({ store, ranking, now: Date.now });
    if (options.kind === "livestreams") {
      return await data.applyLivestreams(input, options.snapshot, { groupSize });
    }
    const { read, keep, ignored } = data[options.kind] as Intake<unknown>;
    return await applyBatch(input, read, keep, { groupSize, ignored });
  } finally {
    await store.close();
  }
}

const Report = Type.Object({
  accepted: Type.Integer(),
  rejected: Type.Integer(),
  ignored_fields: Type.Optional(Type.Integer()),
  errors: Type.Array(Type.Object({ line: Type.Integer(), message: Type.String() })),
});

/** Through the admin API of a running server; the body is read only as fast as the server takes it. */
async function importThrough(
  { url, key }: { readonly url: URL; readonly key: string },
  { kind, snapshot }: Options,
  progress: Readonly<Progress>,
  input: AsyncIterable<Uint8Array>,
): Promise<BatchReport> {
  const path =
    kind === "livestreams" ? `/admin/v1/livestreams?snapshot=${snapshot}` : `/admin/v1/${kind}/batch`;
  const source = { failure: undefined as unknown };
  const { response, text } = await send(url, path, {
    method: kind === "livestreams" ? "PUT" : "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/x-ndjson" },
    body: noting(input, source),
    redirect: "manual",
    timeout: false,
  }).catch((error) => {
    throw source.failure ?? new Error(brokenOff(url, progress, error));
  });
  const answer = jsonOf(text);
  if (response.ok && Value.Check(Report, answer)) return answer;
  const hint = response.status === 404 ? " --url must name the admin listener." : "";
  throw new Error(
    `${url.origin} answered ${response.status}: ${messageIn(answer) ?? text.slice(0, 200)}${hint}`,
  );
}

async function send(url: URL, path: string, init: BunFetchRequestInit) {
  const response = await fetch(url.origin + url.pathname.replace(/\/+$/, "") + path, init);
  return { response, text: await response.text() };
}

/** Notes what goes wrong in the source, which else could not be told from a broken connection. */
async function* noting(
  input: AsyncIterable<Uint8Array>,
  source: { failure: unknown },
): AsyncGenerator<Uint8Array> {
  try {
    yield* input;
  } catch (error) {
    source.failure = error;
    throw error;
  }
}

function brokenOff(url: URL, { bytes }: Readonly<Progress>, error: unknown): string {
  const code = error instanceof Error && "code" in error ? error.code : error;
  if (code !== "ECONNRESET") return `${url.origin} cannot be reached (${code}). Is the server running?`;
  return `The connection to ${url.origin} broke off after ${(bytes / 1e6).toFixed(1)} MB. The server keeps what it had taken by then; importing the whole file again does no harm.`;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function messageIn(answer: unknown): string | null {
  return typeof answer === "object" && answer !== null && "message" in answer ? String(answer.message) : null;
}
