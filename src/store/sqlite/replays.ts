import type { Database } from "bun:sqlite";
import { and, count, eq, lte, sql } from "drizzle-orm";
import type { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import { everything } from "../../domain/delivery-log.ts";
import { type NewReplay, type Replay, replayLimits } from "../../domain/replays.ts";
import { requireReceiver, whyNoReceiver } from "../drizzle/endpoints.ts";
import { replayRecords } from "../drizzle/replays.ts";
import type { ReplayStore } from "../replays.ts";
import { afterStep, type Candidate, type ReplayRow } from "../rows/replay-rows.ts";
import type { Commit } from "./database/commit.ts";
import { finished, sqliteDialect } from "./database/dialect.ts";
import { deliveryIndexes } from "./deliveries/indexes.ts";
import { deliveryLog, matches } from "./deliveries/log.ts";
import { deliveryPositions, regionOf, regionSize } from "./deliveries/positions.ts";
import { requeuer } from "./deliveries/requeue.ts";
import { deliveries, replays } from "./schema/events.ts";

/** What one step looks at, at most. */
const maxRows = 500;
const maxRegions = 256;
/** With so many deliveries of an application due, its replays wait. */
const maxDue = 64;

/** Jobs that send a range of deliveries again, in steps that keep what they did and how far they came in one commit. */
export function replayStore(db: Database, orm: BunSQLiteDatabase, commit: Commit): ReplayStore {
  const shared = sqliteDialect(orm, commit);
  const { records, end, running, makeWay, add } = replayRecords(shared);
  const log = deliveryLog(db, orm);
  const { last, since } = deliveryPositions(orm);
  const { inRegion, wentWrong } = deliveryIndexes(db, "ASC");
  const { obstacle, requeue } = requeuer(orm);
  const runningOne = orm
    .select()
    .from(replays)
    .where(and(eq(replays.id, sql.placeholder("id")), eq(replays.state, sql`'running'`)))
    .limit(1)
    .prepare();
  const isDue = and(
    eq(deliveries.application_id, sql.placeholder("id")),
    lte(deliveries.next_attempt_at, sql.placeholder("now")),
  );
  const some = orm.select({ seq: deliveries.seq }).from(deliveries).where(isDue).limit(maxDue).as("some");
  const due = orm.select({ n: count() }).from(some).prepare();

  /** Numbers of what may match, in a region of the index; `behind` is where to go on. */
  const ahead = ({
    application_id,
    status,
    position,
    end,
  }: ReplayRow): { seqs: number[]; behind: number } => {
    const isIndexed = status === "failed" || status === "expired";
    if (isIndexed) {
      const seqs = wentWrong.all(application_id, position, end, maxRows).map(({ seq }) => seq);
      return { seqs, behind: seqs.length < maxRows ? end : (seqs.at(-1) ?? 0) + 1 };
    }
    for (let regions = 0, at = regionOf(position); ; at++) {
      const seqs = inRegion.all(at, application_id, position, end, maxRows).map(({ seq }) => seq);
      const behind = seqs.length < maxRows ? Math.min(end, (at + 1) * regionSize) : (seqs.at(-1) ?? 0) + 1;
      if (seqs.length > 0 || behind >= end || ++regions >= maxRegions) return { seqs, behind };
    }
  };

  const isAsked = (replay: ReplayRow, seq: number): boolean => {
    const one = log.row(seq);
    return one !== null && matches(one, replay);
  };

  /** How many deliveries may be made due now, so that what is new is not held up behind them. */
  const room = ({ application_id, dry_run }: ReplayRow, now: number): number => {
    if (dry_run) return maxRows;
    if (finished(whyNoReceiver(shared.tables, shared.orm, application_id))) return 0;
    return maxDue - (due.get({ id: application_id, now })?.n ?? 0);
  };

  const isTooOld = ({ created_at }: ReplayRow, now: number) => now - created_at >= replayLimits.maxAgeMs;

  const step = (replay: ReplayRow, now: number): void => {
    const { seqs, behind } = ahead(replay);
    const asked = seqs.filter((seq) => isAsked(replay, seq));
    const candidates = asked.map((seq): Candidate => ({ seq, obstacle: obstacle(seq) }));
    const after = afterStep(replay, candidates, { left: room(replay, now), behind, now });
    if (!replay.dry_run) for (const seq of after.queued) requeue(seq, now);
    orm.update(replays).set(after.replay).where(eq(replays.id, replay.id)).run();
  };

  const create = (replay: NewReplay): Replay => {
    if (!replay.dry_run) finished(requireReceiver(shared.tables, shared.orm, replay.application_id));
    finished(makeWay(shared.orm, replay));
    const behind = last() + 1;
    const [first, end] = [Math.min(since(replay.from), behind), Math.min(since(replay.to), behind)];
    return finished(add(shared.orm, replay, { first, end }));
  };

  return {
    ...records,
    create: (replay) => commit(() => create(replay)),
    async advance(id, now) {
      // Asked outside of a commit, because many may wait for a long time.
      const waiting = await running(id);
      if (!waiting) return false;
      if (isTooOld(waiting, now)) return end(id, everything, now).then(() => false);
      if (room(waiting, now) <= 0) return false;
      return commit(() => {
        const row = runningOne.get({ id });
        if (row) step(row, now);
        return row !== undefined;
      });
    },
  };
}
