import { getTableConfig } from "drizzle-orm/pg-core";
import { newId } from "../../../domain/ids.ts";
import { StoreError } from "../../faults.ts";
import {
  type CopiedNoun,
  type CopiedRow,
  type CopyCounts,
  type CopySource,
  copiedNouns,
  copiedSettings,
  copyIdSetting,
  copyingSetting,
  incompleteMessage,
  movedMessage,
  movedSetting,
} from "../../operations/copy.ts";
import { type ConnectionSettings, namedLocation, shownLocation } from "../database/connection-url.ts";
import { advisoryLocks, takeLock } from "../database/locks.ts";
import { schemaOf } from "../database/open.ts";
import { openPool, type Postgres, type Queries } from "../database/pool.ts";
import { isAnyAlive } from "../replicas/membership.ts";
import { postgresTables } from "./tables.ts";

const batchRows = 500;

/**
 * The remains of each event: its deliveries, or only its id. Events get new numbers in the order of their last
 * deliveries, because SQLite derives the next number of a delivery from the newest event.
 */
const numbered = `
WITH sent AS (
  SELECT event_seq, min(event_id) AS id, min(type) AS name, min(version) AS version, min(published_at) AS published_at,
    min(broadcaster_user_id) AS broadcaster_user_id, min(seq) AS first, max(seq) AS last
  FROM deliveries GROUP BY event_seq
),
numbered AS (
  SELECT coalesce(s.event_seq, i.seq) AS event_seq, coalesce(i.id, s.id) AS id, s.name, s.version, s.published_at,
    s.broadcaster_user_id, i.fingerprint, coalesce(s.first, i.seq) AS first_delivery,
    coalesce(s.last - s.first + 1, 0) AS deliveries,
    row_number() OVER (ORDER BY coalesce(s.last, i.seq - 1), coalesce(s.event_seq, i.seq)) AS seq
  FROM sent s FULL JOIN event_ids i ON i.seq = s.event_seq
)`;

/** Events with the columns of SQLite. For an event without deliveries, only the id and fingerprint are known. */
const events = `${numbered}
SELECT n.seq, n.id, coalesce(n.name, '') AS name, coalesce(n.version, 1) AS version,
  coalesce(n.broadcaster_user_id, 0) AS broadcaster_user_id, e.body, coalesce(n.fingerprint, '') AS fingerprint,
  n.first_delivery, n.deliveries,
  coalesce(n.published_at, (SELECT t.at FROM delivery_times t WHERE t.seq <= n.first_delivery ORDER BY t.at DESC LIMIT 1), 0)
    AS published_at
FROM numbered n LEFT JOIN events e ON e.seq = n.event_seq ORDER BY n.seq`;

const deliveries = `${numbered}
SELECT d.*, n.seq AS numbered FROM deliveries d JOIN numbered n ON n.event_seq = d.event_seq ORDER BY d.seq`;

/**
 * Copies from a database, which no server may use and which is marked as moved for the whole copy. The mark is removed
 * when `work` fails before `keepMark` was called. Throws `StoreError`.
 */
export async function copyingFromDatabase<T>(
  settings: ConnectionSettings,
  to: string,
  work: (source: CopySource) => Promise<T>,
): Promise<T> {
  const location = shownLocation(settings);
  const pool = await openNewest(settings);
  try {
    // A part of a copy would be taken for all data.
    if ((await settingOf(pool, copyingSetting)) !== undefined)
      throw new StoreError(incompleteMessage(location), true);
    // Marks first and then checks for servers. A server does this in the opposite order, so one of them notices the
    // other.
    const { marked, copyId, isNew } = await mark(pool, to);
    if (marked !== to) throw new StoreError(movedMessage(location, namedLocation(settings), marked), true);
    let isKept = !isNew;
    try {
      await requireUnserved(pool, location);
      return await pool.transact(async (moment) => {
        await moment.run("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY");
        await requireOnlyCopy(moment, location);
        // Plans for all rows. By default PostgreSQL plans for the first rows of a cursor, for example with a nested
        // loop, which takes far longer for all of them.
        await moment.run("SET LOCAL cursor_tuple_fraction = 1");
        const keepMark = () => {
          isKept = true;
        };
        return work({
          copyId,
          damagedBodies: [],
          counts: () => countsOf(moment),
          rows: (noun, skipped) => rowsOf(moment, noun, skipped),
          keepMark,
        });
      });
    } catch (error) {
      if (!isKept) await removeMark(pool).catch(() => {}); // the first error is the one to report
      throw error;
    }
  } finally {
    await pool.close();
  }
}

/** Removes the mark of a database. Returns false when there is none. Throws `StoreError`. */
export async function reopenDatabase(settings: ConnectionSettings): Promise<boolean> {
  const pool = await openNewest(settings);
  try {
    return await pool.transact(async (transaction) => {
      await requireOnlyCopy(transaction, shownLocation(settings));
      const wasMarked = (await settingOf(transaction, movedSetting)) !== undefined;
      await removeMark(transaction);
      return wasMarked;
    });
  } finally {
    await pool.close();
  }
}

/** Prevents other copies of the database until the transaction ends. Throws a `StoreError` when one is running. */
async function requireOnlyCopy(transaction: Queries, location: string): Promise<void> {
  if (!(await takeLock(transaction, advisoryLocks.copy)))
    throw new StoreError(`A copy of the database ${location} is running. Wait until it ends, or stop it.`);
}

