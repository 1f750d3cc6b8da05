import { and, eq } from "drizzle-orm";
import { everything } from "../../domain/delivery-log.ts";
import { ownerGone } from "../../domain/errors.ts";
import { type NewReplay, type Replay, replayLimits } from "../../domain/replays.ts";
import { requireReceiver, whyNoReceiver } from "../drizzle/endpoints.ts";
import { replayRecords } from "../drizzle/replays.ts";
import type { ReplayStore } from "../replays.ts";
import { afterStep, type Candidate, type ReplayRow } from "../rows/replay-rows.ts";
import { finished, postgresDialect } from "./database/dialect.ts";
import type { Postgres, Queries } from "./database/pool.ts";
import { deliveryPositions } from "./deliveries/positions.ts";
import { obstacle, requeue, shownStatus } from "./deliveries/requeue.ts";
import { applications } from "./schema/access.ts";
import { endpoints, replays } from "./schema/deliveries.ts";

/** What one step looks at, at most. */
const maxRows = 500;
/** With so many deliveries of an application due, its replays wait. */
const maxDue = 64;

/** Jobs that send a range of deliveries again, in steps that keep what they did and how far they came in one commit. */
export function replayStore(pool: Postgres): ReplayStore {
  const { records, end, running, makeWay, add } = replayRecords(postgresDialect(pool));

  const create = async (transaction: Queries, replay: NewReplay): Promise<Replay> => {
    const { application_id } = replay;
    // One at a time, so that each sees the others that are running.
    const [owner] = await transaction.run("SELECT FROM applications WHERE id = $1 FOR NO KEY UPDATE", [
      application_id,
    ]);
    if (!owner) throw ownerGone();
    if (!replay.dry_run) {
      await finished(requireReceiver({ applications, endpoints }, transaction.orm, application_id));
    }
    await finished(makeWay(transaction.orm, replay));
    const positions = deliveryPositions(transaction);
    const behind = (await positions.last()) + 1;
    const { from, to } = await positions.between(replay.from, replay.to);
    const end = Math.min(to ?? behind, behind);
    return finished(add(transaction.orm, replay, { first: Math.min(from, end), end }));
  };

  const step = (id: string, now: number): Promise<boolean> =>
    pool.transact(async (transaction) => {
      const isIt = eq(replays.id, id);
      const [replay] = await transaction.orm
        .select()
        .from(replays)
        .where(and(isIt, eq(replays.state, "running")))
        .for("update");
      if (!replay) return false;
      const left = await room(transaction, replay, now);
      const { candidates, behind } = await ahead(transaction, replay);
      const after = afterStep(replay, candidates, { left, behind, now });
      if (!replay.dry_run) await requeue(transaction, after.queued, now);
      await transaction.orm.update(replays).set(after.replay).where(isIt);
      return true;
    });

  return {
    ...records,
    create: (replay) => pool.transact((transaction) => create(transaction, replay)),
    async advance(id, now) {
      // Asked outside of a transaction, because many may wait for a long time.
      const waiting = await running(id);
      if (!waiting) return false;
      if (now - waiting.created_at >= replayLimits.maxAgeMs) {
        await end(id, everything, now);
        return false;
      }
      return (await room(pool, waiting, now)) > 0 && step(id, now);
    },
  };
}

/** How many deliveries may be made due now, so that what is new is not held up behind them. */
async function room(queries: Queries, { application_id, dry_run }: ReplayRow, now: number): Promise<number> {
  if (dry_run) return maxRows;
  if (await finished(whyNoReceiver({ applications, endpoints }, queries.orm, application_id))) return 0;
  const [found] = await queries.run<{ due: number }>(
    `SELECT count(*)::float8 AS due FROM (SELECT FROM deliveries WHERE application_id = $1 AND status = 'pending'
                                            AND next_attempt_at <= $2 LIMIT ${maxDue}) AS due`,
    [application_id, now],
  );
  return maxDue - (found?.due ?? maxDue);
}

/** The next deliveries of a range, of which those are candidates that it asks for; `behind` is where to go on. */
async function ahead(queries: Queries, replay: ReplayRow) {
  const { application_id, broadcaster_user_id, subscription_id, status, type, position, end } = replay;
  const wentWrong = status === "failed" || status === "expired";
  const looked = await queries.run<Candidate & { readonly is_asked: boolean }>(
    `SELECT d.seq::float8, ($4::text IS NULL OR d.subscription_id = $4) AND ($5::text IS NULL OR d.type = $5)
        AND ($6::bigint IS NULL OR d.broadcaster_user_id = $6) AND ($7::text IS NULL OR ${shownStatus} = $7)
        AND d.published_at >= $8 AND d.published_at < $9 AS is_asked, ${obstacle} AS obstacle
     FROM (SELECT * FROM deliveries WHERE application_id = $1 AND seq >= $2 AND seq < $3
             ${wentWrong ? "AND status IN ('failed', 'expired')" : ""} ORDER BY seq LIMIT ${maxRows}) AS d
     ORDER BY d.seq`,
    [
      application_id,
      position,
      end,
      subscription_id,
      type,
      broadcaster_user_id,
      status,
      replay.from_at,
      replay.to_at,
    ],
  );
  const behind = looked.length < maxRows ? end : (looked.at(-1)?.seq ?? 0) + 1;
  return { candidates: looked.filter(({ is_asked }) => is_asked), behind };
}
