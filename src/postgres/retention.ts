import { idempotencyMs, type Retention, type RetentionStore } from "../domain/deliveries.ts";
import { keepDisabledMs } from "../domain/endpoints.ts";
import { day, minute } from "../domain/time.ts";
import { codeOf } from "./faults.ts";
import { advisoryLocks, hasTable, takeLock } from "./migrations.ts";
import type { Postgres, Queries } from "./pool.ts";

/** The numbers of one part: enough for a busy day, and few enough for millions of parts. */
const partSize = 2 ** 28;
/**
 * The most rows copied when a part is replaced, because writers wait meanwhile. With more rows, it is replaced later.
 */
const mostKept = 50_000;

type Parted = "deliveries" | "events";

const firstOfPart = (part: number) => part * partSize;

/** Returns the part of a number. */
export const partOf = (seq: number) => Math.floor(seq / partSize);

/** Returns the part of the numbers that are given now. */
async function currentPart(queries: Queries): Promise<number> {
  const [row] = await queries.run<{ last: number }>(
    "SELECT last_value::float8 AS last FROM delivery_numbers",
  );
  return partOf(row?.last ?? 0);
}

/** Creates a part of both tables, if it does not exist. Writers do not wait for this. */
export async function makePart(transaction: Queries, part: number): Promise<void> {
  const bounds = `FOR VALUES FROM (${firstOfPart(part)}) TO (${firstOfPart(part + 1)})`;
  for (const table of ["deliveries", "events"] as const) {
    if (await hasPart(transaction, table, part)) continue;
    await transaction.run(`CREATE TABLE ${table}_${part} (LIKE ${table} INCLUDING ALL)`);
    await transaction.run(`ALTER TABLE ${table} ATTACH PARTITION ${table}_${part} ${bounds}`);
  }
}

const hasPart = (queries: Queries, table: Parted, part: number): Promise<boolean> =>
  hasTable(queries, `${table}_${part}`);

/**
 * Replaces a part of a table by a copy with only some of its rows, or drops it if there are none. Returns false when
 * too many rows are to be kept, or the lock of the table was not free in time.
 *
 * @param kept the condition on a row `r` that is kept; it must be indexed
 * @param before runs in the transaction of the replacement, before writers wait for it
 */
async function keepOfPart(
  pool: Postgres,
  table: Parted,
  part: number,
  kept: string,
  before: (transaction: Queries) => Promise<void> = async () => {},
): Promise<boolean> {
  const [name, copy] = [`${table}_${part}`, `${table}_${part}_kept`];
  const bounds = `FOR VALUES FROM (${firstOfPart(part)}) TO (${firstOfPart(part + 1)})`;
  const [counted] = await pool.run<{ kept: number }>(
    `SELECT count(*)::float8 AS kept FROM (SELECT FROM ${name} r WHERE ${kept} LIMIT ${mostKept + 1}) AS rows_kept`,
  );
  if ((counted?.kept ?? 0) > mostKept) return false;
  try {
    return await pool.transact(async (transaction) => {
      await before(transaction);
      await transaction.run("SET LOCAL lock_timeout = '200ms'");
      // Everything waits for the lock of the table, also when this process is stopped meanwhile.
      await transaction.run("SET LOCAL idle_in_transaction_session_timeout = '2s'");
      await transaction.run(`CREATE TABLE ${copy} (LIKE ${table} INCLUDING ALL)`);
      // All writes go through the partitioned table, so this lock keeps them from the part.
      await transaction.run(`LOCK TABLE ONLY ${table} IN ACCESS EXCLUSIVE MODE`);
      await transaction.run(`INSERT INTO ${copy} SELECT * FROM ${name} r WHERE ${kept}`);
      const [any] = await transaction.run(`SELECT FROM ${copy} LIMIT 1`);
      await transaction.run(`ALTER TABLE ${table} DETACH PARTITION ${name}`);
      await transaction.run(`DROP TABLE ${name}`);
      if (!any) await transaction.run(`DROP TABLE ${copy}`);
      else {
        await transaction.run(`ALTER TABLE ${copy} RENAME TO ${name}`);
        await transaction.run(`ALTER TABLE ${table} ATTACH PARTITION ${name} ${bounds}`);
      }
      return true;
    });
  } catch (error) {
    if (codeOf(error) === "55P03") return false;
    throw error;
  }
}

/** The most rows that one statement changes. */
const stepRows = 5_000;

