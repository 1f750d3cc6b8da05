import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { seeded } from "../../../src/dev/chance.ts";
import { distinctRanks, zipfRanks } from "../../support/ranks.ts";
import { type Filled, profileAnswers } from "../support/filled.ts";
import { type Framework, frameworkTolerance, startFramework } from "../support/frameworks.ts";
import { platformSize, sampleSearches, usernameOf, usersPath } from "../support/platform.ts";
import { residentBytes, type Server } from "../support/processes.ts";
import {
  type Contender,
  type Goal,
  type Measured,
  measureInTurn,
  medianOf,
  megabytes,
  microseconds,
  milliseconds,
  type Pace,
  percent,
  type Ratio,
  ratio,
  ratioOf,
  requireSameAnswers,
  table,
  whole,
} from "../support/report.ts";
import { prepareLoad, type Traffic } from "../support/wrk.ts";
import { answersFile, captureAnswers, requireEqualAnswers, startYardstick } from "../support/yardsticks.ts";

/** The requests sent to the servers. */
export interface Workload {
  readonly name: string;
  readonly title: string;
  readonly traffic: Traffic;
  /** The status of all answers. */
  readonly status: 200 | 304;
  /** The token that the servers check; null for public routes. */
  readonly token: string | null;
  /** The answers of all users are those that `equal` chooses from, and not only those that are asked for. */
  readonly ofAllUsers: boolean;
  /** True if the other stacks support it, too. */
  readonly inFrameworks: boolean;
  /** A variant with which On Air is also loaded, under this name. */
  readonly beside: { readonly name: string; readonly traffic: Traffic } | null;
  readonly floors: readonly Floor[];
}

export const workloadNames = [
  "get-user-zipf",
  "get-user-uniform",
  "search",
  "category-page",
  "category-304",
  "category-detail",
] as const;
type WorkloadName = (typeof workloadNames)[number];

/** More than are sent to a server with the default pace, so that none comes again because the list begins anew. */
const zipfDraws = 3_000_000;
const uniformDraws = 500_000;

const common = {
  status: 200,
  token: null,
  ofAllUsers: false,
  inFrameworks: false,
  beside: null,
  floors: [],
} as const;

const runEach = (paths: readonly string[], headers: Traffic["headers"] = {}): Traffic => ({
  paths,
  order: Uint32Array.from(paths, (_, i) => i),
  headers,
});

const page = "/public/v1/categories?limit=25";

/** @param etag that of the category page, which is the same for as long as no viewers are reported */
export function workloads(users: number, token: string, etag: string): Record<WorkloadName, Workload> {
  const authorized = { Authorization: `Bearer ${token}` };
  const searches = sampleSearches(users).map((query) => `/public/v1/users/search?${query}`);
  const details = Array.from({ length: platformSize.categories }, (_, i) => `/public/v1/categories/${i + 1}`);
  const getUser = (ranks: Uint32Array) => ({
    ...common,
    traffic: { ...pathsOf(ranks), headers: authorized },
    token,
    ofAllUsers: true,
    inFrameworks: true,
  });
  return {
    "get-user-zipf": {
      ...getUser(zipfRanks(users, zipfDraws, seeded(4))),
      name: "get-user-zipf",
      title: "Get User by Zipf",
      floors: [
        { of: "Fastify", least: 3.5 },
        { of: "Hono", least: 2 },
      ],
    },
    "get-user-uniform": {
      // No user is requested again before all others were, so that every read misses every cache.
      ...getUser(distinctRanks(users, uniformDraws, seeded(5))),
      name: "get-user-uniform",
      title: "Get User uniformly",
    },
    search: {
      ...common,
      name: "search",
      title: "Search Users",
      traffic: runEach(searches, authorized),
      token,
    },
    "category-page": {
      ...common,
      name: "category-page",
      title: "Category page of 25",
      traffic: runEach([page]),
      inFrameworks: true,
      floors: [
        { of: "Fastify", least: 10 },
        { of: "Hono", least: 4 },
      ],
    },
    "category-304": {
      ...common,
      name: "category-304",
      title: "Category page, 304",
      traffic: runEach([page], { "If-None-Match": etag }),
      status: 304,
      beside: { name: "the page itself", traffic: runEach([page]) },
      floors: [{ of: "the page itself", least: 1 }],
    },
    "category-detail": {
      ...common,
      name: "category-detail",
      title: "Category detail",
      traffic: runEach(details),
    },
  };
}

