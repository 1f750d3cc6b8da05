import { and, eq, exists, gt, inArray, isNotNull, lt, type SQL, sql } from "drizzle-orm";
import type { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import { type DeliveryScope, maxAttempts } from "../../../domain/delivery-log.ts";
import { DomainError } from "../../../domain/errors.ts";
import { notSentAgain, type ReplaySkips } from "../../../domain/replays.ts";
import type { Dialect } from "../../drizzle/dialect.ts";
import { requireReceiver } from "../../drizzle/endpoints.ts";
import { finished } from "../database/dialect.ts";
import { deliveries, events, subscriptions } from "../schema/events.ts";

/** So many retries are made due when an endpoint is enabled; those behind them follow their schedule. */
const hurriedAtOnce = 10_000;

const { next_attempt_at, resume_at } = deliveries;
const at = sql`${sql.placeholder("now")}`;
const isIt = eq(deliveries.seq, sql.placeholder("seq"));

/**
 * What a person asks for is an attempt of its own: the schedule goes on behind it, at `resume_at`, as if it were not
 * made.
 */
const askedFor = {
  resume_at: sql`ifnull(${resume_at}, ${next_attempt_at})`,
  next_attempt_at: sql`min(${next_attempt_at}, ${at})`,
};

/** Makes the retries of an application due, within a commit. */
export function hurrier(orm: BunSQLiteDatabase): (applicationId: string, now: number) => void {
  const isRetry = and(
    eq(deliveries.application_id, sql.placeholder("application")),
    gt(next_attempt_at, 0),
    lt(deliveries.attempts, maxAttempts),
  );
  const soonest = orm
    .select({ seq: deliveries.seq })
    .from(deliveries)
    .where(isRetry)
    .orderBy(next_attempt_at)
    .limit(hurriedAtOnce);
  const hurry = orm.update(deliveries).set(askedFor).where(inArray(deliveries.seq, soonest)).prepare();
  return (application, now) => void hurry.run({ application, now });
}

/** Makes deliveries due again, within a commit. What has ended is pending again, with its id and its attempts. */
export function requeuer(orm: BunSQLiteDatabase) {
  const find = orm
    .select({
      status: deliveries.status,
      attempts: deliveries.attempts,
      hasBody: asBoolean(isNotNull(events.body)),
      isWanted: asBoolean(
        exists(
          orm
            .select({ id: subscriptions.id })
            .from(subscriptions)
            .where(eq(subscriptions.id, deliveries.subscription_id)),
        ),
      ),
    })
    .from(deliveries)
    .innerJoin(events, eq(events.seq, deliveries.event_seq))
    .where(isIt)
    .limit(1)
    .prepare();
  // It is asked for, so it is worth sending whatever its age.
  const keep = orm.update(deliveries).set({ expires_at: null }).where(isIt).prepare();
  // What the dispatcher has in memory (null), and what waits for its first attempt (0), is next anyway.
  const hurry = orm
    .update(deliveries)
    .set(askedFor)
    .where(and(isIt, gt(next_attempt_at, 0)))
    .prepare();
  const begin = orm
    .update(deliveries)
    .set({ status: "pending", next_attempt_at: at, resume_at: at, finished_at: null })
    .where(isIt)
    .prepare();
  /** Why it cannot be sent again, or null. */
  const obstacle = (seq: number): keyof ReplaySkips | null => {
    const state = find.get({ seq });
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
      keep.run({ seq });
      if (find.get({ seq })?.status === "pending") hurry.run({ now, seq });
      else begin.run({ now, seq });
      return null;
    },
  };
}

/** A condition as a column that is selected. */
const asBoolean = (condition: SQL) => sql<boolean>`${condition}`.mapWith(Boolean);

/**
 * Makes one delivery due, within a commit, and gives its number. Throws `not_found` or `conflict`.
 * @param shared the same database
 */
export function retrier(orm: BunSQLiteDatabase, shared: Dialect) {
  const { requeue } = requeuer(orm);
  return ({ application_id: app, broadcaster_user_id: user }: DeliveryScope, id: string, now: number) => {
    const found = orm
      .select({ seq: deliveries.seq, application_id: deliveries.application_id })
      .from(deliveries)
      .innerJoin(events, eq(events.seq, deliveries.event_seq))
      .where(
        and(
          eq(deliveries.id, id),
          app === null ? undefined : eq(deliveries.application_id, app),
          user === null ? undefined : eq(events.broadcaster_user_id, user),
        ),
      )
      .limit(1)
      .get();
    if (!found) throw new DomainError("not_found", "There is no delivery with this id");
    finished(requireReceiver(shared.tables, shared.orm, found.application_id));
    const reason = requeue(found.seq, now);
    if (reason) throw new DomainError("conflict", notSentAgain[reason]);
    return found.seq;
  };
}
