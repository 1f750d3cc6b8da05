import type { Goal } from "../support/report.ts";
import type { Ratio } from "../support/rounds.ts";

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

/** A server that had less of its core was held up by the load generator or by other work on the machine. */
export const undisturbed = 0.9;
/** With less than that it ran into cold caches after each interruption, so that its CPU time says nothing, either. */
export const measurable = 0.3;

/**
 * Judges by requests a second, or by CPU time where the run was disturbed; what cannot be judged is missed.
 * `share`: the least part of its core that a server had.
 */
export function judge(
  { of, least }: Floor,
  comparisons: Readonly<Record<string, Comparison>>,
  share: number,
): Goal {
  const comparison = comparisons[of];
  if (!comparison || share < measurable) {
    const why = comparison ? "the machine did other things" : "it was not there";
    return { text: `not judged, because ${why}: goal ${least} of ${of}`, met: false };
  }
  const [figure, by] =
    share < undisturbed ? [comparison.cpu, "CPU time"] : [comparison.requests, "requests a second"];
  const met = figure.median >= least;
  return { text: `${figure.median.toFixed(2)} of ${of} by ${by}, goal ${least}`, met };
}
