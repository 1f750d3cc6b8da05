import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { seeded } from "../../../src/dev/chance.ts";
import { distinctRanks, usernameOf, usersPath, zipfRanks } from "../support/platform.ts";
import { residentBytes, type Server } from "../support/processes.ts";
import {
  type Goal,
  megabytes,
  microseconds,
  milliseconds,
  percent,
  table,
  whole,
} from "../support/report.ts";
import { type Framework, requireEqualAnswers, startFramework } from "./frameworks.ts";
import {
  type Measured,
  measureInTurn,
  medianOf,
  type Pace,
  prepareLoad,
  type Ratio,
  ratio,
  ratioOf,
  requireSameAnswers,
  type Traffic,
} from "./load.ts";

/** The requests sent to the servers, which answer all of them with 200. */
interface Workload {
  readonly name: string;
  readonly title: string;
  readonly traffic: Traffic;
  readonly floors: readonly Floor[];
}

export const workloadNames = ["get-user-zipf", "get-user-uniform", "category-page"] as const;
type WorkloadName = (typeof workloadNames)[number];

/** More than are sent to a server with the default pace, so that none comes again because the list begins anew. */
const zipfDraws = 3_000_000;
const uniformDraws = 500_000;

/** @param token is sent where the servers check one */
export function workloads(users: number, token: string): Record<WorkloadName, Workload> {
  const getUser = (ranks: Uint32Array) => ({
    ...pathsOf(ranks),
    headers: { Authorization: `Bearer ${token}` },
  });
  return {
    "get-user-zipf": {
      name: "get-user-zipf",
      title: "Get User by Zipf",
      traffic: getUser(zipfRanks(users, zipfDraws, seeded(4))),
      floors: [
        { of: "Fastify", least: 3.5 },
        { of: "Hono", least: 2 },
      ],
    },
    "get-user-uniform": {
      name: "get-user-uniform",
      title: "Get User uniformly",
      // No user is requested again before all others were, so that every read misses every cache.
      traffic: getUser(distinctRanks(users, uniformDraws, seeded(5))),
      floors: [],
    },
    "category-page": {
      name: "category-page",
      title: "Category page of 25",
      traffic: { paths: ["/public/v1/categories?limit=25"], order: Uint32Array.of(0), headers: {} },
      floors: [
        { of: "Fastify", least: 10 },
        { of: "Hono", least: 4 },
      ],
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

/** The ratio of On Air to another server: 1 is equal, less is worse. */
interface Comparison {
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
const measurable = 0.3;

/**
 * Compares requests per second, or CPU time if the run was disturbed. A floor that cannot be judged is missed.
 * `share` is the smallest share of its core that a server had.
 */
function judge({ of, least }: Floor, comparisons: Readonly<Record<string, Comparison>>, share: number): Goal {
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
  readonly onAir: Server;
  /** Its memory after the start, before its first request. */
  readonly idleBytes: number;
  readonly directory: string;
  /** The available other stacks, and the file of their database. */
  readonly frameworks: readonly Framework[];
  readonly database: string;
}

/** The runs of a server, and its memory before the first of them. */
interface MeasuredServer extends Measured {
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

/** Loads On Air and the other stacks with a workload, in turn. Throws if their answers differ. */
export async function measure(bench: Setting, workload: Workload, pace: Pace): Promise<Comparisons> {
  const { onAir } = bench;
  const directory = join(bench.directory, workload.name);
  mkdirSync(directory);
  const load = await prepareLoad(directory, workload.traffic);
  const others = await Promise.all(bench.frameworks.map((name) => startFramework(name, bench.database)));
  let idle: number[];
  let measured: Measured[];
  try {
    await Bun.sleep(restMs);
    idle = [bench.idleBytes, ...others.map(({ pid }) => residentBytes(pid))];
    for (const other of others) await requireEqualAnswers(onAir, other, workload.traffic);
    const contenders = [onAir, ...others].map((server) => ({ name: server.name, server, load }));
    measured = await measureInTurn(contenders, pace);
  } finally {
    await Promise.all(others.map((other) => other.stop()));
  }
  requireSameAnswers(measured);

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
