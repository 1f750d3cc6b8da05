import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { copyOfData, filledPlatform, profileAnswers, publicUrl } from "../support/filled.ts";
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
  readonly workloads: Readonly<Record<WorkloadName, Workload>>;
  /** Keeps the answers of all users in a Map; null where it is not measured. */
  readonly equal: Server | null;
}

export interface Growth {
  readonly name: WorkloadName;
  readonly title: string;
  /** On Air with each size, the smallest first, then `equal` in the same order where it is measured. */
  readonly servers: readonly MeasuredServer[];
  /** Of the largest to the smallest. */
  readonly comparison: Comparison;
  /** The same of `equal`: what merely finding something in so much memory costs here. */
  readonly equal: Comparison | null;
  readonly share: number;
  readonly verdict: Verdict | null;
}

const restMs = 5_000;

/** So long the program is being compiled under load, and caches fill: the more, the more users there are. */
const warmUpSeconds = 20;

export interface GrowthOptions {
  readonly executable: string;
  readonly directory: string;
  readonly pace: Pace;
  /** Whether `equal` is measured beside it: with ten million users it takes 14 GB of memory. */
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
    outcomes.push(await growthOf(name, judged, served, options));
  }
  await Promise.all(served.flatMap(({ onAir, equal }) => [onAir.stop(), equal?.stop()]));
  return outcomes;
}

async function growthOf(
  name: WorkloadName,
  judged: boolean,
  served: readonly Size[],
  { directory, pace }: GrowthOptions,
): Promise<Growth> {
  const contenders = await Promise.all(served.map((size) => contender(size, name, directory)));
  const yardsticks = served.flatMap(({ users, equal, workloads }, i) => {
    const load = contenders[i]?.load;
    if (!equal || !load || !workloads[name].ofAllUsers) return [];
    return [{ name: `equal, ${whole(users)}`, server: equal, load }];
  });
  const all = [...contenders, ...yardsticks];
  const runs = await measureInTurn(all, { ...pace, warmUpSeconds });
  const grown = (some: readonly Measured[]) => compare(some.at(-1) as Measured, some[0] as Measured);
  const [mine, others] = [runs.slice(0, served.length), runs.slice(served.length)];
  const comparison = grown(mine);
  const share = shareOf(runs);
  return {
    name,
    title: served[0]?.workloads[name].title ?? name,
    servers: runs.map((one, i) => ({
      ...one,
      idleBytes: served[i]?.idleBytes ?? residentBytes(all[i]?.server.pid ?? 0),
    })),
    comparison,
    equal: others.length > 0 ? grown(others) : null,
    share,
    verdict: judged ? judgeGrowth(comparison, share) : null,
  };
}

async function serve(
  users: number,
  { executable, directory, withEqual }: GrowthOptions,
  say: Say,
): Promise<Size> {
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
  const all = workloads(users, token, "");
  const equal = withEqual
    ? await startEqual(onAir, all["get-user-zipf"], own, profileAnswers(filled, say))
    : null;
  return { users, onAir, idleBytes, workloads: all, equal };
}

/** @param answers the file of the answers of all users */
async function startEqual(
  onAir: OnAir,
  workload: Workload,
  own: string,
  answers: Promise<string>,
): Promise<Server> {
  const directory = join(own, "equal");
  mkdirSync(directory);
  const { traffic, token, status } = workload;
  await captureAnswers(directory, onAir, { ...traffic, paths: traffic.paths.slice(0, 1) }, status);
  const equal = await startYardstick("equal", {
    directory,
    file: await answers,
    keyAfter: usersPath,
    token,
  });
  await requireEqualAnswers(onAir, equal, workload);
  return equal;
}

async function contender(size: Size, name: WorkloadName, directory: string): Promise<Contender> {
  const own = join(directory, String(size.users), name);
  mkdirSync(own);
  const load = await prepareLoad(own, size.workloads[name].traffic);
  return { name: `${whole(size.users)} users`, server: size.onAir, load };
}

export function describeGrowth({ title, servers, comparison, equal, share, verdict }: Growth): string {
  const times = (one: Comparison["cpu"]) =>
    ratio({ median: 1 / one.median, lowest: 1 / one.highest, highest: 1 / one.lowest });
  const grown = (one: Comparison) =>
    `costs ${times(one.requests)} times as much, by CPU time ${times(one.cpu)}`;
  const judged = verdict ? `; the limit of ${mostGrowth} is ${shown(verdict)}` : "";
  const lines = [
    runsTable(title, servers),
    `A request ${grown(comparison)}${judged}`,
    ...(equal ? [`With equal it ${grown(equal)}`] : []),
    ...disturbance(share),
  ];
  return `${lines.join("\n")}\n`;
}
