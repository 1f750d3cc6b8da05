import { type MemoryVerdict, measurable, undisturbed, type Verdict } from "../support/judge.ts";
import { megabytes, milliseconds, ratio, table, whole } from "../support/report.ts";
import { type Measured, medianOf } from "../support/rounds.ts";
import type { MeasuredServer, Outcome } from "./measure.ts";

/** The runs of servers as rows, under a head of their own. */
function runsTable(title: string, servers: readonly MeasuredServer[]): string {
  const rows = servers.map((server) => [
    server.name,
    whole(medianOf(server, "requestsPerSecond")),
    milliseconds(medianOf(server, "p50Ms")),
    milliseconds(medianOf(server, "p99Ms")),
    `${medianOf(server, "cpuMicroseconds").toFixed(1)} µs`,
    megabytes(server.idleBytes),
    megabytes(peakOf(server)),
  ]);
  return table([[title, "req/s", "p50", "p99", "CPU a request", "RSS idle", "at most"], ...rows]);
}

/** The most resident memory that a server had in any run. */
export function peakOf({ runs }: Measured): number {
  return Math.max(...runs.map(({ peakBytes }) => peakBytes));
}

function disturbance(share: number): string[] {
  if (share >= undisturbed) return [];
  const part = `${(share * 100).toFixed(0)} %`;
  const counts =
    share < measurable ? "None of this counts." : "Only the ratio by CPU time counts, not req/s.";
  return [`Disturbed: a server had only ${part} of its core. ${counts}`];
}

export function describe({ workload, servers, comparisons, share, verdicts }: Outcome): string {
  const lines = [runsTable(workload.title, servers)];
  for (const [name, { requests, cpu }] of Object.entries(comparisons)) {
    const verdict = verdicts.find(({ of, by }) => of === name && by !== null);
    const judged = verdict ? `; the floor of ${verdict.least} is ${shown(verdict)}` : "";
    lines.push(`On Air is ${ratio(requests)} of ${name}, by CPU time ${ratio(cpu)}${judged}`);
  }
  for (const verdict of verdicts.filter(({ by }) => by === null)) {
    const why = comparisons[verdict.of] ? "the machine did other things" : "it was not there";
    lines.push(`NOT JUDGED: ${verdict.least} of ${verdict.of}, because ${why}; that counts as missed`);
  }
  return `${[...lines, ...disturbance(share)].join("\n")}\n`;
}

/** Whether a floor or limit is met. */
function shown({ met, by }: { readonly met: boolean; readonly by?: Verdict["by"] }): string {
  if (by === null) return "NOT JUDGED, which counts as missed";
  return met ? "met" : "NOT met";
}

export function describeMemory(verdicts: readonly MemoryVerdict[]): string {
  const lines = verdicts.map(({ when, bytes, below, met }) => {
    const name = when === "idle" ? "Idle" : "Under load, at most,";
    return `${name} On Air takes ${megabytes(bytes)}; the limit of ${megabytes(below)} is ${shown({ met })}`;
  });
  return `${lines.join("\n")}\n`;
}
