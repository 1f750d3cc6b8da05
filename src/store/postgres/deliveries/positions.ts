import { sql } from "drizzle-orm";
import { minute } from "../../../domain/time.ts";
import type { Queries } from "../database/pool.ts";

/** Apart from all other advisory locks: numbers are below this. */
const lockBase = "(1::bigint << 62)";

/**
 * A column that locks the last number which is given, for readers to see that a transaction is about to take numbers
 * behind it. Shared, so that writers do not wait.
 */
export const publishingLock = `pg_advisory_xact_lock_shared(${lockBase} | last_value) FROM delivery_numbers`;

/**
 * The number up to which everything is committed or will never be: transactions commit in another order than they take
 * numbers. The sequence is read before the locks, so that a writer which takes a number later need not be among them.
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

/** A time is looked for so much earlier and later, because the clocks of several processes differ a little. */
const clocksApartMs = 2 * minute;

/** Where the log of deliveries has what, by number. */
export function deliveryPositions({ orm }: Pick<Queries, "orm">) {
  return {
    /** The highest number up to which nothing can appear any more, 0 before the first. */
    async last(): Promise<number> {
      const [row] = await orm.execute<{ last: number }>(sql.raw(settled));
      return row?.last ?? 0;
    },
    /** Numbers below which nothing, and from which on nothing was published between these times; null: unbounded. */
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
