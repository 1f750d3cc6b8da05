import { sql } from "drizzle-orm";
import { minute } from "../domain/time.ts";
import type { Queries } from "./pool.ts";

/** Added to numbers to separate their advisory locks from all others. Numbers are lower. */
const lockBase = "(1::bigint << 62)";

/**
 * Column that takes a lock on the last number given. It shows readers that a transaction is about to take higher
 * numbers. The lock is shared, so that writers do not wait for each other.
 */
export const publishingLock = `pg_advisory_xact_lock_shared(${lockBase} | last_value) FROM delivery_numbers`;

/**
 * The number up to which all transactions have ended, because transactions do not commit in the order of their numbers.
 * The sequence is read before the locks, so that writers which take their lock after that need not be seen.
 */
const settled = `
WITH given AS MATERIALIZED (
  SELECT CASE WHEN is_called THEN last_value ELSE last_value - 1 END AS last FROM delivery_numbers
)
SELECT least(last, (
  SELECT min((classid::bigint << 32 | objid::bigint) & ~${lockBase}) FROM pg_locks
  WHERE given.last IS NOT NULL AND locktype = 'advisory' AND objsubid = 1 AND classid::bigint >= 1::bigint << 30
    AND classid::bigint < 1::bigint << 31
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
))::float8 AS last FROM given`;

/** Ranges of time are widened by this, because the clocks of the processes differ a little. */
const clocksApartMs = 2 * minute;

/** Finds positions in the log of deliveries. */
export function deliveryPositions({ orm }: Pick<Queries, "orm">) {
  return {
    /** The highest number up to which no delivery can appear any more; 0 before the first. */
    async last(): Promise<number> {
      const [row] = await orm.execute<{ last: number }>(sql.raw(settled));
      return row?.last ?? 0;
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
