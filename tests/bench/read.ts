/*
 * Requests per second of the read endpoints of the executable, each beside two yardsticks written by hand on
 * `Bun.serve` alone (support/yardstick-server.ts): bun tests/bench/read.ts --help
 */
import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { builtExecutable, load, newToken, type OnAir, startOnAir } from "./support/onair.ts";
import {
  platformSize,
  sampleCategories,
  sampleChannels,
  sampleLivestreams,
  sampleSearches,
  sampleUsers,
  usernameOf,
} from "./support/platform.ts";
import { BenchError, benchDirectory, requireMachine, type Server } from "./support/processes.ts";
import { seededRandom, zipfRanks } from "./support/random.ts";
import { megabytes, milliseconds, ratio, table, whole } from "./support/report.ts";
import { type Measured, measureInTurn, medianOf, type Ratio, ratioOf } from "./support/rounds.ts";
import { prepareLoad, type Traffic } from "./support/wrk.ts";
import { captureAnswers, requireEqualAnswers, startYardstick } from "./support/yardsticks.ts";

const help = `Usage: bun tests/bench/read.ts [options]

  --users N          users in the data, up to 1,000,000 (default: 1000)
  --seconds N        length of each run (default: 5)
  --rounds N         rounds that count, after one of warming up of at least 5 seconds (default: 3)
  --only NAMES       only these of get-user, search, category-page, category-detail, separated by commas
  --executable FILE  measure this one instead of dist/onair
  --json             print one line of JSON
  --check            exit with 1 when a floor is not met

On Air runs as in production; its log goes to /dev/null. Where a server did not have its core to itself, a floor is
judged by CPU time instead of requests per second.
`;

interface Floor {
  readonly of: "bare" | "equal";
  readonly least: number;
}

interface Workload {
  readonly name: string;
  readonly title: string;
  readonly traffic: Traffic;
  /** The token that `equal` checks; null where everyone may read. */
  readonly token: string | null;
  /** `equal` finds its answer by what stands behind this in the path. */
  readonly keyAfter: string;
  readonly floor: Floor | null;
}

interface Outcome {
  readonly workload: Workload;
  readonly servers: readonly Measured[];
  readonly ratios: Readonly<Record<"bare" | "equal", { requests: Ratio; cpu: Ratio }>>;
  /** The least part of its core that a server had. */
  readonly share: number;
  /** Whether the floor is met, by requests or, where the runs were disturbed, by CPU time. */
  readonly met: boolean | null;
}

const userPath = "/public/v1/users/";
const draws = 500_000;
/** A server that had less of its core was held up by the load generator or by other work on the machine. */
const undisturbed = 0.9;

function workloads(users: number, token: string): readonly Workload[] {
  const authorized = { Authorization: `Bearer ${token}` };
  const inTurn = (count: number) => Uint32Array.from({ length: count }, (_, i) => i);
  const searches = sampleSearches(users).map((query) => `/public/v1/users/search?${query}`);
  const details = Array.from({ length: platformSize.categories }, (_, i) => `/public/v1/categories/${i + 1}`);
  const { paths, order } = drawnUsers(users);
  return [
    {
      name: "get-user",
      title: "Get User",
      traffic: { paths, order, headers: authorized },
      token,
      keyAfter: userPath,
      floor: { of: "equal", least: 0.6 },
    },
    {
      name: "search",
      title: "Search Users",
      traffic: { paths: searches, order: inTurn(searches.length), headers: authorized },
      token,
      keyAfter: "",
      floor: null,
    },
    {
      name: "category-page",
      title: "Category page of 25",
      traffic: { paths: ["/public/v1/categories?limit=25"], order: inTurn(1), headers: {} },
      token: null,
      keyAfter: "",
      floor: { of: "bare", least: 0.6 },
    },
    {
      name: "category-detail",
      title: "Category detail",
      traffic: { paths: details, order: inTurn(details.length), headers: {} },
      token: null,
      keyAfter: "",
      floor: null,
    },
  ];
}

/** Users drawn by Zipf's law, each path once. */
function drawnUsers(users: number): Pick<Traffic, "paths" | "order"> {
  const ranks = zipfRanks(users, draws, seededRandom(4));
  const indexes = new Map<number, number>();
  for (const rank of ranks) if (!indexes.has(rank)) indexes.set(rank, indexes.size);
  return {
    paths: [...indexes.keys()].map((rank) => userPath + usernameOf(rank)),
    order: ranks.map((rank) => indexes.get(rank) ?? 0),
  };
}

async function loadPlatform(onAir: OnAir, users: number): Promise<void> {
  await load(onAir, "users", sampleUsers(users));
  await load(onAir, "categories", sampleCategories());
  await load(onAir, "channels", sampleChannels(users));
  await load(onAir, "livestreams", sampleLivestreams(users));
}

