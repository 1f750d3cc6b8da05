import { and, eq, inArray, isNotNull, sql } from "drizzle-orm";
import type { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import type { RemovedSubscriptions } from "../../subscriptions.ts";
import { isOneOf } from "../schema/columns.ts";
import { deliveries, isHandedOut } from "../schema/events.ts";

/** Of a long backlog of a subscription the beginning; what is behind it is canceled when it would be sent. */
const cancelAtOnce = 10_000;

const ended = {
  status: sql`${sql.placeholder("status")}`,
  finished_at: sql`${sql.placeholder("now")}`,
};
const canBeClaimed = and(
  eq(deliveries.application_id, sql.placeholder("application")),
  isNotNull(deliveries.next_attempt_at),
);

/** Cancels pending deliveries, inside a transaction. */
export function deliveryCanceler(orm: BunSQLiteDatabase) {
  const claimable = orm
    .update(deliveries)
    .set({ ...ended, next_attempt_at: null })
    .where(canBeClaimed)
    .prepare();
  const { seq, subscription_id } = deliveries;
  const some = orm
    .select({ seq, subscription_id })
    .from(deliveries)
    .where(canBeClaimed)
    .limit(cancelAtOnce)
    .as("some");
  const theirs = orm
    .select({ seq: some.seq })
    .from(some)
    .where(isOneOf(some.subscription_id, sql.placeholder("subscriptions")));
  const claimableOf = orm
    .update(deliveries)
    .set({ ...ended, next_attempt_at: null })
    .where(inArray(seq, theirs))
    .prepare();
  // These the dispatcher has in memory. It learns of it, and starts no more of them; of one that is under way the attempt
  // is kept, but no retry follows.
  const all = orm.select({ seq: deliveries.seq }).from(deliveries).where(isHandedOut);
  const handedOut = orm
    .update(deliveries)
    .set(ended)
    .where(and(inArray(deliveries.seq, all), eq(deliveries.application_id, sql.placeholder("application"))))
    .prepare();

  return {
    /** Ends what is pending of an application. */
    ofApplication(application: string, status: "canceled" | "delivered", now: number): void {
      claimable.run({ status, application, now });
      handedOut.run({ status, application, now });
    },
    /** Of these subscriptions, what is in the store; the rest is the dispatcher's to cancel. */
    ofSubscriptions(removed: readonly RemovedSubscriptions[], now: number): void {
      for (const { application_id: application, ids } of removed) {
        if (ids.length === 0) continue;
        claimableOf.run({ status: "canceled", application, subscriptions: JSON.stringify(ids), now });
      }
    },
  };
}