interface LogPart {
  readonly part: number;
  readonly ended_at: number;
  readonly deliveries_cleaned_at: number | null;
  readonly bodies_cleaned_at: number | null;
}

const isPending = "r.status = 'pending'";
const isNotDelivered = "r.status IN ('pending', 'failed', 'expired', 'canceled')";
// A pending delivery may be delivered before the part is replaced, so it counts as removed. A canceled one is in no
// event stream.
const isLost = { delivered: "status IN ('delivered', 'pending')", any: "status <> 'canceled'" };
const isOfPending = "r.seq IN (SELECT event_seq FROM deliveries WHERE status = 'pending')";

/**
 * Retention on PostgreSQL. The log is divided into parts, which are dropped as a whole when all of their data is old.
 * So a delivery stays longer than its retention, by up to the time that a part covers.
 */
export function retentionStore(pool: Postgres): RetentionStore {
  const cleaned = async (
    part: number,
    column: "deliveries_cleaned_at" | "bodies_cleaned_at",
    now: number,
  ) => {
    await pool.run(`UPDATE delivery_parts SET ${column} = $2 WHERE part = $1`, [part, now]);
  };

  const cleanDeliveries = async ({ part }: LogPart, isAllOld: boolean, now: number): Promise<void> => {
    const [kept, removed] = isAllOld ? [isPending, isLost.any] : [isNotDelivered, isLost.delivered];
    const note = (transaction: Queries) => noteRemoved(transaction, part, removed);
    if (await keepOfPart(pool, "deliveries", part, kept, note)) {
      await cleaned(part, "deliveries_cleaned_at", now);
    }
  };

  /** Removes old data from parts. A part that cannot be cleaned now is tried again in the next pass. */
  const clean = async (parts: readonly LogPart[], retention: Retention, now: number): Promise<void> => {
    const { deliveredMs, failedMs, bodiesMs } = retention;
    const [first, all] = [deliveredMs, Math.max(deliveredMs, failedMs)];
    for (const one of parts) {
      const { part, ended_at, deliveries_cleaned_at, bodies_cleaned_at } = one;
      const isAllOld = ended_at < now - all;
      if (
        ended_at < now - first &&
        (isAllOld || deliveredMs < failedMs) &&
        isDue(deliveries_cleaned_at, isAllOld ? ended_at + all : ended_at + first, now) &&
        (await hasPart(pool, "deliveries", part))
      ) {
        await cleanDeliveries(one, isAllOld, now);
      }
      if (
        ended_at < now - bodiesMs &&
        isDue(bodies_cleaned_at, ended_at + bodiesMs, now) &&
        (await hasPart(pool, "events", part)) &&
        (await keepOfPart(pool, "events", part, isOfPending))
      ) {
        await cleaned(part, "bodies_cleaned_at", now);
      }
    }
  };

  return {
    async prune(retention, now) {
      const isTurn = await pool.transact(async (transaction) => {
        const isMine = await takeLock(transaction, advisoryLocks.parts);
        if (isMine) await keepParts(transaction, retention, now);
        return isMine;
      });
      if (!isTurn) return true;
      if ((await expireDisabled(pool, now)) === stepRows) return false;
      const parts = await pool.run<LogPart>(
        `SELECT part::float8, ended_at::float8, deliveries_cleaned_at::float8, bodies_cleaned_at::float8
         FROM delivery_parts WHERE ended_at IS NOT NULL ORDER BY delivery_parts.part`,
      );
      await clean(parts, retention, now);
      const old = parts.filter(({ ended_at }) => ended_at < now - idempotencyMs);
      const last = old.at(-1);
      if (last && (await forgetIds(pool, last.part)) === stepRows) return false;
      await forgetParts(pool, old);
      return true;
    },
    // Not needed: parts are dropped as a whole, and the disk belongs to the database server.
    trim: async () => true,
    shrink: async () => true,
  };
}

/**
 * Whether to clean a part: it was not cleaned since a time. It is cleaned again every day, because some rows may be
 * left.
 */
function isDue(cleanedAt: number | null, since: number, now: number): boolean {
  return cleanedAt === null || cleanedAt < since || cleanedAt < now - day;
}

/** The approximate number of parts. It is small, because each statement on the log reads all of them. */
const mostParts = 10;

