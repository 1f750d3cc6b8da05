/*
 * What several threads of the public listener give, and what they cost: bun tests/bench/threads.ts --help
 */
import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { adminKey, builtExecutable, load, newToken, type OnAir, startOnAir } from "./support/onair.ts";
import { sampleCategories, sampleSearches, sampleUsers, usernameOf } from "./support/platform.ts";
import { BenchError, benchDirectory, otherWork, requireMachine, residentBytes } from "./support/processes.ts";
import { megabytes, milliseconds, ratio, table, whole } from "./support/report.ts";
import {
  type Contender,
  type Measured,
  measureInTurn,
  median,
  medianOf,
  type Pace,
  type Ratio,
  ratioOf,
  requireSameAnswers,
} from "./support/rounds.ts";
import { Wire } from "./support/wire.ts";
import { prepareLoad, type Traffic } from "./support/wrk.ts";

const help = `Usage: bun tests/bench/threads.ts [options]

  --threads LIST     threads of the servers that are compared (default: 1,2,4)
  --users N          users in the data (default: 1000)
  --seconds N        length of each run (default: 5)
  --rounds N         rounds that count, after one of warming up of at least 20 seconds (default: 5)
  --writes N         writes of each kind to each server (default: 500)
  --executable FILE  measure this one instead of dist/onair
  --json             print one line of JSON

Servers and load share all cores of the machine, so the load takes from the servers what it needs for itself: a search,
which costs wrk little, shows more of the scaling than Get User. The servers are loaded in turn, round by round.
`;

const bothCores = "0,1";

/** For each thread. */
const warmUpSeconds = 5;

interface Bench {
  readonly threads: number;
  readonly server: OnAir;
  /** After its start, with the data. */
  readonly residentBytes: number;
}

interface Outcome {
  readonly name: string;
  readonly servers: readonly Measured[];
  /** Requests per second, of those of the first server. */
  readonly ratios: readonly Ratio[];
}

async function startServers(
  file: string,
  directory: string,
  { threads, users }: { threads: readonly number[]; users: number },
): Promise<Bench[]> {
  const started: Bench[] = [];
  for (const count of threads) {
    const args = ["--threads", String(count)];
    const data = join(directory, `data-${count}`);
    const server = await startOnAir(file, data, directory, { args, cpus: bothCores });
    await load(server, "users", sampleUsers(users));
    await load(server, "categories", sampleCategories());
    started.push({ threads: count, server, residentBytes: residentBytes(server.pid) });
  }
  return started;
}

/** Every server gets the token of its own, so each has a load of its own. */
async function measureReads(
  name: string,
  paths: readonly string[],
  benches: readonly Bench[],
  directory: string,
  pace: Pace,
): Promise<Outcome> {
  const contenders: Contender[] = [];
  for (const { server, threads } of benches) {
    const own = join(directory, `${name}-${server.pid}`);
    mkdirSync(own);
    const order = Uint32Array.from({ length: paths.length }, (_, i) => i);
    const headers = { Authorization: `Bearer ${await newToken(server)}` };
    const traffic: Traffic = { paths, order, headers };
    contenders.push({ name: `${threads}`, server, load: await prepareLoad(own, traffic, bothCores) });
  }
  // Each thread compiles its code for itself, and needs requests for that.
  for (const [i, { server, load }] of contenders.entries()) {
    await load(server, warmUpSeconds * (threads[i] ?? 1));
  }
  const measured = await measureInTurn(contenders, pace);
  requireSameAnswers(measured, 0.02);
  const [first] = measured;
  if (!first) throw new BenchError("Nothing was measured");
  return {
    name,
    servers: measured,
    ratios: measured.map((one) => ratioOf(one, first, "requestsPerSecond")),
  };
}

interface Writes {
  readonly name: string;
  /** Of each server, from the request to the answer, in milliseconds. */
  readonly ms: readonly (readonly number[])[];
}

/** One write after the other, to the servers in turn, with nothing else going on. */
async function measureWrites(
  name: string,
  path: (n: number) => string,
  body: (n: number) => object,
  benches: readonly Bench[],
  count: number,
): Promise<Writes> {
  const wires = benches.map(({ server }) => {
    return new Wire(server.adminUrl, { authorization: `Bearer ${adminKey}` });
  });
  const ms = benches.map((): number[] => []);
  const warmUp = 50;
  for (let n = -warmUp; n < count; n++) {
    for (const [i, wire] of wires.entries()) {
      const answer = await wire.put(path(n + warmUp), JSON.stringify(body(n + warmUp)));
      if (answer.status !== 200) throw new BenchError(`PUT ${path(n)}: ${answer.status} ${answer.body}`);
      if (n >= 0) ms[i]?.push(answer.ms);
    }
  }
  for (const wire of wires) wire.close();
  return { name, ms };
}