/** Each user that was drawn as one path. */
function pathsOf(ranks: Uint32Array): Pick<Traffic, "paths" | "order"> {
  const indexes = new Map<number, number>();
  for (const rank of ranks) if (!indexes.has(rank)) indexes.set(rank, indexes.size);
  return {
    paths: [...indexes.keys()].map((rank) => usersPath + usernameOf(rank)),
    order: ranks.map((rank) => indexes.get(rank) ?? 0),
  };
}

/** The tag that On Air gives the category page. */
export async function etagOfPage({ url }: { readonly url: string }): Promise<string> {
  return (await fetch(url + page)).headers.get("etag") ?? "";
}

/** The ratio of On Air to another server: 1 is equal, less is worse. */
export interface Comparison {
  readonly requests: Ratio;
  readonly cpu: Ratio;
}

/** The least ratio that On Air must reach. */
export interface Floor {
  readonly of: string;
  readonly least: number;
}

/** Below this share of its core, a server was delayed by the load generator or by other work on the machine. */
export const undisturbed = 0.9;
/** Below this share, caches were cold after each interruption, so that its CPU time is not comparable either. */
export const measurable = 0.3;

/**
 * Compares requests per second, or CPU time if the run was disturbed. A floor that cannot be judged is missed.
 * `share` is the smallest share of its core that a server had.
 */
export function judge(
  { of, least }: Floor,
  comparisons: Readonly<Record<string, Comparison>>,
  share: number,
): Goal {
  const comparison = comparisons[of];
  if (!comparison || share < measurable) {
    const why = comparison ? "the machine did other things" : "it was not there";
    return { text: `not judged, because ${why}: goal ${least} of ${of}`, met: false };
  }
  const [figure, by] =
    share < undisturbed ? [comparison.cpu, "CPU time"] : [comparison.requests, "requests a second"];
  const met = figure.median >= least;
  return { text: `${figure.median.toFixed(2)} of ${of} by ${by}, goal ${least}`, met };
}

/** On Air and the servers that it is compared with. */
export interface Setting {
  readonly filled: Filled;
  readonly onAir: Server;
  /** Its memory after the start, before its first request. */
  readonly idleBytes: number;
  readonly directory: string;
  /** The available other stacks, and the file of their database. */
  readonly frameworks: readonly Framework[];
  readonly database: string;
  readonly say: (line: string) => void;
}

/** The runs of a server, and its memory before the first of them. */
export interface MeasuredServer extends Measured {
  readonly idleBytes: number;
}

export interface Comparisons {
  readonly workload: Workload;
  /** On Air first. */
  readonly servers: readonly MeasuredServer[];
  /** Ratios of On Air to each of the others. */
  readonly comparisons: Readonly<Record<string, Comparison>>;
  /** The smallest share of its core that a server had. */
  readonly share: number;
  readonly goals: readonly Goal[];
}

const restMs = 2_000;
/** Node's and Fastify's own headers are a part of a short answer; a 304 or half a page would be less than that. */
const sizeTolerance = { alike: 0.02, frameworks: 0.2 } as const;

