import { type DeliveryScope, maxAttempts, type StatusFilter } from "./deliveries.ts";
import { DomainError, type FieldProblem, invalidFields } from "./errors.ts";
import { day } from "./time.ts";

export const replayStates = ["running", "completed", "canceled"] as const;
export type ReplayState = (typeof replayStates)[number];

/** The range of a replay: the deliveries of an application, of events published in a range of time. */
interface ReplayRange {
  readonly subscription_id: string | null;
  readonly status: StatusFilter | null;
  /** Only deliveries of events of this broadcaster. */
  readonly of_broadcaster: number | null;
  readonly type: string | null;
  /** The range of publishing times, `to` exclusive: milliseconds since the epoch. */
  readonly from: number;
  readonly to: number;
}

export interface NewReplay extends ReplayRange, DeliveryScope {
  readonly id: string;
  readonly application_id: string;
  /** Whether to count the deliveries without sending any. */
  readonly dry_run: boolean;
  readonly created_at: number;
}

/** A replay with its progress. */
export interface Replay extends NewReplay {
  readonly state: ReplayState;
  /** The processed part of the range, from 0 to 1. */
  readonly progress: number;
  /** Deliveries in the range. */
  readonly matched: number;
  /** Deliveries that were queued to be sent again; with `dry_run`, that would have been. */
  readonly queued: number;
  readonly skipped: ReplaySkips;
  readonly finished_at: number | null;
}

/** The deliveries that are not sent again, by reason. */
export interface ReplaySkips {
  /** The event's body is no longer stored. */
  readonly body_not_kept: number;
  /** The subscription was deleted. */
  readonly subscription_deleted: number;
  /** The delivery has reached the most attempts. */
  readonly attempts_used_up: number;
}

/** Explains why a delivery is not sent again. */
export const notSentAgain: Readonly<Record<keyof ReplaySkips, string>> = {
  subscription_deleted: "Its subscription was deleted, so it cannot be sent again",
  body_not_kept: "The body of its event is no longer kept, so it cannot be sent again",
  attempts_used_up: `It was attempted ${maxAttempts} times, the maximum for a delivery`,
};

export const replayLimits = {
  maxRangeMs: 31 * day,
  /** Concurrent replays: an application's own, those of one of its users, and those of all its users. */
  maxRunning: { application: 3, user: 1, users: 10 },
  /** Replays that stay listed, by the same owners. */
  maxListed: { application: 100, user: 10, users: 1_000 },
  /** The age at which an unfinished replay is canceled, because its endpoint accepts nothing. */
  maxAgeMs: 7 * day,
} as const;

/** Throws `invalid_parameter` for an invalid range. */
export function checkRange({ from, to }: Pick<ReplayRange, "from" | "to">): void {
  const problem = (field: string, message: string): FieldProblem => ({ in: "body", field, message });
  if (from >= to) throw invalidFields([problem("to", "must be later than from")]);
  if (to - from > replayLimits.maxRangeMs)
    throw invalidFields([problem("to", `must be at most ${replayLimits.maxRangeMs / day} days after from`)]);
}

/** Whether two replays of an application could send the same delivery. */
export function overlap(a: ReplayRange, b: ReplayRange): boolean {
  const share = <T>(ofA: T | null, ofB: T | null) => ofA === null || ofB === null || ofA === ofB;
  return (
    a.from < b.to &&
    b.from < a.to &&
    share(a.subscription_id, b.subscription_id) &&
    share(a.type, b.type) &&
    share(a.of_broadcaster, b.of_broadcaster)
  );
}

/**
 * Throws `conflict` when too many replays are running, or one overlaps the new one. An overlap with a user's replay
 * does not block the application or other users. Dry runs change nothing and may overlap.
 */
export function checkBeside(replay: NewReplay, running: readonly Replay[]): void {
  const { broadcaster_user_id: user } = replay;
  const { maxRunning } = replayLimits;
  const own = running.filter(({ broadcaster_user_id }) => broadcaster_user_id === null);
  const ofUsers = running.filter(({ broadcaster_user_id }) => broadcaster_user_id !== null);
  const ofUser = ofUsers.filter(({ broadcaster_user_id }) => broadcaster_user_id === user);
  if (user === null) atMost(maxRunning.application, own, "this application");
  else {
    atMost(maxRunning.user, ofUser, "this user");
    atMost(maxRunning.users, ofUsers, "users of this application");
  }
  if (replay.dry_run) return;
  const other = [...own, ...ofUser].find((beside) => !beside.dry_run && overlap(beside, replay));
  if (!other) return;
  const whose =
    other.broadcaster_user_id === user ? `The replay ${other.id}` : "A replay of the application itself";
  throw new DomainError(
    "conflict",
    `${whose} is running over a part of the same deliveries; wait for it or cancel it`,
  );
}

function atMost(limit: number, running: readonly Replay[], of: string): void {
  if (running.length < limit) return;
  const message = `${running.length} ${running.length === 1 ? "replay" : "replays"} of ${of} ${running.length === 1 ? "is" : "are"} running; wait for one of them or cancel it`;
  throw new DomainError("conflict", message);
}

/** Replays: jobs that send a range of deliveries again. */
export interface ReplayStore {
  /** Rejects with `conflict` as `checkBeside` does, and when nothing can be sent to the application now. */
  create(replay: NewReplay): Promise<Replay>;
  find(scope: DeliveryScope, id: string): Promise<Replay | null>;
  /** The newest replays, newest first. */
  page(scope: DeliveryScope, limit: number): Promise<Replay[]>;
  /** Ends a running replay. Deliveries that it has queued are still sent. Resolves to false for an unknown id. */
  cancel(scope: DeliveryScope, id: string, now: number): Promise<boolean>;
  running(): Promise<Replay[]>;
  /**
   * Does a small step of a running replay: makes some of its deliveries due, unless many deliveries of the application
   * already are. Stores them together with the replay's position. Resolves to false when there was nothing to do.
   */
  advance(id: string, now: number): Promise<boolean>;
}
