import type { Database } from "bun:sqlite";
import { and, desc, eq, sql } from "drizzle-orm";
import type { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import type { DeliveryScope } from "../../domain/delivery-log.ts";
import { checkBeside, type NewReplay, type Replay, replayLimits } from "../../domain/replays.ts";
import type { ReplayStore } from "../replays.ts";
import type { Commit } from "./commit.ts";
import { deliveryLog, deliveryNumbers, regionOf, regionSize } from "./delivery-log.ts";
import { receiverCheck, requeuer } from "./requeue.ts";
import { deliveryRegionBits, replays } from "./schema/events.ts";

type Row = typeof replays.$inferSelect;

/** What one step looks at, at most. */
const maxRows = 500;
const maxRegions = 256;
/** With so many deliveries of an application due, its replays wait. */
const maxDue = 64;

/** Jobs that send a range of deliveries again, in steps that keep what they did and how far they came in one commit. */
export function replayStore(db: Database, orm: BunSQLiteDatabase, commit: Commit): ReplayStore {
  const log = deliveryLog(db);
  const numberAt = deliveryNumbers(db);
  const requireReceiver = receiverCheck(db);
  const { obstacle, requeue } = requeuer(db);
  const isRunning = eq(replays.state, sql`'running'`);
  const running = orm.select().from(replays).where(isRunning).prepare();
  const runningOne = orm
    .select()
    .from(replays)
    .where(and(eq(replays.id, sql.placeholder("id")), isRunning))
    .limit(1)
    .prepare();
  const lastDelivery = db.prepare<{ last: number | null }, []>("SELECT max(seq) AS last FROM deliveries");
  const due = db.prepare<{ n: number }, [string, number]>(
    `SELECT count(*) AS n FROM (SELECT 1 FROM deliveries INDEXED BY deliveries_due
                                WHERE application_id = ? AND next_attempt_at <= ? LIMIT ${maxDue})`,
  );
  const isDisabled = db.prepare<{ found: 1 }, [string]>(
    "SELECT 1 AS found FROM endpoints WHERE application_id = ? AND disabled_at IS NOT NULL",
  );
  const inRegion = db.prepare<{ seq: number }, [number, string, number, number]>(
    `SELECT seq FROM deliveries INDEXED BY deliveries_application
     WHERE seq >> ${deliveryRegionBits} = ? AND application_id = ? AND seq >= ? AND seq < ? ORDER BY seq LIMIT ${maxRows}`,
  );
  const wentWrong = db.prepare<{ seq: number }, [string, number, number]>(
    `SELECT seq FROM deliveries INDEXED BY deliveries_failed
     WHERE application_id = ? AND seq >= ? AND seq < ? AND status IN ('failed', 'expired') ORDER BY seq LIMIT ${maxRows}`,
  );
  const forgetOld = ({ application_id, broadcaster_user_id: user }: NewReplay) => {
    const { application, user: ofUser, users } = replayLimits.maxListed;
    if (user === null) return forget.run(application_id, "own", application);
    forget.run(application_id, user, ofUser);
    return forget.run(application_id, "users", users);
  };
  const forget = db.prepare<null, [string, string | number, number]>(
    `WITH listed AS (
       SELECT id, state FROM replays WHERE application_id = ?1 AND CASE ?2
         WHEN 'own' THEN broadcaster_user_id IS NULL
         WHEN 'users' THEN broadcaster_user_id IS NOT NULL
         ELSE broadcaster_user_id = ?2 END)
     DELETE FROM replays WHERE id IN (SELECT id FROM listed ORDER BY id DESC LIMIT -1 OFFSET ?3)
       AND state <> 'running'`,
  );

  const within = ({ application_id, broadcaster_user_id }: DeliveryScope) =>
    and(
      application_id === null ? undefined : eq(replays.application_id, application_id),
      broadcaster_user_id === null ? undefined : eq(replays.broadcaster_user_id, broadcaster_user_id),
    );

  /** Numbers of what may match, in a region of the index; `behind` is where to go on. */
  const ahead = ({ application_id, status, position, end }: Row): { seqs: number[]; behind: number } => {
    const isIndexed = status === "failed" || status === "expired";
    if (isIndexed) {
      const seqs = wentWrong.all(application_id, position, end).map(({ seq }) => seq);
      return { seqs, behind: seqs.length < maxRows ? end : (seqs.at(-1) ?? 0) + 1 };
    }
    for (let regions = 0, at = regionOf(position); ; at++) {
      const seqs = inRegion.all(at, application_id, position, end).map(({ seq }) => seq);
      const behind = seqs.length < maxRows ? Math.min(end, (at + 1) * regionSize) : (seqs.at(-1) ?? 0) + 1;
      if (seqs.length > 0 || behind >= end || ++regions >= maxRegions) return { seqs, behind };
    }
  };

  const isAsked = (replay: Row, seq: number): boolean => {
    const one = log.row(seq);
    return (
      one !== null &&
      (replay.subscription_id === null || one.subscription_id === replay.subscription_id) &&
      (replay.status === null || one.status === replay.status) &&
      (replay.type === null || one.type === replay.type) &&
      (replay.broadcaster_user_id === null || one.broadcaster_user_id === replay.broadcaster_user_id)
    );
  };

  /** How many deliveries may be made due now, so that what is new is not held up behind them. */
  const room = ({ application_id, dry_run }: Row, now: number): number => {
    if (dry_run) return maxRows;
    if (isDisabled.get(application_id)) return 0;
    return maxDue - (due.get(application_id, now)?.n ?? 0);
  };

  const end = (id: string, scope: DeliveryScope, now: number): void => {
    const isIt = and(eq(replays.id, id), within(scope), isRunning);
    orm.update(replays).set({ state: "canceled", finished_at: now }).where(isIt).run();
  };

  const isTooOld = ({ created_at }: Row, now: number) => now - created_at >= replayLimits.maxAgeMs;

  const step = (replay: Row, now: number): void => {
    const left = room(replay, now);
    const { seqs, behind } = ahead(replay);
    const after = { ...replay, position: behind };
    for (const seq of seqs) {
      if (after.queued - replay.queued >= left) {
        after.position = seq;
        break;
      }
      if (!isAsked(replay, seq)) continue;
      const reason = replay.dry_run ? obstacle(seq) : requeue(seq, now);
      after.matched++;
      if (reason === null) after.queued++;
      else after[skipColumns[reason]]++;
    }
    if (after.position >= replay.end) {
      after.state = "completed";
      after.finished_at = now;
    }
    orm.update(replays).set(after).where(eq(replays.id, replay.id)).run();
  };

  const create = (replay: NewReplay): Replay => {
    const { application_id, from, to, ...rest } = replay;
    if (!replay.dry_run) requireReceiver(application_id);
    const others = orm
      .select()
      .from(replays)
      .where(and(eq(replays.application_id, application_id), isRunning))
      .all();
    checkBeside(replay, others.map(shown));
    forgetOld(replay);
    const behind = (lastDelivery.get()?.last ?? 0) + 1;
    const [first, end] = [Math.min(numberAt(from), behind), Math.min(numberAt(to), behind)];
    const row = { ...rest, application_id, from_at: from, to_at: to, first, end, position: first };
    return shown(
      orm
        .insert(replays)
        .values({ ...row, state: "running" })
        .returning()
        .get(),
    );
  };

  return {
    create: (replay) => commit(() => create(replay)),
    async find(scope, id) {
      const row = orm
        .select()
        .from(replays)
        .where(and(eq(replays.id, id), within(scope)))
        .get();
      return row ? shown(row) : null;
    },
    page: async (scope, limit) =>
      orm.select().from(replays).where(within(scope)).orderBy(desc(replays.id)).limit(limit).all().map(shown),
    cancel: (scope, id, now) =>
      commit(() => {
        end(id, scope, now);
        const isIt = and(eq(replays.id, id), within(scope));
        return orm.select({ id: replays.id }).from(replays).where(isIt).get() !== undefined;
      }),
    running: async () => running.all().map(shown),
    async advance(id, now) {
      // Asked outside of a commit, because many may wait for a long time.
      const waiting = runningOne.get({ id });
      if (!waiting) return false;
      if (isTooOld(waiting, now)) return commit(() => end(id, everything, now)).then(() => false);
      if (room(waiting, now) <= 0) return false;
      return commit(() => {
        const row = runningOne.get({ id });
        if (row) step(row, now);
        return row !== undefined;
      });
    },
  };
}

const everything = { application_id: null, broadcaster_user_id: null };

const skipColumns = {
  body_not_kept: "skipped_body",
  subscription_deleted: "skipped_subscription",
  attempts_used_up: "skipped_attempts",
} as const;

function shown(row: Row): Replay {
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
