import type { Goal } from "../support/report.ts";
import type { Ratio } from "../support/rounds.ts";

/** The ratio of On Air to another server: 1 is equal, less is worse. */
export interface Comparison {
  readonly requests: Ratio;
  readonly cpu: Ratio;
}

/** The least ratio that On Air must reach. */
export interface Floor {
  readonly of: string;
  readonly least: number;
}

/** Below this share of its core, a server was delayed by the load generator or by other work on the machine. */
export const undisturbed = 0.9;
/** Below this share, caches were cold after each interruption, so that its CPU time is not comparable either. */
export const measurable = 0.3;

/**
 * Compares requests per second, or CPU time if the run was disturbed. A floor that cannot be judged is missed.
 * `share` is the smallest share of its core that a server had.
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
