import type { Replay, ReplaySkips } from "../../../domain/replays.ts";
import type { Tables } from "../dialect.ts";

export type ReplayRow = Tables["replays"]["$inferSelect"];

/** A delivery in the range of a replay. */
export interface Candidate {
  readonly seq: number;
  /** Why it cannot be sent again; null when it can. */
  readonly obstacle: keyof ReplaySkips | null;
}

const skipColumns = {
  body_not_kept: "skipped_body",
  subscription_deleted: "skipped_subscription",
  attempts_used_up: "skipped_attempts",
} as const;

/**
 * Returns a replay after a step over its next deliveries, and the numbers of those that are to be sent.
 *
 * @param left how many may be sent
 * @param behind the first number that the step did not read
 */
export function afterStep(
  replay: ReplayRow,
  candidates: readonly Candidate[],
  { left, behind, now }: { readonly left: number; readonly behind: number; readonly now: number },
): { readonly replay: ReplayRow; readonly queued: readonly number[] } {
  const counts = { matched: 0, queued: 0, skipped_body: 0, skipped_subscription: 0, skipped_attempts: 0 };
  const queued: number[] = [];
  let position = behind;
  for (const { seq, obstacle } of candidates) {
    if (queued.length >= left) {
      position = seq;
      break;
    }
    counts.matched++;
    if (obstacle) counts[skipColumns[obstacle]]++;
    else queued.push(seq);
  }
  const isOver = position >= replay.end;
  return {
    queued,
    replay: {
      ...replay,
      position,
      matched: replay.matched + counts.matched,
      queued: replay.queued + queued.length,
      skipped_body: replay.skipped_body + counts.skipped_body,
      skipped_subscription: replay.skipped_subscription + counts.skipped_subscription,
      skipped_attempts: replay.skipped_attempts + counts.skipped_attempts,
      ...(isOver && { state: "completed", finished_at: now }),
    },
  };
}

export function shownReplay(row: ReplayRow): Replay {
  const { from_at: from, to_at: to, first, end, position, ...rest } = row;
  const { skipped_body, skipped_subscription, skipped_attempts, ...replay } = rest;
  const progress = end <= first ? 1 : Math.min(1, (position - first) / (end - first));
  return {
    ...replay,
    from,
    to,
    progress: replay.state === "completed" ? 1 : Math.floor(progress * 1_000) / 1_000,
    skipped: {
      body_not_kept: skipped_body,
      subscription_deleted: skipped_subscription,
      attempts_used_up: skipped_attempts,
    },
  };
}
