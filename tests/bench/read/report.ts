import { megabytes, microseconds, milliseconds, percent, ratio, table, whole } from "../support/report.ts";
import { type Measured, medianOf } from "../support/rounds.ts";
import { measurable, undisturbed } from "./judge.ts";
import type { Comparisons, MeasuredServer } from "./measure.ts";

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
