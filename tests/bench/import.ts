/*
 * How long `onair import` takes for a million users, into a data directory and through a running server, and how a
 * server that is imported into answers meanwhile: bun tests/bench/import.ts --help
 */
import { readFileSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { BenchError, benchDirectory, cpuSeconds } from "./support/processes.ts";
import { pick, seededRandom } from "./support/random.ts";
import { table, whole } from "./support/report.ts";

const help = `Usage: bun tests/bench/import.ts [options]

  --rows N   users to import (default: 1,000,000)
  --json     print one line of JSON
  --check    exit with 1 when an import of a million users takes 60 seconds or more, or memory is not flat

Runs from the sources, without pinning. Needs some 2 GB in the directory for temporary files.
`;

const main = resolve(import.meta.dir, "../../src/main.ts");
const adminKey = "the-operator-key-of-the-benchmark";
const pollMs = 10;
const floor = { rowsPerSecond: 1_000_000 / 60, residentBytes: 400e6 } as const;

interface Outcome {
  readonly way: string;
  readonly seconds: number;
  readonly rowsPerSecond: number;
  /** Processor time of all processes that took part. */
  readonly cpuSeconds: number;
  readonly importerBytes: number;
  readonly serverBytes: number | null;
  readonly databaseBytes: number;
  /** Milliseconds that `GET /healthz` took meanwhile. */
  readonly health: { readonly p50: number; readonly p99: number; readonly max: number } | null;
}

const syllables = "ka ri no sha ben lo mi tur zen dar vex pix gam ing pro kit bou ste ran ux qua fy".split(
  " ",
);
const hangul = [..."가나다라마바사아자차카타파하김이박최정강조윤장임"];
const han = [..."餐自由配木棉花官方頻道老皮王小明風雲天下第一"];
const accents = [..."éüñøåçıß"];
const words = "live every evening from a small room with friends old games and new records".split(" ");

/** Users in the order of their ids, as platforms export them; who has how many followers is up to chance. */
function* manyUsers(count: number): Generator<object> {
  const random = seededRandom(1);
  const several = (from: readonly string[], least: number, most: number, between = "") =>
    Array.from({ length: least + Math.floor(random() * (most - least + 1)) }, () => pick(from, random)).join(
      between,
    );
  for (let id = 1001; id <= 1000 + count; id++) {
    const name = several(syllables, 2, 4);
    const username = `${name}${random() < 0.3 ? "_" : ""}${id.toString(36)}`;
    const kind = random();
    let displayName = username;
    if (kind < 0.1) displayName = several(hangul, 3, 6);
    else if (kind < 0.2) displayName = several(han, 2, 6);
    else if (kind < 0.3) displayName = username.replace(/[aeiou]/, pick(accents, random));
    else if (kind < 0.5) displayName = name.toUpperCase();
    yield {
      id,
      username,
      display_name: displayName,
      bio: random() < 0.5 ? "" : several(words, 3, 20, " "),
      profile_picture: random() < 0.7 ? `https://pictures.example.com/users/${id}/300x300.webp` : null,
      followers_count: Math.floor(10 * (1 - random()) ** (-1 / 1.1)) - 10,
      following_count: Math.floor(random() * 300),
      is_verified: random() < 0.02,
      created_at: new Date(Date.UTC(2016, 0, 1) + Math.floor(random() * 3e11)).toISOString(),
    };
  }
}

async function write(file: string, rows: Iterable<object>): Promise<void> {
  const sink = Bun.file(file).writer({ highWaterMark: 1 << 20 });
  for (const row of rows) {
    sink.write(`${JSON.stringify(row)}\n`);
  }
  await sink.end();
}

/** Before the directories are removed, which cannot be done while somebody writes there. */
function endWithThis(child: Bun.Subprocess): void {
  process.prependListener("exit", () => child.kill("SIGKILL"));
}

/** Runs an import to its end; throws unless all rows are taken. */
async function runImport(rows: number, args: readonly string[]) {
  const startedAt = performance.now();
  const child = Bun.spawn([process.execPath, main, "import", "users", ...args, "--json"], {
    env: { PATH: process.env.PATH ?? "", ONAIR_ADMIN_KEY: adminKey },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "inherit",
  });
  endWithThis(child);
  const { accepted } = JSON.parse((await child.stdout.text()) || "{}") as { accepted?: number };
  await child.exited;
  const seconds = (performance.now() - startedAt) / 1000;
  const usage = child.resourceUsage();
  if (accepted !== rows || !usage) throw new BenchError(`The import took ${accepted} of ${rows} rows`);
  const cpu = Number(usage.cpuTime.total) / 1e6;
  return { seconds, rowsPerSecond: rows / seconds, cpuSeconds: cpu, importerBytes: usage.maxRSS };
}

async function intoDirectory(file: string, rows: number, data: string, way: string): Promise<Outcome> {
  const measured = await runImport(rows, [file, "--data", data]);
  const databaseBytes = statSync(join(data, "onair.db")).size;
  return { way, ...measured, serverBytes: null, databaseBytes, health: null };
}

/** `onair serve` on free ports; it ends with this process. */
async function startServing(data: string) {
  const child = Bun.spawn(
    [process.execPath, main, "serve", "--data", data, "--port", "0", "--admin-port", "0"],
    {
      env: { PATH: process.env.PATH ?? "", ONAIR_ADMIN_KEY: adminKey, ONAIR_LOG_LEVEL: "warn" },
      stdin: "ignore",
      stdout: "pipe",
      stderr: "inherit",
    },
  );
  endWithThis(child);
  const decoder = new TextDecoder();
  let output = "";
  for await (const chunk of child.stdout) {
    output += decoder.decode(chunk, { stream: true });
    const adminUrl = /^onair ready public=\S+ admin=(\S+)$/m.exec(output)?.[1];
    if (!adminUrl) continue;
    const stop = async () => {
      child.kill("SIGTERM");
      await child.exited;
    };
    return { adminUrl, pid: child.pid, stop };
  }
  throw new BenchError("The server ended before it was ready");
}

function peakResidentBytes(pid: number): number {
  const kilobytes = /^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return Number(kilobytes) * 1024;
}

/** Asks at fixed times, whether earlier answers have come or not, so that a held-up server is seen for all its length. */
function poll(url: string) {
  const took: number[] = [];
  let failed: unknown = null;
  const open = new Set<Promise<void>>();
  const ask = async () => {
    const startedAt = performance.now();
    const answer = await fetch(url);
    await answer.text();
    took.push(performance.now() - startedAt);
  };
  const timer = setInterval(() => {
    const asking = ask()
      .catch((error) => {
        failed ??= error;
      })
      .finally(() => open.delete(asking));
    open.add(asking);
  }, pollMs);
  return {
    async stop() {
      clearInterval(timer);
      await Promise.all(open);
      if (failed) throw new BenchError(`GET ${url} failed: ${failed}`);
      took.sort((a, b) => a - b);
      const at = (share: number) => took[Math.min(took.length - 1, Math.floor(took.length * share))] ?? 0;
      return { p50: at(0.5), p99: at(0.99), max: at(1) };
    },
  };
}

async function throughServer(file: string, rows: number, data: string): Promise<Outcome[]> {
  const server = await startServing(data);
  const measure = async (way: string) => {
    const cpuBefore = cpuSeconds(server.pid);
    const polling = poll(`${server.adminUrl}/healthz`);
    const measured = await runImport(rows, [file, "--url", server.adminUrl]);
    const health = await polling.stop();
    const cpu = measured.cpuSeconds + cpuSeconds(server.pid) - cpuBefore;
    return { way, ...measured, cpuSeconds: cpu, serverBytes: peakResidentBytes(server.pid), health };
  };
  const outcomes = [await measure("through a server"), await measure("the same again")];
  await server.stop();
  const databaseBytes = statSync(join(data, "onair.db")).size;
  return outcomes.map((outcome) => ({ ...outcome, databaseBytes }));
}

function report(outcomes: readonly Outcome[]): string {
  const megabytes = (bytes: number | null) => (bytes === null ? "" : `${(bytes / 1e6).toFixed(0)} MB`);
  const head = "users,rows/s,seconds,CPU s,importer,server,database,healthz p50,p99,max".split(",");
  const rows = outcomes.map((outcome) => [
    outcome.way,
    whole(outcome.rowsPerSecond),
    outcome.seconds.toFixed(1),
    outcome.cpuSeconds.toFixed(1),
    megabytes(outcome.importerBytes),
    megabytes(outcome.serverBytes),
    megabytes(outcome.databaseBytes),
    ...(outcome.health ? Object.values(outcome.health).map((ms) => `${ms.toFixed(1)} ms`) : []),
  ]);
  return table([head, ...rows]);
}

async function bench(rows: number): Promise<Outcome[]> {
  const directory = benchDirectory();
  const file = join(directory, "users.ndjson");
  await write(file, manyUsers(rows));
  const data = join(directory, "direct");
  const direct = await intoDirectory(file, rows, data, "into a directory");
  const again = await intoDirectory(file, rows, data, "the same again");
  return [direct, again, ...(await throughServer(file, rows, join(directory, "served")))];
}

const { values } = parseArgs({
  options: {
    rows: { type: "string", default: "1000000" },
    json: { type: "boolean", default: false },
    check: { type: "boolean", default: false },
    help: { type: "boolean", short: "h", default: false },
  },
});
const rows = Number(values.rows);
if (values.help || !Number.isSafeInteger(rows) || rows < 1) {
  process.stdout.write(help);
  process.exit(values.help ? 0 : 2);
}
const outcomes = await bench(rows);
process.stdout.write(`${values.json ? JSON.stringify({ rows, outcomes }) : report(outcomes)}\n`);
const met = outcomes.every(
  ({ rowsPerSecond, importerBytes, serverBytes }) =>
    rowsPerSecond > floor.rowsPerSecond && Math.max(importerBytes, serverBytes ?? 0) < floor.residentBytes,
);
process.exit(values.check && !met ? 1 : 0);