/** Records the current time and number, begins a new part if it is time, and creates the part after the current one. */
async function keepParts(
  transaction: Queries,
  { deliveredMs, failedMs }: Retention,
  now: number,
): Promise<void> {
  const lastsMs = Math.max(day, Math.max(deliveredMs, failedMs) / mostParts);
  await transaction.run(
    `INSERT INTO delivery_times (at, seq) SELECT $1, last_value + 1 FROM delivery_numbers
     WHERE NOT EXISTS (SELECT FROM delivery_times WHERE at > $1::bigint - ${minute} OR seq = last_value + 1)
     ON CONFLICT DO NOTHING`,
    [now],
  );
  const current = await currentPart(transaction);
  await makePart(transaction, current + 1);
  await transaction.run("UPDATE delivery_parts SET ended_at = $2 WHERE part < $1 AND ended_at IS NULL", [
    current,
    now,
  ]);
  await transaction.run(
    "INSERT INTO delivery_parts (part, begun_at) VALUES ($1, $2) ON CONFLICT DO NOTHING",
    [current, now],
  );
  const [old] = await transaction.run(
    `SELECT FROM delivery_parts WHERE part = $1 AND begun_at <= $2
       AND EXISTS (SELECT FROM delivery_numbers WHERE is_called AND last_value > $3)`,
    [current, now - lastsMs, firstOfPart(current)],
  );
  if (!old) return;
  await makePart(transaction, current + 2);
  await transaction.run("SELECT setval('delivery_numbers', $1)", [firstOfPart(current + 1)]);
  await transaction.run("UPDATE delivery_parts SET ended_at = $2 WHERE part = $1", [current, now]);
  await transaction.run("INSERT INTO delivery_parts (part, begun_at) VALUES ($1, $2)", [current + 1, now]);
}

/**
 * Stores the highest number of each application's deliveries that are removed from a part. Reads one index entry per
 * application, and those of newer deliveries that are not counted.
 */
async function noteRemoved(transaction: Queries, part: number, removed: string): Promise<void> {
  const last = (of = "true") =>
    `SELECT application_id, seq FROM deliveries_${part} WHERE ${of} AND ${removed}
     ORDER BY application_id DESC, seq DESC LIMIT 1`;
  await transaction.run(
    `WITH RECURSIVE newest AS (
       (${last()})
       UNION ALL
       SELECT next.* FROM newest CROSS JOIN LATERAL (${last("application_id < newest.application_id")}) AS next
     )
     INSERT INTO removed_deliveries SELECT application_id, seq FROM newest JOIN applications a ON a.id = application_id
     ON CONFLICT (application_id) DO UPDATE SET up_to = greatest(removed_deliveries.up_to, excluded.up_to)`,
  );
}

/** Expires some pending deliveries of endpoints that have been disabled for too long. Returns their number. */
async function expireDisabled(pool: Postgres, now: number): Promise<number> {
  const ended = await pool.run(
    `UPDATE deliveries SET status = 'expired', next_attempt_at = NULL, resume_at = NULL, finished_at = $1
     WHERE status = 'pending' AND seq IN (
       SELECT d.seq FROM endpoints e JOIN deliveries d ON d.application_id = e.application_id
       WHERE e.disabled_at < $2 AND d.status = 'pending' AND d.published_at < $2 LIMIT ${stepRows})
     RETURNING 1`,
    [now, now - keepDisabledMs],
  );
  return ended.length;
}

/** Removes some ids of events up to the end of a part. Returns their number. */
async function forgetIds(pool: Postgres, part: number): Promise<number> {
  const forgotten = await pool.run(
    `DELETE FROM event_ids WHERE id IN (SELECT id FROM event_ids WHERE seq < $1 ORDER BY seq LIMIT ${stepRows})
     RETURNING 1`,
    [firstOfPart(part + 1)],
  );
  return forgotten.length;
}

/** Removes the records of parts that no longer exist, and the times before the first part that does. */
async function forgetParts(pool: Postgres, parts: readonly LogPart[]): Promise<void> {
  for (const { part } of parts) {
    const isLeft = (await hasPart(pool, "deliveries", part)) || (await hasPart(pool, "events", part));
    if (isLeft) break;
    await pool.run("DELETE FROM delivery_parts WHERE part = $1", [part]);
    await pool.run(
      `DELETE FROM delivery_times WHERE seq < $1
         AND at < (SELECT max(at) FROM delivery_times WHERE seq <= $1)`,
      [firstOfPart(part + 1)],
    );
  }
}