function describe(outcome: Outcome): string {
  const rows = outcome.servers.map((one, i) => [
    one.name,
    whole(medianOf(one, "requestsPerSecond")),
    ratio(outcome.ratios[i] as Ratio),
    milliseconds(medianOf(one, "p50Ms")),
    milliseconds(medianOf(one, "p99Ms")),
    `${medianOf(one, "cpuMicroseconds").toFixed(1)} µs`,
    medianOf(one, "serverShare").toFixed(2),
    megabytes(medianOf(one, "residentBytes")),
  ]);
  const head = [outcome.name, "req/s", "of the first", "p50", "p99", "CPU a request", "cores", "RSS"];
  return `${table([head, ...rows])}\n\n`;
}

const text = { type: "string" } as const;
const flag = { type: "boolean", default: false } as const;
const { values } = parseArgs({
  options: {
    threads: { ...text, default: "1,2,4" },
    users: { ...text, default: "1000" },
    seconds: { ...text, default: "5" },
    rounds: { ...text, default: "5" },
    writes: { ...text, default: "500" },
    executable: text,
    json: flag,
    help: flag,
  },
});
const threads = values.threads.split(",").map(Number);
const [users, seconds, rounds, writes] = [values.users, values.seconds, values.rounds, values.writes].map(
  Number,
) as [number, number, number, number];
if (values.help || ![...threads, users, seconds, rounds, writes].every((n) => Number.isInteger(n) && n > 0)) {
  process.stdout.write(help);
  process.exit(values.help ? 0 : 2);
}

async function main(): Promise<void> {
  requireMachine({ wrk: "wrk", taskset: "util-linux" });
  const othersSince = otherWork();
  const say = (line: string) => void (values.json || process.stderr.write(`${line}\n`));
  const show = (lines: string) => void (values.json || process.stdout.write(lines));
  const directory = benchDirectory();
  const file = values.executable === undefined ? await builtExecutable() : resolve(values.executable);
  const benches = await startServers(file, directory, { threads, users });
  const searches = sampleSearches(users).map((query) => `/public/v1/users/search?${query}`);
  const names = Array.from({ length: users }, (_, i) => `/public/v1/users/${usernameOf(i)}`);
  const outcomes: Outcome[] = [];
  for (const [name, paths] of [
    ["search", searches],
    ["get-user", names],
  ] as const) {
    say(`Measuring ${name}`);
    outcomes.push(await measureReads(name, paths, benches, directory, { rounds, seconds }));
    show(describe(outcomes.at(-1) as Outcome));
  }
  say("Measuring writes");
  const category = (n: number) => ({ name: `Category ${n}`, slug: `written-${n % 100}` });
  const written = [
    await measureWrites(
      "PUT user",
      (n) => `/admin/v1/users/${1_000_000 + (n % 100)}`,
      (n) => ({ username: `written${n % 100}`, followers_count: n }),
      benches,
      writes,
    ),
    await measureWrites(
      "PUT category",
      (n) => `/admin/v1/categories/${10_000 + (n % 100)}`,
      category,
      benches,
      writes,
    ),
  ];
  for (const { name, ms } of written) {
    const rows = benches.map(({ threads }, i) => {
      const sorted = (ms[i] ?? []).toSorted((a, b) => a - b);
      const at = (share: number) => milliseconds(sorted[Math.floor(sorted.length * share)] ?? Number.NaN);
      return [String(threads), at(0.5), at(0.99)];
    });
    show(`${table([[name, "p50", "p99"], ...rows])}\n\n`);
  }
  const resident = benches.map((bench) => bench.residentBytes);
  show(
    `${table([["memory after the start", "RSS"], ...benches.map(({ threads }, i) => [String(threads), megabytes(resident[i] ?? 0)])])}\n`,
  );
  await Promise.all(benches.map(({ server }) => server.stop()));
  const others = othersSince();
  say(`Others had ${(others * 100).toFixed(0)} % of the machine meanwhile`);
  if (values.json) {
    const p50 = written.map(({ name, ms }) => ({ name, p50Ms: ms.map(median) }));
    const options = { threads, users, seconds, rounds, writes };
    process.stdout.write(`${JSON.stringify({ ...options, others, outcomes, writes: p50, resident })}\n`);
  }
}

try {
  await main();
} catch (error) {
  process.stderr.write(`${error instanceof BenchError ? error.message : Bun.inspect(error)}\n`);
  process.exitCode = 1;
}
process.exit();
