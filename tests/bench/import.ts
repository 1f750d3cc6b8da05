/*
 * How long `onair import` takes for a million users, into a data directory and through a running server, and how a
 * server that is imported into answers meanwhile: bun tests/bench/import.ts --help
 */
import { statSync } from "node:fs";
import { join } from "node:path";
import { fromSource, serve } from "../support/process.ts";
import { adminKey } from "../support/server.ts";
import { readOptions } from "./support/options.ts";
import { writeRows } from "./support/platform.ts";
import {
  BenchError,
  benchDirectory,
  cpuSeconds,
  endWithThis,
  peakResidentBytes,
} from "./support/processes.ts";
import { pick, seededRandom } from "./support/random.ts";
import { megabytes, milliseconds, table, whole } from "./support/report.ts";
import { percentile } from "./support/rounds.ts";

const help = `Usage: bun tests/bench/import.ts [options]

  --rows N   users to import (default: 1,000,000)
  --json     print one line of JSON
  --check    exit with 1 when an import of a million users takes 60 seconds or more, or memory is not flat

Runs from the sources, without pinning. Needs some 2 GB in the directory for temporary files.
`;

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

/** Runs an import to its end; throws unless all rows are taken. */
async function runImport(rows: number, args: readonly string[]) {
  const startedAt = performance.now();
  const child = Bun.spawn([...fromSource, "import", "users", ...args, "--json"], {
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
      return { p50: percentile(took, 0.5), p99: percentile(took, 0.99), max: percentile(took, 1) };
    },
  };
}

async function throughServer(file: string, rows: number, data: string): Promise<Outcome[]> {
  const server = await serve(["--data", data], { command: fromSource });
  process.prependListener("exit", () => server.kill("SIGKILL"));
  const measure = async (way: string) => {
    const cpuBefore = cpuSeconds(server.pid);
    const polling = poll(`${server.adminUrl}/healthz`);
    const measured = await runImport(rows, [file, "--url", server.adminUrl]);
    const health = await polling.stop();
    const cpu = measured.cpuSeconds + cpuSeconds(server.pid) - cpuBefore;
    return { way, ...measured, cpuSeconds: cpu, serverBytes: peakResidentBytes(server.pid), health };
  };
  const outcomes = [await measure("through a server"), await measure("the same again")];
  await server.end("SIGTERM");
  const databaseBytes = statSync(join(data, "onair.db")).size;
  return outcomes.map((outcome) => ({ ...outcome, databaseBytes }));
}

function report(outcomes: readonly Outcome[]): string {
  const head = "users,rows/s,seconds,CPU s,importer,server,database,healthz p50,p99,max".split(",");
  const rows = outcomes.map((outcome) => [
    outcome.way,
    whole(outcome.rowsPerSecond),
    outcome.seconds.toFixed(1),
    outcome.cpuSeconds.toFixed(1),
    megabytes(outcome.importerBytes),
    outcome.serverBytes === null ? "" : megabytes(outcome.serverBytes),
    megabytes(outcome.databaseBytes),
    ...(outcome.health ? Object.values(outcome.health).map(milliseconds) : []),
  ]);
  return table([head, ...rows]);
}

async function bench(rows: number): Promise<Outcome[]> {
  const directory = benchDirectory();
  const file = join(directory, "users.ndjson");
  await writeRows(file, manyUsers(rows));
  const data = join(directory, "direct");
  const direct = await intoDirectory(file, rows, data, "into a directory");
  const again = await intoDirectory(file, rows, data, "the same again");
  return [direct, again, ...(await throughServer(file, rows, join(directory, "served")))];
}

const { rows, json, check } = readOptions(help, {
  numbers: { rows: { default: 1_000_000 } },
  flags: ["json", "check"],
});
const outcomes = await bench(rows);
process.stdout.write(`${json ? JSON.stringify({ rows, outcomes }) : report(outcomes)}\n`);
const met = outcomes.every(
  ({ rowsPerSecond, importerBytes, serverBytes }) =>
    rowsPerSecond > floor.rowsPerSecond && Math.max(importerBytes, serverBytes ?? 0) < floor.residentBytes,
);
process.exit(check && !met ? 1 : 0);
