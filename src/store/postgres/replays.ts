import { and, eq, gte, lt, sql } from "drizzle-orm";
import { maxRows, replayStore } from "../drizzle/deliveries/replays.ts";
import { type Dialect, execute } from "../drizzle/dialect.ts";
import type { ReplayStore } from "../replays.ts";
import { deliveryPositions } from "./deliveries/positions.ts";
import { deliveries } from "./schema/deliveries.ts";

const { seq, application_id, broadcaster_user_id, subscription_id, type, status, published_at } = deliveries;

export const postgresReplays = (shared: Dialect): ReplayStore =>
  replayStore(shared, {
    *range(orm, from, to) {
      const positions = deliveryPositions({ orm });
      const behind = (yield* execute(positions.last())) + 1;
      const range = yield* execute(positions.between(from, to));
      const end = Math.min(range.to ?? behind, behind);
      return { first: Math.min(range.from, end), end };
    },
    *ahead(orm, replay) {
      const wanted = replay.status;
      // Literals, because a parameter would not match the partial index.
      const isFailedOrExpired = sql`${status} IN ('failed', 'expired')`;
      const isNext = and(
        eq(application_id, replay.application_id),
        gte(seq, replay.position),
        lt(seq, replay.end),
        wanted === "failed" || wanted === "expired" ? isFailedOrExpired : undefined,
      );
      const isWanted = sql`(SELECT count(*) > 0 FROM subscriptions s WHERE s.id = ${subscription_id})`;
      const shownStatus = sql`CASE WHEN ${status} <> 'pending' OR ${isWanted} THEN ${status} ELSE 'canceled' END`;
      const isAsked = and(
        gte(published_at, replay.from_at),
        lt(published_at, replay.to_at),
        replay.subscription_id === null ? undefined : eq(subscription_id, replay.subscription_id),
        replay.type === null ? undefined : eq(type, replay.type),
        replay.broadcaster_user_id === null ? undefined : eq(broadcaster_user_id, replay.broadcaster_user_id),
        wanted === null ? undefined : sql`${shownStatus} = ${wanted}`,
      );
      const next = orm.select({ seq, isAsked: sql<boolean>`${isAsked}` }).from(deliveries);
      const looked = yield* execute(next.where(isNext).orderBy(seq).limit(maxRows));
      return {
        seqs: looked.filter((one) => one.isAsked).map((one) => one.seq),
        behind: looked.length < maxRows ? replay.end : (looked.at(-1)?.seq ?? 0) + 1,
      };
    },
  });
