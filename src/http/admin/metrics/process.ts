import { descriptorLimit, openDescriptors } from "../../../runtime/descriptors.ts";
import { commit, version } from "../../../runtime/version.ts";
import type { AdminDeps } from "../base.ts";
import { type AnyMetric, counter, gauge } from "./exposition.ts";

/** Metrics of the process, under Prometheus's standard names if they exist. */
export function processMetrics({ facts }: AdminDeps, isReady: boolean): AnyMetric[] {
  const { user, system } = process.cpuUsage();
  const database = facts.watched?.database ?? "";
  const expiries = facts.watched?.certificates() ?? [];
  return [
    {
      type: "gauge",
      name: "onair_build_info",
      help: "1, with the version and its commit.",
      samples: [{ labels: { version, commit: commit ?? "", bun: Bun.version, database }, value: 1 }],
    },
    ...gauge("onair_ready", "Whether the server should receive requests, by /readyz.", isReady ? 1 : 0),
    ...gauge("process_start_time_seconds", "Start time of the process, since the epoch.", startedAt()),
    counter("process_cpu_seconds", "Processor time of all threads.", (user + system) / 1e6),
    ...gauge("process_resident_memory_bytes", "Resident memory.", residentBytes()),
    ...gauge("process_open_fds", "Open files and connections.", openDescriptors()),
    ...gauge("process_max_fds", "Maximum number of open files and connections.", descriptorLimit()),
    {
      type: "gauge",
      name: "onair_tls_certificate_expiry_timestamp_seconds",
      help: "Expiry time of the current certificate, since the epoch.",
      samples: expiries.map(({ listener, expiresAt }) => ({ labels: { listener }, value: expiresAt / 1000 })),
    },
  ];
}

const startedAt = () => Math.round(performance.timeOrigin) / 1000;

/** Returns null if the system does not provide the value, as in a root without /proc. */
function residentBytes(): number | null {
  try {
    return process.memoryUsage.rss();
  } catch {
    return null;
  }
}
