import type { Queries } from "../database/pool.ts";

/** Of a long backlog of a subscription the beginning; what is behind it is canceled when it would be sent. */
const cancelAtOnce = 10_000;

/**
 * Ends pending deliveries; those in memory, too: their owner learns of it and starts no more of them, and of one that is
 * under way the attempt is kept.
 */
const ending =
  "UPDATE deliveries SET status = $1, next_attempt_at = NULL, resume_at = NULL, finished_at = $2";

const ofApplication = `${ending} WHERE application_id = $3 AND status = 'pending'`;

const ofSubscriptions = `${ending}
  WHERE status = 'pending' AND seq IN (
    SELECT seq FROM deliveries WHERE subscription_id = ANY($3::text[]) AND status = 'pending' LIMIT ${cancelAtOnce})`;

/** Cancels what is pending of these subscriptions, inside a transaction. */
export async function cancelSubscriptions(
  transaction: Queries,
  ids: readonly string[],
  now: number,
): Promise<void> {
  if (ids.length > 0) await transaction.run(ofSubscriptions, ["canceled", now, ids]);
}

/**
 * Ends what is pending of an application, inside a transaction. As `delivered` where it uses only its event stream from
 * now on: there it can be read.
 */
export async function endPending(
  transaction: Queries,
  applicationId: string,
  as: "canceled" | "delivered",
  now: number,
): Promise<void> {
  await transaction.run(ofApplication, [as, now, applicationId]);
}
