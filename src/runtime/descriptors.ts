import { readdirSync, readFileSync, statSync } from "node:fs";
import { DomainError } from "../domain/errors.ts";
import { once } from "./lazily.ts";

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

/** A thread is not started now, because descriptors are scarce. */
export class ScarceDescriptors extends DomainError {
  constructor() {
    const message =
      "There are too many open files and connections: raise the limit (ulimit -n; LimitNOFILE= of systemd)";
    super("unavailable", message);
  }
}

/** The share of descriptors that must be free for a thread. */
const freePart = 1 / 8;
/**
 * With so many free descriptors, a thread may start whatever the limit is: it opens only a few, but connections may be
 * accepted meanwhile.
 */
const enoughFree = 256;

/** The limit of descriptors, read with the first call: later there may be no descriptor to read it. */
const ofThisProcess = once(() => ({ limit: descriptorLimit() }));

/**
 * Throws `ScarceDescriptors` if few are free. To be called before a thread is started: Bun ends the process when a
 * new thread finds no descriptor.
 *
 * @param limit the limit of descriptors; null when the system does not provide it
 * @param open the number of open ones; null when they cannot be counted, for which some systems need a free one
 */
export function requireFreeDescriptors(limit = ofThisProcess().limit, open = openDescriptors()): void {
  if (limit === null) return;
  const free = limit - (open ?? limit);
  if (free >= Math.min(limit * freePart, enoughFree)) return;
  throw new ScarceDescriptors();
}

/**
 * Starts the thread in which Bun makes the requests of `fetch`. Otherwise the first `fetch` would start it, and Bun
 * would end the process if there were no descriptors for it then. Sends nothing. Throws `ScarceDescriptors`.
 */
export function startFetchThread(): void {
  requireFreeDescriptors();
  // Nothing can listen at a directory, and a request to a Unix socket does not go to the proxy of the environment.
  fetch("http://localhost", { unix: "/" }).catch(() => {});
}
