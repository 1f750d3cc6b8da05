import { readdirSync, readFileSync } from "node:fs";

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
    // Minus the descriptor of this read.
    return readdirSync("/proc/self/fd").length - 1;
  } catch {
    return null;
  }
}
