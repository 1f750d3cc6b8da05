import { readdirSync, readFileSync, statSync } from "node:fs";

/** The limit of open files and connections (`ulimit -n`); null when the system does not provide it. */
export function descriptorLimit(): number | null {
  try {
    const [, soft] = /^Max open files +(\d+)/m.exec(readFileSync("/proc/self/limits", "latin1")) ?? [];
    return soft === undefined ? null : Number(soft);
  } catch {
    return null;
  }
}

/** The number of open descriptors; null when the system does not provide it. */
export function openDescriptors(): number | null {
  try {
    // Linux counts them itself since 6.2. A list of them includes the descriptor that reads it.
    return statSync("/proc/self/fd").size || readdirSync("/proc/self/fd").length - 1;
  } catch {
    return null;
  }
}