/** Opens a database with the current schema, without statement timeouts, because a statement may read all data. */
async function openNewest(settings: ConnectionSettings): Promise<Postgres> {
  const { applied, pending, isNewer } = await schemaOf(settings);
  const location = shownLocation(settings);
  if (applied.length === 0) throw new StoreError(`There is no data in the database ${location}.`, true);
  if (pending.length > 0) {
    throw new StoreError(
      `The data of ${location} is of an older version. Migrate it first, with onair migrate.`,
      true,
    );
  }
  if (isNewer) {
    throw new StoreError(
      `The data of ${location} is of a newer version of onair. Copy it with that version.`,
      true,
    );
  }
  return openPool(settings, { connections: 2, statementTimeoutMs: 0 });
}

export async function settingOf(queries: Queries, key: string): Promise<string | undefined> {
  const [row] = await queries.run<{ value: string }>("SELECT value FROM settings WHERE key = $1", [key]);
  return row?.value;
}

/**
 * Marks the source if it is not marked yet. Returns the mark and the id of the copy, which are those of the first copy.
 */
function mark(pool: Postgres, to: string) {
  return pool.transact(async ({ run }) => {
    const put = "INSERT INTO settings (key, value) VALUES ($1, $2) ON CONFLICT";
    const made = await run(`${put} DO NOTHING RETURNING key`, [movedSetting, to]);
    const isNew = made.length > 0;
    // An id without a mark is of an earlier copy, and is replaced. A mark of an older version has no id yet.
    const ofCopy = isNew ? "(key) DO UPDATE SET value = excluded.value" : "DO NOTHING";
    await run(`${put} ${ofCopy}`, [copyIdSetting, newId()]);
    const settings = await run<{ key: string; value: string }>(
      "SELECT key, value FROM settings WHERE key IN ($1, $2)",
      [movedSetting, copyIdSetting],
    );
    const valueIn = (name: string) => settings.find(({ key }) => key === name)?.value ?? "";
    return { marked: valueIn(movedSetting), copyId: valueIn(copyIdSetting), isNew };
  });
}

async function removeMark(queries: Queries): Promise<void> {
  await queries.run("DELETE FROM settings WHERE key IN ($1, $2)", [movedSetting, copyIdSetting]);
}

/** Throws a `StoreError` when a server uses the database. */
export async function requireUnserved(queries: Queries, location: string): Promise<void> {
  if (!(await isAnyAlive(queries))) return;
  throw new StoreError(
    `A server uses the database ${location}, or ended within the last seconds. Stop all of them, and copy again.`,
  );
}

/** Returns the number of rows of each noun. */
export async function countsOf(queries: Queries): Promise<CopyCounts> {
  const froms: Partial<Record<CopiedNoun, string>> = {
    settings: `settings WHERE ${copiedSettings}`,
    events: "(SELECT event_seq FROM deliveries UNION SELECT seq FROM event_ids) AS known",
  };
  const counted = copiedNouns.map(
    (noun) => `(SELECT count(*) FROM ${froms[noun] ?? noun})::float8 AS ${noun}`,
  );
  const [counts] = await queries.run<CopyCounts>(
    `SELECT ${counted.join()}, (SELECT coalesce(sum(cardinality(attempt_log)), 0) FROM deliveries)::float8 AS attempts`,
  );
  if (!counts) throw new Error("The database returned no counts");
  return counts;
}

async function* rowsOf(
  moment: Queries,
  noun: CopiedNoun,
  skipped: number,
): AsyncGenerator<readonly CopiedRow[]> {
  const cursor = `copied_${noun}`;
  await moment.run(
    `DECLARE ${cursor} NO SCROLL CURSOR FOR SELECT row_to_json(r)::text AS row FROM (${statementOf(noun)}) AS r`,
  );
  if (skipped > 0) await moment.run(`MOVE FORWARD ${skipped} FROM ${cursor}`);
  for (;;) {
    const found = await moment.run<{ row: string }>(`FETCH ${batchRows} FROM ${cursor}`);
    if (found.length > 0) yield found.map(({ row }) => rowOf(noun, JSON.parse(row)));
    if (found.length < batchRows) break;
  }
  await moment.run(`CLOSE ${cursor}`);
}

function rowOf(noun: CopiedNoun, row: CopiedRow): CopiedRow {
  return noun === "deliveries" ? { ...row, event_seq: row["numbered"] } : row;
}

function statementOf(noun: CopiedNoun): string {
  if (noun === "events") return events;
  if (noun === "deliveries") return deliveries;
  if (noun === "settings") return `SELECT * FROM settings WHERE ${copiedSettings} ORDER BY key`;
  if (noun === "tokens") return "SELECT * FROM tokens ORDER BY made";
  return `SELECT * FROM ${noun} ORDER BY ${keyOf(noun).join()}`;
}

/** Returns the columns of the primary key, which give the rows a fixed order. */
function keyOf(noun: CopiedNoun): readonly string[] {
  const { columns, primaryKeys } = getTableConfig(postgresTables[noun]);
  const key = primaryKeys[0]?.columns ?? columns.filter(({ primary }) => primary);
  if (key.length === 0) throw new Error(`${noun} has no primary key`);
  return key.map(({ name }) => `"${name}"`);
}