async function measure(
  onAir: Server,
  workload: Workload,
  directory: string,
  pace: { rounds: number; seconds: number },
): Promise<Outcome> {
  const { name, traffic, token, keyAfter, floor } = workload;
  const own = join(directory, name);
  mkdirSync(own);
  const loadServer = await prepareLoad(own, traffic);
  await captureAnswers(own, onAir, traffic);
  const yardsticks = await Promise.all(
    (["bare", "equal"] as const).map((kind) => startYardstick(kind, own, keyAfter, token)),
  );
  for (const yardstick of yardsticks) await requireEqualAnswers(onAir, yardstick, traffic);
  const servers = await measureInTurn([onAir, ...yardsticks], loadServer, pace);
  await Promise.all(yardsticks.map((yardstick) => yardstick.stop()));
  const [mine, bare, equal] = servers as [Measured, Measured, Measured];
  const compare = (other: Measured) => ({
    requests: ratioOf(mine, other, "requestsPerSecond"),
    cpu: ratioOf(mine, other, "cpuMicroseconds"),
  });
  const ratios = { bare: compare(bare), equal: compare(equal) };
  const share = Math.min(...servers.map((server) => medianOf(server, "serverShare")));
  const judge = share < undisturbed ? "cpu" : "requests";
  const met = floor && ratios[floor.of][judge].median >= floor.least;
  return { workload, servers, ratios, share, met };
}

function describe({ workload: { title, floor }, servers, ratios, share, met }: Outcome): string {
  const rows = servers.map((server) => [
    server.name,
    whole(medianOf(server, "requestsPerSecond")),
    milliseconds(medianOf(server, "p50Ms")),
    milliseconds(medianOf(server, "p99Ms")),
    `${medianOf(server, "cpuMicroseconds").toFixed(1)} µs`,
    megabytes(medianOf(server, "residentBytes")),
  ]);
  const lines = [table([[title, "req/s", "p50", "p99", "CPU a request", "RSS"], ...rows])];
  for (const kind of ["bare", "equal"] as const) {
    const { requests, cpu } = ratios[kind];
    const verdict = floor?.of === kind ? `; the floor of ${floor.least} is ${met ? "met" : "NOT met"}` : "";
    lines.push(`On Air is ${ratio(requests)} of ${kind}, by CPU time ${ratio(cpu)}${verdict}`);
  }
  if (share < undisturbed) {
    const part = `${(share * 100).toFixed(0)} %`;
    lines.push(
      `Disturbed: a server had only ${part} of its core. Only the ratio by CPU time counts, not req/s.`,
    );
  }
  return `${lines.join("\n")}\n`;
}

function json(outcomes: readonly Outcome[], options: Readonly<Record<string, unknown>>): string {
  const results = outcomes.map(({ workload: { name, floor }, servers, ratios, share, met }) => {
    return { name, servers, ratios, share, floor, met };
  });
  return JSON.stringify({ ...options, log: "/dev/null", results });
}

function readOptions() {
  const text = { type: "string" } as const;
  const flag = { type: "boolean" } as const;
  const { values } = parseArgs({
    options: {
      users: { ...text, default: "1000" },
      seconds: { ...text, default: "5" },
      rounds: { ...text, default: "3" },
      only: text,
      executable: text,
      json: flag,
      check: flag,
      help: flag,
    },
  });
  const number = (name: "users" | "seconds" | "rounds", most: number) => {
    const value = Number(values[name]);
    if (Number.isInteger(value) && value >= 1 && value <= most) return value;
    throw new BenchError(`--${name} must be an integer from 1 to ${most}`);
  };
  const numbers = {
    users: number("users", 1e6),
    seconds: number("seconds", 600),
    rounds: number("rounds", 100),
  };
  return { ...values, ...numbers };
}

async function main(): Promise<void> {
  const { users, seconds, rounds, only, executable, ...options } = readOptions();
  if (options.help) return void process.stdout.write(help);
  requireMachine({ wrk: "wrk", taskset: "util-linux" });
  const say = (line: string) => void (options.json || process.stderr.write(`${line}\n`));
  const directory = benchDirectory();
  const file = executable === undefined ? await builtExecutable() : resolve(executable);
  const onAir = await startOnAir(file, join(directory, "data"), directory);
  say(`Loading ${whole(users)} users`);
  await loadPlatform(onAir, users);
  const all = workloads(users, await newToken(onAir));
  const names = only?.split(",") ?? all.map(({ name }) => name);
  const unknown = names.find((name) => all.every((workload) => workload.name !== name));
  if (unknown !== undefined) throw new BenchError(`--only: there is no workload "${unknown}"`);
  const outcomes: Outcome[] = [];
  for (const workload of all.filter(({ name }) => names.includes(name))) {
    say(`Measuring ${workload.title}`);
    const outcome = await measure(onAir, workload, directory, { rounds, seconds });
    outcomes.push(outcome);
    if (!options.json) process.stdout.write(`${describe(outcome)}\n`);
  }
  if (options.json) process.stdout.write(`${json(outcomes, { users, seconds, rounds })}\n`);
  if (options.check && outcomes.some(({ met }) => met === false)) process.exitCode = 1;
}

try {
  await main();
} catch (error) {
  const expected = error instanceof BenchError || (error instanceof TypeError && "code" in error);
  process.stderr.write(`${expected ? error.message : Bun.inspect(error)}\n`);
  process.exitCode = 1;
}
process.exit();
