import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { type Filled, profileAnswers } from "../support/filled.ts";
import { type Framework, frameworkTolerance, startFramework } from "../support/frameworks.ts";
import { usersPath } from "../support/platform.ts";
import { residentBytes, type Server } from "../support/processes.ts";
import type { Goal } from "../support/report.ts";
import {
  type Contender,
  type Measured,
  measureInTurn,
  medianOf,
  type Pace,
  ratioOf,
  requireSameAnswers,
} from "../support/rounds.ts";
import { prepareLoad } from "../support/wrk.ts";
import { answersFile, captureAnswers, requireEqualAnswers, startYardstick } from "../support/yardsticks.ts";
import { type Comparison, judge } from "./judge.ts";
import type { Workload } from "./workloads.ts";

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
