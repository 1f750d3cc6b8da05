import type { Database } from "bun:sqlite";
import type { DeliveryStatus } from "../../domain/deliveries.ts";
import { type DeliveryScope, maxAttempts, noReceiver } from "../../domain/delivery-log.ts";
import { DomainError, ownerGone } from "../../domain/errors.ts";
import type { ReplaySkips } from "../../domain/replays.ts";

interface State {
  readonly status: DeliveryStatus;
  readonly attempts: number;
  readonly hasBody: 0 | 1;
  readonly isWanted: 0 | 1;
}

/** So many retries are made due when an endpoint is enabled; those behind them follow their schedule. */
const hurriedAtOnce = 10_000;

/**
 * What a person asks for is an attempt of its own: the schedule goes on behind it, at `resume_at`, as if it were not
 * made.
 */
const askedFor = `resume_at = ifnull(resume_at, next_attempt_at), next_attempt_at = min(next_attempt_at, ?)`;

/** Makes the retries of an application due, within a commit. */
export function hurrier(db: Database): (applicationId: string, now: number) => void {
  const hurry = db.prepare<null, [number, string]>(
    `UPDATE deliveries SET ${askedFor}
     WHERE seq IN (SELECT seq FROM deliveries
                   WHERE application_id = ? AND next_attempt_at > 0 AND attempts < ${maxAttempts}
                   ORDER BY next_attempt_at LIMIT ${hurriedAtOnce})`,
  );
  return (applicationId, now) => void hurry.run(now, applicationId);
}

/** Makes deliveries due again, within a commit. What has ended is pending again, with its id and its attempts. */
export function requeuer(db: Database) {
  const find = db.prepare<State, [number]>(
    `SELECT d.status, d.attempts, e.body IS NOT NULL AS hasBody,
            EXISTS (SELECT 1 FROM subscriptions s WHERE s.id = d.subscription_id) AS isWanted
     FROM deliveries d JOIN events e ON e.seq = d.event_seq WHERE d.seq = ?`,
  );
  // What the dispatcher has in memory (null), and what waits for its first attempt (0), is about to be sent anyway.
  const hurry = db.prepare<null, [number, number]>(
    `UPDATE deliveries SET ${askedFor}, expires_at = NULL WHERE seq = ? AND next_attempt_at > 0`,
  );
  // It is asked for, so it is worth sending whatever its age.
  const begin = db.prepare<null, [number, number]>(
    `UPDATE deliveries SET status = 'pending', next_attempt_at = ?1, resume_at = ?1, finished_at = NULL,
       expires_at = NULL
     WHERE seq = ?2`,
  );
  /** Why it cannot be sent again, or null. */
  const obstacle = (seq: number): keyof ReplaySkips | null => {
    const state = find.get(seq);
    if (!state?.isWanted) return "subscription_deleted";
    if (!state.hasBody) return "body_not_kept";
    return state.attempts >= maxAttempts ? "attempts_used_up" : null;
  };
  return {
    obstacle,
    /** Makes it due at `now`; or changes nothing and gives why it cannot be sent. */
    requeue(seq: number, now: number): keyof ReplaySkips | null {
      const reason = obstacle(seq);
      if (reason) return reason;
      if (find.get(seq)?.status === "pending") hurry.run(now, seq);
      else begin.run(now, seq);
      return null;
    },
  };
}

/** Throws `conflict` where nothing can be sent to an application now. */
export function receiverCheck(db: Database) {
  const find = db.prepare<{ receives: 0 | 1; disabled_reason: string | null }, [string]>(
    `SELECT a.webhook_url IS NOT NULL AND NOT a.disabled AND a.delivery <> 'stream' AS receives, e.disabled_reason
     FROM applications a LEFT JOIN endpoints e ON e.application_id = a.id WHERE a.id = ?`,
  );
  return (applicationId: string): void => {
    const found = find.get(applicationId);
    if (!found) throw ownerGone();
    if (!found.receives) throw noReceiver();
    if (found.disabled_reason === null) return;
    const why = found.disabled_reason === "gone" ? "it answered 410" : "it failed for too long";
    throw new DomainError(
      "conflict",
      `The endpoint is disabled, because ${why}; nothing is sent before the platform enables it again`,
    );
  };
}

const refusals: Readonly<Record<keyof ReplaySkips, string>> = {
  subscription_deleted: "Its subscription was deleted, so it cannot be sent again",
  body_not_kept: "The body of its event is no longer kept, so it cannot be sent again",
  attempts_used_up: `It was attempted ${maxAttempts} times, which is as often as a delivery may be`,
};

/** Makes one delivery due, within a commit, and gives its number. Throws `not_found` or `conflict`. */
export function retrier(db: Database) {
  const { requeue } = requeuer(db);
  const requireReceiver = receiverCheck(db);
  const find = db.prepare<
    { seq: number; application_id: string },
    [string, string | null, string | null, number | null, number | null]
  >(
    `SELECT d.seq, d.application_id FROM deliveries d JOIN events e ON e.seq = d.event_seq WHERE d.id = ?
       AND (? IS NULL OR d.application_id = ?) AND (? IS NULL OR e.broadcaster_user_id = ?)`,
  );
  return ({ application_id: app, broadcaster_user_id: user }: DeliveryScope, id: string, now: number) => {
    const found = find.get(id, app, app, user, user);
    if (!found) throw new DomainError("not_found", "There is no delivery with this id");
    requireReceiver(found.application_id);
    const reason = requeue(found.seq, now);
    if (reason) throw new DomainError("conflict", refusals[reason]);
    return found.seq;
  };
}
