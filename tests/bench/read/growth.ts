import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { copyOfData, type Filled, filledPlatform, profileAnswers, publicUrl } from "../support/filled.ts";
import { type Comparison, judgeGrowth, mostGrowth, type Verdict } from "../support/judge.ts";
import { newToken, type OnAir, startOnAir } from "../support/onair.ts";
import { usersPath } from "../support/platform.ts";
import { residentBytes, type Server } from "../support/processes.ts";
import { ratio, whole } from "../support/report.ts";
import { type Contender, type Measured, measureInTurn, type Pace } from "../support/rounds.ts";
import { prepareLoad } from "../support/wrk.ts";
import { captureAnswers, requireEqualAnswers, startYardstick } from "../support/yardsticks.ts";
import { compare, type MeasuredServer, shareOf } from "./measure.ts";
import { disturbance, runsTable, shown } from "./report.ts";
import { type Workload, type WorkloadName, workloads } from "./workloads.ts";

/** What is measured, and whether its growth has a limit. */
const measured: readonly { readonly name: WorkloadName; readonly judged: boolean }[] = [
  { name: "get-user-zipf", judged: true },
  { name: "get-user-uniform", judged: true },
  { name: "search", judged: false },
  { name: "category-page", judged: false },
];

/** One size of the platform, served. */
interface Size {
  readonly users: number;
  readonly onAir: OnAir;
  readonly idleBytes: number;
  readonly filled: Filled;
  readonly workloads: Readonly<Record<WorkloadName, Workload>>;
}

export interface Growth {
  readonly name: string;
  readonly title: string;
  /** One for each size, the smallest first. */
  readonly servers: readonly MeasuredServer[];
  /** Of the largest to the smallest. */
  readonly comparison: Comparison;
  readonly share: number;
  readonly verdict: Verdict | null;
}

const restMs = 5_000;

export interface GrowthOptions {
  readonly executable: string;
  readonly directory: string;
  readonly pace: Pace;
  /** Whether `equal` is measured as well: with ten million users it takes 16 GB of memory. */
  readonly withEqual: boolean;
}

type Say = (line: string) => void;

/** Serves platforms of all sizes at once, and loads them in turn with the same kind of requests. */
export async function measureGrowth(
  sizes: readonly number[],
  options: GrowthOptions,
  say: Say,
): Promise<Growth[]> {
  const served: Size[] = [];
  for (const users of sizes) served.push(await serve(users, options, say));
  const outcomes: Growth[] = [];
  for (const { name, judged } of measured) {
    say(`Measuring ${name}`);
    const servers = served.map(({ onAir, idleBytes }) => ({ server: onAir, idleBytes }));
    const growth = await growthOf(name, served, servers, options);
    const verdict = judged ? judgeGrowth(growth.comparison, growth.share) : null;
    outcomes.push({ ...growth, verdict });
  }
  if (options.withEqual) outcomes.push(...(await growthOfEqual(served, options, say)));
  await Promise.all(served.map(({ onAir }) => onAir.stop()));
  return outcomes;
}

/**
 * What merely finding the answer in so much memory costs. Not beside On Air, whose files the kernel would no longer
 * hold.
 */
async function growthOfEqual(served: readonly Size[], options: GrowthOptions, say: Say): Promise<Growth[]> {
  const servers: Idle[] = [];
  for (const size of served) {
    const server = await startEqual(size, options.directory, say);
    servers.push({ server, idleBytes: residentBytes(server.pid) });
  }
  const outcomes: Growth[] = [];
  for (const { name, judged } of measured) {
    if (!judged) continue;
    say(`Measuring ${name} of equal`);
    const growth = await growthOf(name, served, servers, options);
    outcomes.push({ ...growth, name: `${name}, equal`, title: `${growth.title}, equal`, verdict: null });
  }
  await Promise.all(servers.map(({ server }) => server.stop()));
  return outcomes;
}

/** A server, and its memory before its first load. */
interface Idle {
  readonly server: Server;
  readonly idleBytes: number;
}

/** @param servers one of each size */
async function growthOf(
  name: WorkloadName,
  served: readonly Size[],
  servers: readonly Idle[],
  { directory, pace }: GrowthOptions,
): Promise<Omit<Growth, "verdict">> {
  const contenders = await Promise.all(
    served.map((size, i) => contender(size, servers[i]?.server ?? size.onAir, name, directory)),
  );
  const runs = await measureInTurn(contenders, pace);
  return {
    name,
    title: served[0]?.workloads[name].title ?? name,
    servers: runs.map((one, i) => ({ ...one, idleBytes: servers[i]?.idleBytes ?? 0 })),
    comparison: compare(runs.at(-1) as Measured, runs[0] as Measured),
    share: shareOf(runs),
  };
}

async function serve(users: number, { executable, directory }: GrowthOptions, say: Say): Promise<Size> {
  const own = join(directory, String(users));
  mkdirSync(own);
  const data = join(own, "data");
  const filled = await filledPlatform(users, say);
  await copyOfData(filled, data);
  say(`Starting with ${whole(users)} users`);
  const onAir = await startOnAir(executable, data, own, { args: ["--public-url", publicUrl] });
  await Bun.sleep(restMs);
  const idleBytes = residentBytes(onAir.pid);
  const token = await newToken(onAir);
  return { users, onAir, idleBytes, filled, workloads: workloads(users, token, "") };
}

/** Starts one that answers as On Air does, and makes sure of it. */
async function startEqual(
  { users, onAir, filled, workloads }: Size,
  directory: string,
  say: Say,
): Promise<Server> {
  const own = join(directory, String(users), "equal");
  mkdirSync(own);
  const workload = workloads["get-user-zipf"];
  const { traffic, token, status } = workload;
  await captureAnswers(own, onAir, { ...traffic, paths: traffic.paths.slice(0, 1) }, status);
  const file = await profileAnswers(filled, say);
  say(`Starting equal with ${whole(users)} users`);
  const equal = await startYardstick("equal", { directory: own, file, keyAfter: usersPath, token });
  await requireEqualAnswers(onAir, equal, workload);
  return equal;
}

async function contender(
  { users, workloads }: Size,
  server: Server,
  name: WorkloadName,
  directory: string,
): Promise<Contender> {
  const own = join(directory, String(users), `${name}-${server.pid}`);
  mkdirSync(own);
  const load = await prepareLoad(own, workloads[name].traffic);
  return { name: `${whole(users)} users`, server, load };
}

export function describeGrowth({ title, servers, comparison, share, verdict }: Growth): string {
  const times = (one: Comparison["cpu"]) =>
    ratio({ median: 1 / one.median, lowest: 1 / one.highest, highest: 1 / one.lowest });
  const judged = verdict ? `; the limit of ${mostGrowth} is ${shown(verdict)}` : "";
  const lines = [
    runsTable(title, servers),
    `A request costs ${times(comparison.requests)} times as much, by CPU time ${times(comparison.cpu)}${judged}`,
    ...disturbance(share),
  ];
  return `${lines.join("\n")}\n`;
}
