import { and, count, desc, eq, inArray, isNotNull, isNull, lte, ne, type SQL, sql } from "drizzle-orm";
import { type DeliveryScope, everything } from "../../domain/deliveries.ts";
import { ownerGone } from "../../domain/errors.ts";
import {
  checkBeside,
  type NewReplay,
  type Replay,
  type ReplaySkips,
  type ReplayStore,
  replayLimits,
} from "../../domain/replays.ts";
import { obstacleOf, requeue } from "./deliveries.ts";
import { type Dialect, execute, lockOwner, type Orm, type Tables, type Work } from "./dialect.ts";
import { requireReceiver, whyNoReceiver } from "./endpoints.ts";

export type ReplayRow = Tables["replays"]["$inferSelect"];

/** A delivery in the range of a replay. */
interface Candidate {
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
 * @param next the first number that the step did not read
 */
function afterStep(
  replay: ReplayRow,
  candidates: readonly Candidate[],
  { left, next, now }: { readonly left: number; readonly next: number; readonly now: number },
): { readonly replay: ReplayRow; readonly queued: readonly number[] } {
  const after = { ...replay, position: next };
  const queued: number[] = [];
  for (const { seq, obstacle } of candidates) {
    if (queued.length >= left) {
      after.position = seq;
      break;
    }
    after.matched++;
    if (obstacle) after[skipColumns[obstacle]]++;
    else queued.push(seq);
  }
  after.queued += queued.length;
  const isOver = after.position >= replay.end;
  return { queued, replay: isOver ? { ...after, state: "completed", finished_at: now } : after };
}

function replayOf(row: ReplayRow): Replay {
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

/** The most deliveries that one step reads. */
export const maxRows = 500;
/** Replays of an application wait while it has this many due deliveries. */
const maxDue = 64;

/** Reads of the log of deliveries, specific to a database. */
interface OwnLog {
  /** The numbers of deliveries published between two times, from `first` to below `end`. */
  range(orm: Orm, from: number, to: number): Work<{ readonly first: number; readonly end: number }>;
  /** The next deliveries that match a replay, and the number from which the next step reads (`next`). */
  ahead(orm: Orm, replay: ReplayRow): Work<{ readonly seqs: readonly number[]; readonly next: number }>;
}

/** Replays. Each step commits its changes together with the replay's new position. */
export function replayStore(db: Dialect, log: OwnLog): ReplayStore {
  const { orm, tables, transact, runEach, lock } = db;
  const { applications, deliveries, replays } = tables;
  // A literal, because a parameter would not match the partial index.
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

  /** Throws `conflict` when a running replay excludes this replay. Removes old replays that are no longer listed. */
  function* admit(orm: Orm, replay: NewReplay): Work<void> {
    const isOwners = eq(replays.application_id, replay.application_id);
    const others = yield* execute(orm.select().from(replays).where(and(isOwners, isRunning)));
    checkBeside(replay, others.map(replayOf));
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
  }

  function* create(orm: Orm, replay: NewReplay): Work<Replay> {
    const { from, to, ...rest } = replay;
    // Locked, so that two replays of an application are created one after the other, and the second sees the first.
    if (!(yield* lockOwner(db, orm, applications, replay.application_id, "no key update"))) throw ownerGone();
    if (!replay.dry_run) yield* requireReceiver(tables, orm, replay.application_id);
    yield* admit(orm, replay);
    const range = yield* log.range(orm, from, to);
    const times = { from_at: from, to_at: to, position: range.first };
    const row = { ...rest, ...range, ...times, state: "running" as const };
    const [made] = yield* execute(orm.insert(replays).values(row).returning());
    if (!made) throw new Error("The replay was not stored");
    return replayOf(made);
  }

  /** Returns how many deliveries may be made due now. The limit keeps new deliveries from waiting after a replay. */
  function* capacity(orm: Orm, { application_id, dry_run }: ReplayRow, now: number): Work<number> {
    if (dry_run) return maxRows;
    if (yield* whyNoReceiver(tables, orm, application_id)) return 0;
    const isDue = and(
      eq(deliveries.application_id, application_id),
      sql`${deliveries.status} = 'pending'`,
      lte(deliveries.next_attempt_at, now),
    );
    const some = orm.select({ seq: deliveries.seq }).from(deliveries).where(isDue).limit(maxDue).as("some");
    const [due] = yield* execute(orm.select({ n: count() }).from(some));
    return maxDue - (due?.n ?? maxDue);
  }

  function* step(orm: Orm, id: string, now: number): Work<boolean> {
    const isIt = and(eq(replays.id, id), isRunning);
    const [replay] = yield* execute(lock(orm.select().from(replays).where(isIt), "update"));
    if (!replay) return false;
    const left = yield* capacity(orm, replay, now);
    const { seqs, next } = yield* log.ahead(orm, replay);
    const { seq } = deliveries;
    const query = orm.select({ seq, obstacle: obstacleOf(tables) }).from(deliveries);
    const candidates = yield* execute(query.where(db.isOneOf(seq, seqs)).orderBy(seq));
    const after = afterStep(replay, candidates, { left, next, now });
    if (!replay.dry_run) yield* requeue(db, orm, after.queued, now);
    yield* execute(orm.update(replays).set(after.replay).where(eq(replays.id, id)));
    return true;
  }

  return {
    create: (replay) => transact((orm) => create(orm, replay)),
    async find(scope, id) {
      const isIt = and(eq(replays.id, id), within(scope));
      const [row] = await orm.select().from(replays).where(isIt);
      return row ? replayOf(row) : null;
    },
    async page(scope, limit) {
      const rows = orm.select().from(replays).where(within(scope)).orderBy(desc(replays.id)).limit(limit);
      return (await rows).map(replayOf);
    },
    running: async () => (await orm.select().from(replays).where(isRunning)).map(replayOf),
    cancel: (scope, id, now) =>
      runEach(function* (orm) {
        yield* execute(ended(orm, id, scope, now));
        const isIt = and(eq(replays.id, id), within(scope));
        return (yield* execute(orm.select({ id: replays.id }).from(replays).where(isIt))).length > 0;
      }),
    async advance(id, now) {
      const isIt = and(eq(replays.id, id), isRunning);
      // Read outside of a transaction, because many replays may wait for a long time.
      const [waiting] = await orm.select().from(replays).where(isIt);
      if (!waiting) return false;
      if (now - waiting.created_at >= replayLimits.maxAgeMs) {
        await db.write(ended(orm, id, everything, now));
        return false;
      }
      if ((await db.read((orm) => capacity(orm, waiting, now))) <= 0) return false;
      return transact((orm) => step(orm, id, now));
    },
  };
}
