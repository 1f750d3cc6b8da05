import { second } from "../domain/time.ts";
import type { Log } from "../log/log.ts";
import { descriptorLimit, openDescriptors } from "../runtime/descriptors.ts";

/**
 * The share of descriptors above which public connections make room. The rest is for the admin listener, the store,
 * webhooks, and connections that are accepted between two looks.
 */
const fullPart = 3 / 4;

/** A burst of connections can use up the rest until the next look. */
const everyMs = 50;
/** Counting takes at most this share of the time: before Linux 6.2 it takes longer with each open descriptor. */
const countingPart = 1 / 50;
const logEveryMs = 60 * second;

interface DescriptorWatchOptions {
  readonly log: Log;
  /** Called at each look while descriptors are scarce, and once when they no longer are. */
  readonly scarce: (areScarce: boolean) => void;
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
  let areScarce = false;
  let loggedAt = Number.NEGATIVE_INFINITY;
  let timer: Timer;
  const look = () => {
    const startedAt = performance.now();
    const count = open() ?? 0;
    const tookMs = performance.now() - startedAt;
    const were = areScarce;
    areScarce = count > limit * fullPart;
    if (areScarce && startedAt - loggedAt >= logEveryMs) {
      loggedAt = startedAt;
      log.warn("descriptors_scarce", { open: count, limit });
    }
    if (areScarce || were) scarce(areScarce);
    wait(Math.max(everyMs, tookMs / countingPart));
  };
  const wait = (ms: number) => {
    timer = setTimeout(look, ms);
    timer.unref();
  };
  wait(everyMs);
  return { stop: () => clearTimeout(timer) };
}
