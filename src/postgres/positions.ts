import { sql } from "drizzle-orm";
import { minute, second } from "../domain/time.ts";
import type { Queries } from "./pool.ts";

/** Added to numbers to separate their advisory locks from all others. Numbers are lower. */
const lockBase = "(1::bigint << 62)";

/**
 * Column that takes a lock on the last assigned number. It shows readers that a transaction is about to take higher
 * numbers. The lock is shared, so that writers do not wait for each other.
 */
export const publishingLock = `pg_advisory_xact_lock_shared(${lockBase} | last_value) FROM delivery_numbers`;

/** Condition: a lock is `publishingLock`. */
const isPublishing = `locktype = 'advisory' AND objsubid = 1 AND classid::bigint >= 1::bigint << 30
    AND classid::bigint < 1::bigint << 31`;

/**
 * The number up to which all transactions have ended, and the last assigned number. They differ, because transactions
 * do not commit in the order of their numbers. The sequence is read before the locks, so that writers which take their
 * lock after that need not be seen.
 */
const settled = `
WITH assigned AS MATERIALIZED (
  SELECT CASE WHEN is_called THEN last_value ELSE last_value - 1 END AS last FROM delivery_numbers
)
SELECT least(last, (
  SELECT min((classid::bigint << 32 | objid::bigint) & ~${lockBase}) FROM pg_locks
  WHERE assigned.last IS NOT NULL AND ${isPublishing}
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
))::float8 AS last, last::float8 AS assigned FROM assigned`;

const mostSilent = {
  /** How long a publishing transaction may wait for its client between two statements. */
  idleMs: 3 * second,
  /**
   * How long a statement of a publishing transaction may take. The statement timeout does not end a statement that
   * waits for its client to read the result.
   */
  statementMs: 12 * second,
};

/**
 * Ends publishing transactions whose client is stopped or gone: it sends no further statement, or does not read the
 * result. They would hold back the event streams of all applications. What they have written is rolled back. A
 * transaction that commits, and waits for a standby, does not wait for its client.
 */
const endSilent = ({ idleMs, statementMs }: typeof mostSilent) => `
SELECT pg_terminate_backend(a.pid) FROM pg_stat_activity a
WHERE a.datname = current_database() AND a.usename = current_user AND a.wait_event_type = 'Client'
  AND CASE a.state WHEN 'idle in transaction' THEN a.state_change < clock_timestamp() - interval '${idleMs} ms'
    WHEN 'active' THEN a.query_start < clock_timestamp() - interval '${statementMs} ms' ELSE false END
  AND EXISTS (SELECT FROM pg_locks l WHERE l.pid = a.pid AND ${isPublishing})`;

/** Ends publishing transactions of clients that are stopped or gone. Returns their number. */
export async function endSilentPublishers({ run }: Queries, most = mostSilent): Promise<number> {
  return (await run(endSilent(most))).length;
}

/** The time between two looks for transactions that have ended. */
const lookAgainMs = 10;
/** The longest wait for transactions in progress. */
const mostWaitMs = second;

/** Ranges of time are widened by this, because the clocks of the processes differ a little. */
const clocksApartMs = 2 * minute;

/** Positions at the end of the log. */
interface Ends {
  /** The highest number up to which no delivery can appear any more; 0 before the first. */
  readonly last: number;
  /** The last number that a delivery or an event has got. */
  readonly assigned: number;
}

/** Finds positions in the log of deliveries. */
export function deliveryPositions({ orm }: Pick<Queries, "orm">) {
  const ends = async (): Promise<Ends> => {
    const [row] = await orm.execute<{ last: number; assigned: number }>(sql.raw(settled));
    return { last: row?.last ?? 0, assigned: row?.assigned ?? 0 };
  };
  /** The next look, which all waiting calls share. */
  let looking: Promise<Ends> | null = null;
  const lookAgain = async (): Promise<Ends> => {
    await Bun.sleep(lookAgainMs);
    looking = null;
    return ends();
  };
  return {
    last: async () => (await ends()).last,
    /**
     * Waits until `last` has reached the last assigned number, at most for `mostWaitMs`. Returns `last`, and whether
     * it has.
     */
    async settled(): Promise<{ last: number; isSettled: boolean }> {
      const { assigned, ...now } = await ends();
      const until = performance.now() + mostWaitMs;
      let { last } = now;
      while (last < assigned && performance.now() < until) {
        looking ??= lookAgain();
        ({ last } = await looking);
      }
      return { last, isSettled: last >= assigned };
    },
    /**
     * Bounds of the numbers published from `after` to before `before`: from `from` to below `to`. Null for no bound.
     */
    async between(after: number | null, before: number | null): Promise<{ from: number; to: number | null }> {
      if (after === null && before === null) return { from: 0, to: null };
      const earliest = after === null ? null : after - clocksApartMs;
      const latest = before === null ? null : before + clocksApartMs;
      const [row] = await orm.execute<{ from: number | null; to: number | null }>(
        sql`SELECT (SELECT seq FROM delivery_times WHERE at <= ${earliest} ORDER BY at DESC LIMIT 1)::float8 AS from,
                (SELECT seq FROM delivery_times WHERE at >= ${latest} ORDER BY at LIMIT 1)::float8 AS to`,
      );
      return { from: row?.from ?? 0, to: row?.to ?? null };
    },
  };
}
