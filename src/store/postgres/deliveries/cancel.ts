import { and, eq, inArray, sql } from "drizzle-orm";
import { execute } from "../../drizzle/dialect.ts";
import type { CancelSubscriptions } from "../../drizzle/subscriptions.ts";
import type { Queries } from "../database/pool.ts";
import { isOneOf } from "../schema/columns.ts";
import { deliveries } from "../schema/deliveries.ts";

/** Of a long backlog of a subscription the beginning; what is behind it is canceled when it would be sent. */
const cancelAtOnce = 10_000;

/**
 * Pending deliveries that end; those in memory, too: their owner learns of it and starts no more of them, and of one that
 * is under way the attempt is kept.
 */
const ended = { next_attempt_at: null, resume_at: null };
// The word itself, because a parameter would not match a partial index.
const isPending = sql`${deliveries.status} = 'pending'`;

export const cancelRemoved: CancelSubscriptions = function* (orm, removed, now) {
  const ids = removed.flatMap((one) => one.ids);
  if (ids.length === 0) return;
  const { seq, subscription_id } = deliveries;
  const isTheirs = and(isOneOf(subscription_id, ids), isPending);
  const some = orm.select({ seq }).from(deliveries).where(isTheirs).limit(cancelAtOnce);
  const canceled = { ...ended, status: "canceled", finished_at: now } as const;
  const cancel = orm.update(deliveries).set(canceled);
  yield* execute(cancel.where(and(isPending, inArray(seq, some))));
};

/** Ends what is pending of an application, inside a transaction. */
export async function endPending(
  orm: Queries["orm"],
  applicationId: string,
  as: "canceled" | "delivered",
  now: number,
): Promise<void> {
  await orm
    .update(deliveries)
    .set({ ...ended, status: as, finished_at: now })
    .where(and(eq(deliveries.application_id, applicationId), isPending));
}
