import { readdirSync, readFileSync } from "node:fs";

/** How many files and connections this process may have open (`ulimit -n`); null where the system does not tell. */
export function descriptorLimit(): number | null {
  try {
    const [, soft] = /^Max open files +(\d+)/m.exec(readFileSync("/proc/self/limits", "latin1")) ?? [];
    return soft === undefined ? null : Number(soft);
  } catch {
    return null;
  }
}

/** How many it has open; null where the system does not tell. */
export function openDescriptors(): number | null {
  try {
    // The one by which this is read is among them.
    return readdirSync("/proc/self/fd").length - 1;
  } catch {
    return null;
  }
}
