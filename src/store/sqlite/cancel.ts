import { and, isNotNull, type SQL } from "drizzle-orm";
import type { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import { deliveries } from "./schema.ts";

/** Cancels those of some deliveries that are pending. One that is under way is let finish; its attempt is kept. */
export function cancelPending(orm: BunSQLiteDatabase, which: SQL, now: number): void {
  orm
    .update(deliveries)
    .set({ status: "canceled", next_attempt_at: null, finished_at: now })
    .where(and(which, isNotNull(deliveries.next_attempt_at)))
    .run();
}
