import type { Ratio } from "./rounds.ts";

/** How On Air compares to another server: 1 is as good, less is worse. */
export interface Comparison {
  readonly requests: Ratio;
  readonly cpu: Ratio;
}

/** On Air must be at least so good beside another server. */
export interface Floor {
  readonly of: string;
  readonly least: number;
}

export interface Verdict extends Floor {
  /** What was compared; null: nothing, because the other server was not there or the runs were worth nothing. */
  readonly by: keyof Comparison | null;
  readonly met: boolean;
}

/** A server that had less of its core was held up by the load generator or by other work on the machine. */
export const undisturbed = 0.9;
/** With less than that it ran into cold caches after each interruption, so that its CPU time says nothing, either. */
export const measurable = 0.3;

/** @param share the least part of its core that a server had */
export function judge(
  floor: Floor,
  comparisons: Readonly<Record<string, Comparison>>,
  share: number,
): Verdict {
  const comparison = comparisons[floor.of];
  if (!comparison || share < measurable) return { ...floor, by: null, met: false };
  const by = share < undisturbed ? "cpu" : "requests";
  return { ...floor, by, met: comparison[by].median >= floor.least };
}

/** Resident memory of On Air must stay below these. */
export const memoryLimits = { idleBytes: 90 * 2 ** 20, loadedBytes: 200 * 2 ** 20 } as const;

export interface MemoryVerdict {
  readonly when: "idle" | "loaded";
  readonly bytes: number;
  readonly below: number;
  readonly met: boolean;
}

/** @param loadedBytes the most at any time under load */
export function judgeMemory(idleBytes: number, loadedBytes: number): MemoryVerdict[] {
  const verdict = (when: MemoryVerdict["when"], bytes: number, below: number) => {
    return { when, bytes, below, met: bytes < below };
  };
  return [
    verdict("idle", idleBytes, memoryLimits.idleBytes),
    verdict("loaded", loadedBytes, memoryLimits.loadedBytes),
  ];
}
