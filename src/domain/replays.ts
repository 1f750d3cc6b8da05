import type { DeliveryStatus } from "./deliveries.ts";
import type { DeliveryScope } from "./delivery-log.ts";
import { DomainError, type FieldProblem, invalidFields } from "./errors.ts";
import { day } from "./time.ts";

export type ReplayState = "running" | "completed" | "canceled";

/** What is to be sent again: the deliveries of an application, of events of a range of time. */
export interface ReplayRange {
  readonly subscription_id: string | null;
  readonly status: DeliveryStatus | null;
  readonly type: string | null;
  /** Events published then or later, and before `to`: milliseconds since the epoch. */
  readonly from: number;
  readonly to: number;
}

export interface NewReplay extends ReplayRange, DeliveryScope {
  readonly id: string;
  readonly application_id: string;
  /** Counts what would be sent again, and sends nothing. */
  readonly dry_run: boolean;
  readonly created_at: number;
}

/** A replay as far as it has come. */
export interface Replay extends NewReplay {
  readonly state: ReplayState;
  /** Which part of the range it has been through, from 0 to 1. */
  readonly progress: number;
  /** Deliveries that it was asked for. */
  readonly matched: number;
  /** Those that were handed to the dispatcher to be sent again; with `dry_run`, that would have been. */
  readonly queued: number;
  readonly skipped: ReplaySkips;
  readonly finished_at: number | null;
}

/** Why deliveries of the range are not sent again. */
export interface ReplaySkips {
  /** The body of the event is no longer kept. */
  readonly body_not_kept: number;
  /** The subscription was deleted. */
  readonly subscription_deleted: number;
  /** It has been attempted as often as a delivery may be. */
  readonly attempts_used_up: number;
}

export const replayLimits = {
  maxRangeMs: 31 * day,
  /** At the same time, for one application. */
  maxRunning: 3,
  /** So many of an application are remembered. */
  maxListed: 100,
  /** One that has not come to its end by then is canceled: its endpoint takes nothing. */
  maxAgeMs: 7 * day,
} as const;

/** Throws `invalid_parameter` for a range that no replay can have. */
export function checkRange({ from, to }: Pick<ReplayRange, "from" | "to">): void {
  const problem = (field: string, message: string): FieldProblem => ({ in: "body", field, message });
  if (from >= to) throw invalidFields([problem("to", "must be later than from")]);
  if (to - from > replayLimits.maxRangeMs)
    throw invalidFields([problem("to", `must be at most ${replayLimits.maxRangeMs / day} days after from`)]);
}

/** Whether two replays of one application could send the same delivery again. */
export function overlap(a: ReplayRange, b: ReplayRange): boolean {
  const share = (one: string | null, other: string | null) => one === null || other === null || one === other;
  return (
    a.from < b.to && b.from < a.to && share(a.subscription_id, b.subscription_id) && share(a.type, b.type)
  );
}

/**
 * Throws `conflict` where an application cannot have another replay beside those that run. Dry runs change nothing and
 * may overlap.
 */
export function checkBeside(replay: NewReplay, running: readonly Replay[]): void {
  if (running.length >= replayLimits.maxRunning) {
    throw new DomainError(
      "conflict",
      `${running.length} replays of this application are running; wait for one of them or cancel it`,
    );
  }
  const other = running.find((one) => !one.dry_run && !replay.dry_run && overlap(one, replay));
  if (other) {
    throw new DomainError(
      "conflict",
      `The replay ${other.id} is running over a part of the same deliveries; wait for it or cancel it`,
    );
  }
}
