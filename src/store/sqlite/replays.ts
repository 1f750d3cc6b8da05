import type { Database } from "bun:sqlite";
import type { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import type { ReplayStore } from "../../domain/replays.ts";
import type { Dialect } from "../drizzle/dialect.ts";
import { maxRows, type ReplayRow, replayStore } from "../drizzle/replays.ts";
import { deliveryIndexes, deliveryLog } from "./deliveries.ts";
import { deliveryPositions, regionOf, regionSize } from "./delivery-rows.ts";
import { atOnce } from "./dialect.ts";

/** The most regions of the log that one step reads. */
const maxRegions = 256;

export function sqliteReplays(db: Database, orm: BunSQLiteDatabase, dialect: Dialect): ReplayStore {
  const log = deliveryLog(db, orm);
  const { last, since } = deliveryPositions(orm);
  const { inRegion, undelivered } = deliveryIndexes(db, "ASC");

  /** Returns candidates from the index, and the number from which the next step reads (`next`). */
  const ahead = ({ application_id, status, position, end }: ReplayRow) => {
    if (status === "failed" || status === "expired" || status === "missed") {
      const seqs = undelivered.all(application_id, position, end, maxRows).map(({ seq }) => seq);
      return { seqs, next: seqs.length < maxRows ? end : (seqs.at(-1) ?? 0) + 1 };
    }
    for (let regions = 0, at = regionOf(position); ; at++) {
      const seqs = inRegion.all(at, application_id, position, end, maxRows).map(({ seq }) => seq);
      const next = seqs.length < maxRows ? Math.min(end, (at + 1) * regionSize) : (seqs.at(-1) ?? 0) + 1;
      if (seqs.length > 0 || next >= end || ++regions >= maxRegions) return { seqs, next };
    }
  };

  const isAsked = (replay: ReplayRow, seq: number): boolean => {
    const broadcaster_user_id = replay.of_broadcaster ?? replay.broadcaster_user_id;
    return log.matches(seq, { ...replay, broadcaster_user_id });
  };

  return replayStore(dialect, {
    range: (_, from, to) =>
      atOnce(() => {
        const afterLast = last() + 1;
        return { first: Math.min(since(from), afterLast), end: Math.min(since(to), afterLast) };
      }),
    ahead: (_, replay) =>
      atOnce(() => {
        const { seqs, next } = ahead(replay);
        return { seqs: seqs.filter((seq) => isAsked(replay, seq)), next };
      }),
  });
}
