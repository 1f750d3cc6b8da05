import { descriptorLimit, openDescriptors } from "../../runtime/files.ts";
import type { Log } from "../../runtime/log.ts";

/**
 * The share of descriptors above which public connections make room. The rest is for the admin listener, the store,
 * webhooks, and connections that are accepted between two looks.
 */
const fullPart = 3 / 4;

/** A burst of connections can use up the rest until the next look. */
const everyMs = 50;
/** A look takes at most this share of the time: it takes longer with each open descriptor. */
const lookingPart = 1 / 20;

interface DescriptorWatchOptions {
  readonly log: Log;
  /**
   * Called at each look while descriptors are scarce with the number to set free and the limit, and once with 0
   * afterwards.
   */
  readonly scarce: (excess: number, limit: number) => void;
  readonly limit?: number | null;
  readonly open?: () => number | null;
}

/**
 * Watches the open descriptors of this process. While none is free, Bun accepts no connection on any listener and keeps
 * trying, so public connections have to make room before that. Does nothing where the system does not report them.
 */
export function watchDescriptors({
  log,
  scarce,
  limit = descriptorLimit(),
  open = openDescriptors,
}: DescriptorWatchOptions): { stop(): void } {
  if (limit === null) return { stop() {} };
  const most = Math.floor(limit * fullPart);
  let excess = 0;
  let timer: Timer;
  const look = () => {
    const startedAt = performance.now();
    // Without a free descriptor, they cannot be listed either.
    const count = open() ?? limit;
    const former = excess;
    excess = Math.max(0, count - most);
    if (excess > 0) log.repeated("warn", "descriptors_scarce", "", { open: count, limit });
    if (excess > 0 || former > 0) scarce(excess, limit);
    wait(Math.max(everyMs, (performance.now() - startedAt) / lookingPart));
  };
  const wait = (ms: number) => {
    timer = setTimeout(look, ms);
    timer.unref();
  };
  wait(everyMs);
  return { stop: () => clearTimeout(timer) };
}
