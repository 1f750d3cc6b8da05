import { readdirSync, readFileSync, statSync } from "node:fs";
import { DomainError } from "../domain/errors.ts";

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

/**
 * The share of descriptors that must be free for a thread. It opens only a few, but beside it connections may be
 * accepted.
 */
const freePart = 1 / 8;

/** The limit of descriptors, read with the first call: later there may be no descriptor to read it. */
let limit: { readonly descriptors: number | null } | null = null;

/**
 * Throws `unavailable` if descriptors are scarce. To be called before a thread is started, and before a `fetch`, whose
 * first call in a process starts Bun's: Bun ends the process when a new thread finds no descriptor.
 */
export function requireFreeDescriptors(): void {
  limit ??= { descriptors: descriptorLimit() };
  const { descriptors } = limit;
  if (descriptors === null) return;
  // Without a free descriptor, the open ones cannot be counted on every system.
  const free = descriptors - (openDescriptors() ?? descriptors);
  if (free >= descriptors * freePart) return;
  const message =
    "There are too many open files and connections: raise the limit (ulimit -n; LimitNOFILE= of systemd)";
  throw new DomainError("unavailable", message);
}
