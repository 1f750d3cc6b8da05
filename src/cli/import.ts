import { createReadStream, statSync } from "node:fs";
import http from "node:http";
import https from "node:https";
import { Readable } from "node:stream";
import { parseArgs } from "node:util";
import { applyBatch, type BatchReport } from "../batch/apply.ts";
import { type DataKind, dataKinds, type Intake, platformData } from "../batch/platform-data.ts";
import { type Environment, readConfig } from "../config.ts";
import { Ranking } from "../ranking/ranking.ts";
import { openStore } from "../store/sqlite/store.ts";
import { type Command, UsageError } from "./command.ts";
import { type Progress, showProgress } from "./progress.ts";

const shownErrors = 20;
/** Rows that share a transaction where no server has to answer between them. */
const groupSize = 1_000;

const help = `Usage: onair import <kind> <file> [options]

Takes a file of NDJSON, one ${dataKinds.join(", ")} row on each line, into a running server or into a data directory that
nobody serves. Import users, categories, channels and livestreams in this order. A row whose id is known changes it,
so the same file can be imported again. "-" reads standard input.

  --url URL      the admin listener of a running server, like http://127.0.0.1:8081; the operator key is
                 taken from ONAIR_ADMIN_KEY
  --data DIR     the data directory, without --url (ONAIR_DATA, default: onair-data)
  --snapshot     livestreams only: end every livestream that the file does not name
  --json         print the report as one line of JSON

Refused lines are told with number and reason, and the rest is kept. Exit code: 0 when every line was taken, 1 when
some were refused or the import failed, 2 for wrong usage.
`;

interface Options {
  readonly kind: DataKind;
  readonly file: string;
  readonly url: URL | null;
  readonly data: string;
  readonly snapshot: boolean;
  readonly json: boolean;
}

export const importCommand: Command = {
  summary: "take the platform's data from a file",
  help,
  async run(args: readonly string[], env: Environment) {
    const options = readOptions(args, env);
    const progress: Progress = { bytes: 0, totalBytes: sizeOf(options.file), items: options.url ? null : 0 };
    const display = showProgress(progress);
    let report: BatchReport;
    try {
      const input = counted(options.file === "-" ? process.stdin : createReadStream(options.file), progress);
      report = options.url
        ? await importThrough(options.url, options, env["ONAIR_ADMIN_KEY"] ?? "", input)
        : await importInto(options, input, progress);
    } finally {
      display.end();
    }
    tell(report, options.json);
    return report.rejected === 0 ? 0 : 1;
  },
};

function readOptions(args: readonly string[], env: Environment): Options {
  const parsed = parse(args);
  const [kind, file, ...more] = parsed.positionals;
  const mistakes: string[] = [];
  if (!isKind(kind)) mistakes.push(`the kind must be one of ${dataKinds.join(", ")}`);
  if (file === undefined) mistakes.push("the file is missing");
  if (more.length > 0) mistakes.push(`"${more[0]}" is not expected here`);
  const { url, data, snapshot = false, json = false } = parsed.values;
  const server = url === undefined ? null : URL.canParse(url) ? new URL(url) : undefined;
  if (server === undefined || (server && !/^https?:$/.test(server.protocol)))
    mistakes.push("--url must be an http URL");
  if (server && data !== undefined) mistakes.push("--url and --data exclude each other");
  if (server && !env["ONAIR_ADMIN_KEY"]) mistakes.push("--url needs the operator key in ONAIR_ADMIN_KEY");
  if (snapshot && kind !== "livestreams") mistakes.push("--snapshot is for livestreams only");
  if (mistakes.length > 0 || !isKind(kind) || file === undefined || server === undefined) {
    throw new UsageError(mistakes.join("\n"));
  }
  const directory = data ?? readConfig([], { ONAIR_DATA: env["ONAIR_DATA"] }).data;
  return { kind, file, url: server, data: directory, snapshot, json };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        url: { type: "string" },
        data: { type: "string" },
        snapshot: { type: "boolean" },
        json: { type: "boolean" },
      },
    });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

function isKind(word: string | undefined): word is DataKind {
  return dataKinds.some((kind) => kind === word);
}

function sizeOf(file: string): number | null {
  if (file === "-") return null;
  try {
    const { size } = statSync(file);
    return size;
  } catch {
    throw new UsageError(`There is no file ${file}`);
  }
}

async function* counted(input: AsyncIterable<Uint8Array>, progress: Progress): AsyncGenerator<Uint8Array> {
  for await (const chunk of input) {
    yield chunk;
    progress.bytes += chunk.byteLength;
  }
}

/** Into a directory that this process has to itself. */
async function importInto(
  options: Options,
  input: AsyncIterable<Uint8Array>,
  progress: Progress,
): Promise<BatchReport> {
  const store = openStore(options.data);
  try {
    const ranking = new Ranking(Date.now);
    ranking.putLive(await store.livestreams.all());
    const data = platformData(store, ranking, Date.now);
    const onProgress = ({ accepted, rejected }: Readonly<BatchReport>) => {
      progress.items = accepted + rejected;
    };
    const batch = { groupSize, onProgress };
    if (options.kind === "livestreams") return await data.applyLivestreams(input, options.snapshot, batch);
    const { read, keep } = data[options.kind] as Intake<unknown>;
    return await applyBatch(input, read, keep, batch);
  } finally {
    await store.close();
  }
}

/**
 * Through the admin API of a running server. By `node:http`, whose pipe waits for the server: `fetch` would read the
 * file into memory as fast as the disk gives it.
 */
function importThrough(
  server: URL,
  { kind, snapshot }: Options,
  key: string,
  input: AsyncIterable<Uint8Array>,
): Promise<BatchReport> {
  const path =
    kind === "livestreams" ? `/admin/v1/livestreams?snapshot=${snapshot}` : `/admin/v1/${kind}/batch`;
  const url = new URL(server.pathname.replace(/\/$/, "") + path, server);
  const { promise, resolve, reject } = Promise.withResolvers<BatchReport>();
  const request = (url.protocol === "https:" ? https : http).request(url, {
    method: kind === "livestreams" ? "PUT" : "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/x-ndjson" },
  });
  const body = Readable.from(input);
  request.on("response", async (response) => {
    let text = "";
    for await (const chunk of response.setEncoding("utf8")) text += chunk;
    if (response.statusCode === 200) resolve(JSON.parse(text) as BatchReport);
    else reject(new Error(`${server.origin} answered ${response.statusCode}: ${messageOf(text)}`));
    body.destroy();
  });
  request.on("error", (error) => reject(new Error(`${server.origin}: ${error.message}`)));
  body.on("error", reject);
  body.pipe(request);
  return promise;
}

function messageOf(text: string): string {
  try {
    return String(JSON.parse(text).message);
  } catch {
    return text.slice(0, 200);
  }
}

function tell(report: BatchReport, json: boolean): void {
  if (json) {
    process.stdout.write(`${JSON.stringify(report)}\n`);
    return;
  }
  for (const { line, message } of report.errors.slice(0, shownErrors)) {
    process.stderr.write(`line ${line}: ${message}\n`);
  }
  const more = report.rejected - Math.min(shownErrors, report.errors.length);
  if (more > 0) process.stderr.write(`… and ${more} more; --json shows the first ${report.errors.length}\n`);
  process.stdout.write(`${report.accepted} accepted, ${report.rejected} rejected\n`);
}