/** Loads On Air and its yardsticks with a workload, in turn. Throws if their answers differ. */
export async function measure(bench: Setting, workload: Workload, pace: Pace): Promise<Comparisons> {
  const { onAir } = bench;
  const directory = join(bench.directory, workload.name);
  mkdirSync(directory);
  const load = await prepareLoad(directory, workload.traffic);
  const others = await startOthers(bench, workload, directory);
  let idle: number[];
  let measured: Measured[];
  try {
    await Bun.sleep(restMs);
    idle = [bench.idleBytes, ...others.map(({ pid }) => residentBytes(pid))];
    for (const other of others) {
      const isFramework = bench.frameworks.some((name) => name === other.name);
      await requireEqualAnswers(onAir, other, workload, isFramework ? frameworkTolerance : undefined);
    }
    const contenders: Contender[] = [onAir, ...others].map((server) => ({ name: server.name, server, load }));
    if (workload.beside) contenders.push(await besideIt(onAir, workload.beside, directory));
    measured = await measureInTurn(contenders, pace);
  } finally {
    await Promise.all(others.map((other) => other.stop()));
  }
  const alike = measured.slice(0, 1 + others.length);
  requireSameAnswers(alike, workload.inFrameworks ? sizeTolerance.frameworks : sizeTolerance.alike);

  const [mine, ...rest] = measured as [Measured, ...Measured[]];
  const comparisons = Object.fromEntries(rest.map((other) => [other.name, compare(mine, other)]));
  const share = shareOf(measured);
  return {
    workload,
    servers: measured.map((one, i) => ({ ...one, idleBytes: idle[i] ?? bench.idleBytes })),
    comparisons,
    share,
    goals: workload.floors.map((floor) => judge(floor, comparisons, share)),
  };
}

function compare(one: Measured, other: Measured): Comparison {
  return {
    requests: ratioOf(one, other, "requestsPerSecond"),
    cpu: ratioOf(one, other, "cpuMicroseconds"),
  };
}

/** The smallest share of its core that one of the servers had. */
function shareOf(measured: readonly Measured[]): number {
  return Math.min(...measured.map((server) => medianOf(server, "serverShare")));
}

async function startOthers(bench: Setting, workload: Workload, directory: string): Promise<Server[]> {
  const { traffic, token, status, ofAllUsers, inFrameworks } = workload;
  // Of all users only one is asked for: the head is the same for each, and the bodies are there already.
  const asked = ofAllUsers ? { ...traffic, paths: traffic.paths.slice(0, 1) } : traffic;
  await captureAnswers(directory, bench.onAir, asked, status);
  const file = ofAllUsers ? await profileAnswers(bench.filled, bench.say) : join(directory, answersFile);
  const answers = { directory, file, keyAfter: ofAllUsers ? usersPath : "", token };
  const wanted = inFrameworks ? bench.frameworks : [];
  return Promise.all([
    ...(["bare", "equal"] as const).map((kind) => startYardstick(kind, answers)),
    ...wanted.map((framework) => startFramework(framework, bench.database)),
  ]);
}

async function besideIt(
  onAir: Server,
  { name, traffic }: NonNullable<Workload["beside"]>,
  directory: string,
): Promise<Contender> {
  const own = join(directory, "beside");
  mkdirSync(own);
  return { name, server: onAir, load: await prepareLoad(own, traffic) };
}

/** The runs of servers as rows, under a head of their own. */
function runsTable(title: string, servers: readonly MeasuredServer[]): string {
  const rows = servers.map((server) => [
    server.name,
    whole(medianOf(server, "requestsPerSecond")),
    milliseconds(medianOf(server, "p50Ms")),
    milliseconds(medianOf(server, "p99Ms")),
    microseconds(medianOf(server, "cpuMicroseconds")),
    megabytes(server.idleBytes),
    megabytes(peakOf(server)),
  ]);
  return table([[title, "req/s", "p50", "p99", "CPU a request", "RSS idle", "at most"], ...rows]);
}

/** The most resident memory that a server had in any run. */
export function peakOf({ runs }: Measured): number {
  return Math.max(...runs.map(({ peakBytes }) => peakBytes));
}

/** Tables and comparisons, without the goals. */
export function describe({ workload, servers, comparisons, share }: Comparisons): string {
  const compared = Object.entries(comparisons).map(
    ([name, { requests, cpu }]) => `On Air is ${ratio(requests)} of ${name}, by CPU time ${ratio(cpu)}`,
  );
  const counts = share < measurable ? "None of this counts" : "Only the ratio by CPU time counts, not req/s";
  const disturbed = share < undisturbed ? [`A server had only ${percent(share)} of its core. ${counts}`] : [];
  return [runsTable(workload.title, servers), ...compared, ...disturbed].join("\n");
}
