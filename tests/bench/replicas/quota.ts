import { existsSync, mkdirSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { BenchError } from "../support/processes.ts";

/** So short that a process which has used up its share waits for some milliseconds, not for a tenth of a second. */
const periodMicroseconds = 20_000;

/** Holds a process and its threads to a share of a core, by a control group of Linux. Returns what ends that. */
export function holdToShare(pid: number, share: number): () => void {
  const quota = Math.round(periodMicroseconds * share);
  const name = `onair-bench-${pid}`;
  const first = "/sys/fs/cgroup/cpu";
  const isFirst = existsSync(join(first, "cpu.cfs_quota_us"));
  const group = isFirst ? join(first, name) : join("/sys/fs/cgroup", name);
  try {
    mkdirSync(group);
    if (isFirst) {
      writeFileSync(join(group, "cpu.cfs_period_us"), String(periodMicroseconds));
      writeFileSync(join(group, "cpu.cfs_quota_us"), String(quota));
    } else {
      writeFileSync(join(group, "cpu.max"), `${quota} ${periodMicroseconds}`);
    }
    writeFileSync(join(group, "cgroup.procs"), String(pid));
  } catch (error) {
    throw new BenchError(`A share of a core needs root and control groups: ${(error as Error).message}`);
  }
  return () => rmdirSync(group);
}
