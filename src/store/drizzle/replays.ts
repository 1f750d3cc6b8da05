import { and, desc, eq, inArray, isNotNull, isNull, ne, type SQL, sql } from "drizzle-orm";
import type { DeliveryScope } from "../../domain/delivery-log.ts";
import { checkBeside, type NewReplay, type Replay, replayLimits } from "../../domain/replays.ts";
import type { ReplayStore } from "../replays.ts";
import { shownReplay } from "../rows/replay-rows.ts";
import { type Dialect, execute, type Orm, type Work } from "./dialect.ts";

/** What a replay is apart from the deliveries that it sends. */
export function replayRecords({ orm, tables: { replays }, inTurn, write }: Dialect) {
  // The word itself, because a parameter would not match the partial index.
  const isRunning = sql`${replays.state} = 'running'`;

  const within = ({ application_id, broadcaster_user_id }: DeliveryScope) =>
    and(
      application_id === null ? undefined : eq(replays.application_id, application_id),
      broadcaster_user_id === null ? undefined : eq(replays.broadcaster_user_id, broadcaster_user_id),
    );
  const ended = (orm: Orm, id: string, scope: DeliveryScope, now: number) =>
    orm
      .update(replays)
      .set({ state: "canceled", finished_at: now })
      .where(and(eq(replays.id, id), within(scope), isRunning));

  const records: Pick<ReplayStore, "find" | "page" | "running" | "cancel"> = {
    async find(scope, id) {
      const isIt = and(eq(replays.id, id), within(scope));
      const [row] = await orm.select().from(replays).where(isIt);
      return row ? shownReplay(row) : null;
    },
    async page(scope, limit) {
      const rows = orm.select().from(replays).where(within(scope)).orderBy(desc(replays.id)).limit(limit);
      return (await rows).map(shownReplay);
    },
    running: async () => (await orm.select().from(replays).where(isRunning)).map(shownReplay),
    cancel: (scope, id, now) =>
      inTurn(function* (orm) {
        yield* execute(ended(orm, id, scope, now));
        const isIt = and(eq(replays.id, id), within(scope));
        return (yield* execute(orm.select({ id: replays.id }).from(replays).where(isIt))).length > 0;
      }),
  };

  return {
    records,
    end: (id: string, scope: DeliveryScope, now: number) => write(ended(orm, id, scope, now)),
    /** One that still runs; null: it has ended. */
    async running(id: string) {
      const isIt = and(eq(replays.id, id), isRunning);
      return (await orm.select().from(replays).where(isIt))[0] ?? null;
    },
    /** Throws `conflict` where a running replay excludes this one; then forgets the oldest that are not listed any more. */
    *makeWay(orm: Orm, replay: NewReplay): Work<void> {
      const isOwners = eq(replays.application_id, replay.application_id);
      const others = yield* execute(orm.select().from(replays).where(and(isOwners, isRunning)));
      checkBeside(replay, others.map(shownReplay));
      const { broadcaster_user_id: user } = replay;
      const { application, user: ofUser, users } = replayLimits.maxListed;
      const keep = (most: number, which: SQL) => {
        const older = orm
          .select({ id: replays.id })
          .from(replays)
          .where(and(isOwners, which))
          .orderBy(desc(replays.id))
          .limit(Number.MAX_SAFE_INTEGER)
          .offset(most);
        return execute(
          orm.delete(replays).where(and(inArray(replays.id, older), ne(replays.state, "running"))),
        );
      };
      if (user === null) yield* keep(application, isNull(replays.broadcaster_user_id));
      else {
        yield* keep(ofUser, eq(replays.broadcaster_user_id, user));
        yield* keep(users, isNotNull(replays.broadcaster_user_id));
      }
    },
    /** Adds one with the numbers of its range. */
    *add(orm: Orm, replay: NewReplay, range: { first: number; end: number }): Work<Replay> {
      const { from, to, ...rest } = replay;
      const row = {
        ...rest,
        ...range,
        from_at: from,
        to_at: to,
        position: range.first,
        state: "running" as const,
      };
      const [made] = yield* execute(orm.insert(replays).values(row).returning());
      if (!made) throw new Error("The replay was not kept");
      return shownReplay(made);
    },
  };
}
