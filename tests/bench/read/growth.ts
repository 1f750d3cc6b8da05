import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { copyOfData, filledPlatform, publicUrl } from "../support/filled.ts";
import { type Comparison, judgeGrowth, mostGrowth, type Verdict } from "../support/judge.ts";
import { newToken, type OnAir, startOnAir } from "../support/onair.ts";
import { residentBytes } from "../support/processes.ts";
import { ratio, whole } from "../support/report.ts";
import { type Contender, type Measured, measureInTurn, type Pace } from "../support/rounds.ts";
import { prepareLoad } from "../support/wrk.ts";
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
}

export interface Growth {
  readonly name: WorkloadName;
  readonly title: string;
  /** One for each size, the smallest first. */
  readonly servers: readonly MeasuredServer[];
  /** Of the largest to the smallest. */
  readonly comparison: Comparison;
  readonly share: number;
  readonly verdict: Verdict | null;
}

const restMs = 5_000;

/** So long the program is being compiled under load, and caches fill: the more, the more users there are. */
const warmUpSeconds = 20;

/** Serves platforms of all sizes at once, and loads them in turn with the same kind of requests. */
export async function measureGrowth(
  sizes: readonly number[],
  { executable, directory, pace }: { executable: string; directory: string; pace: Pace },
  say: (line: string) => void,
): Promise<Growth[]> {
  const served: Size[] = [];
  for (const users of sizes) served.push(await serve(users, executable, directory, say));
  const outcomes: Growth[] = [];
  for (const { name, judged } of measured) {
    say(`Measuring ${name}`);
    const contenders = await Promise.all(served.map((size) => contender(size, name, directory)));
    const runs = await measureInTurn(contenders, { ...pace, warmUpSeconds });
    const [smallest, largest] = [runs[0], runs.at(-1)] as [Measured, Measured];
    const comparison = compare(largest, smallest);
    const share = shareOf(runs);
    outcomes.push({
      name,
      title: served[0]?.workloads[name].title ?? name,
      servers: runs.map((one, i) => ({ ...one, idleBytes: served[i]?.idleBytes ?? 0 })),
      comparison,
      share,
      verdict: judged ? judgeGrowth(comparison, share) : null,
    });
  }
  await Promise.all(served.map(({ onAir }) => onAir.stop()));
  return outcomes;
}

async function serve(
  users: number,
  executable: string,
  directory: string,
  say: (line: string) => void,
): Promise<Size> {
  const own = join(directory, String(users));
  mkdirSync(own);
  const data = join(own, "data");
  await copyOfData(await filledPlatform(users, say), data);
  say(`Starting with ${whole(users)} users`);
  const onAir = await startOnAir(executable, data, own, { args: ["--public-url", publicUrl] });
  await Bun.sleep(restMs);
  const idleBytes = residentBytes(onAir.pid);
  const token = await newToken(onAir);
  return { users, onAir, idleBytes, workloads: workloads(users, token, "") };
}

async function contender(size: Size, name: WorkloadName, directory: string): Promise<Contender> {
  const own = join(directory, String(size.users), name);
  mkdirSync(own);
  const load = await prepareLoad(own, size.workloads[name].traffic);
  return { name: `${whole(size.users)} users`, server: size.onAir, load };
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
