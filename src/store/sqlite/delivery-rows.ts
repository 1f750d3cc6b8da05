import type { Database } from "bun:sqlite";
import { desc, eq, gte, sql } from "drizzle-orm";
import type { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import words from "./body-dictionary-1.txt" with { type: "text" };
import { DamagedValue } from "./faults.ts";
import { deliveries, deliveryRegionBits, events } from "./schema.ts";

/** Deliveries of one region of the log. The index `deliveries_application` begins with the number of the region. */
export const regionSize = 2 ** deliveryRegionBits;

/** Returns the region of a delivery. */
export const regionOf = (seq: number) => Math.floor(seq / regionSize);

/** Finds positions in the log of deliveries. Numbers ascend with the time of publishing. */
export function deliveryPositions(orm: BunSQLiteDatabase) {
  const firstSince = orm
    .select({ seq: events.first_delivery })
    .from(events)
    .where(gte(events.published_at, sql.placeholder("time")))
    .orderBy(events.published_at, events.seq)
    .limit(1)
    .prepare();
  const oldest = orm
    .select({ seq: deliveries.seq })
    .from(deliveries)
    .orderBy(deliveries.seq)
    .limit(1)
    .prepare();
  const newestDelivery = orm
    .select({ seq: deliveries.seq })
    .from(deliveries)
    .orderBy(desc(deliveries.seq))
    .limit(1)
    .prepare();
  const ofEvent = orm
    .select({
      from: events.first_delivery,
      end: sql<number>`${events.first_delivery} + ${events.deliveries}`,
    })
    .from(events)
    .where(eq(events.id, sql.placeholder("id")))
    .prepare();
  const newestEvent = orm
    .select({ first: events.first_delivery, many: events.deliveries })
    .from(events)
    .orderBy(desc(events.seq))
    .limit(1)
    .prepare();
  return {
    /** The number of the first delivery published at or after a time; MAX_SAFE_INTEGER when there is none. */
    since: (time: number): number => firstSince.get({ time })?.seq ?? Number.MAX_SAFE_INTEGER,
    /** The numbers of an event's deliveries, from `from` to below `end`; null for an unknown event. */
    ofEvent: (id: string) => ofEvent.get({ id }) ?? null,
    /** The lowest stored number; null when there is none. */
    first: (): number | null => oldest.get()?.seq ?? null,
    /** The highest number given so far; 0 before the first. Events outlive their deliveries. */
    last(): number {
      const newest = newestEvent.get();
      return Math.max(newest ? newest.first + newest.many - 1 : 0, newestDelivery.get()?.seq ?? 0);
    },
  };
}

/**
 * The stored body of an event: its text, or a blob if that is shorter. The first byte of a blob is the format, which
 * includes the dictionary. The others are raw deflate.
 */
export type KeptBody = string | Uint8Array;

/** Loaded on first use, because it would delay the start. */
const zlib = () => process.getBuiltinModule("node:zlib");

const format = 1;
/** Text that events of built-in types have in common. It must never change, or stored bodies could not be unpacked. */
const dictionary = Buffer.from(words);
/** The fastest level, because each published event is packed. */
const packing = { dictionary, level: 1, memLevel: 5, windowBits: 13, chunkSize: 1024 };
/** The largest body that is packed. It bounds the memory for unpacking a damaged body. */
const mostBytes = 1024 * 1024;

export function keptBody(body: string): KeptBody {
  const bytes = Buffer.from(body);
  if (bytes.length > mostBytes) return body;
  const packed = zlib().deflateRawSync(bytes, packing);
  if (packed.length + 1 >= bytes.length) return body;
  const kept = Buffer.allocUnsafe(packed.length + 1);
  kept[0] = format;
  kept.set(packed, 1);
  return kept;
}

/** Returns the bytes of a body. Throws `DamagedValue`. */
export function bodyBytes(kept: KeptBody): Buffer {
  if (typeof kept === "string") return Buffer.from(kept);
  try {
    if (kept[0] !== format) throw new Error(`the format ${kept[0]} is unknown`);
    return zlib().inflateRawSync(kept.subarray(1), { dictionary, maxOutputLength: mostBytes });
  } catch (error) {
    throw Object.assign(new DamagedValue("the body of an event cannot be unpacked"), { cause: error });
  }
}

/** Returns the bytes of a body; null when it is damaged or no longer stored. */
export function readableBody(kept: KeptBody | null): Buffer | null {
  try {
    return kept === null ? null : bodyBytes(kept);
  } catch (error) {
    if (error instanceof DamagedValue) return null;
    throw error;
  }
}

type Value = string | number | null;

/** Rows of one statement: enough to be cheaper than single rows, and few enough for a short statement. */
const rowsAtOnce = 50;

/**
 * Makes a function that inserts rows in their order, several with one statement.
 *
 * @param into the statement up to its values: `INSERT INTO table (column, …)`
 * @param values the values of one row: `(?, ?, 0)`
 */
export function rowInserter<Row extends readonly Value[]>(
  db: Database,
  into: string,
  values: string,
): (rows: readonly Row[]) => void {
  const inserting = (count: number) =>
    db.prepare<null, Value[]>(`${into} VALUES ${Array(count).fill(values).join()}`);
  const addOne = inserting(1);
  const addMany = inserting(rowsAtOnce);
  return (rows) => {
    const inMany = rows.length - (rows.length % rowsAtOnce);
    for (let at = 0; at < inMany; at += rowsAtOnce) {
      addMany.run(...rows.slice(at, at + rowsAtOnce).flat());
    }
    for (const row of rows.slice(inMany)) addOne.run(...row);
  };
}
