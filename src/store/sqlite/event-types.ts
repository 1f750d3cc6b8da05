import { and, eq, sql } from "drizzle-orm";
import type { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import { checkChange, checkRemoval } from "../../domain/events/registered.ts";
import { isoTime } from "../../domain/time.ts";
import type { EventTypeStore } from "../event-types.ts";
import type { Commit } from "./database/commit.ts";
import { eventTypes, subscriptions } from "./schema/events.ts";

export function eventTypeStore(orm: BunSQLiteDatabase, commit: Commit): EventTypeStore {
  const its = (name: string, version: number) =>
    and(eq(eventTypes.name, name), eq(eventTypes.version, version));
  const find = (name: string, version: number) =>
    orm.select().from(eventTypes).where(its(name, version)).limit(1).get();
  const count = () => orm.select({ n: sql<number>`count(*)` }).from(eventTypes).get()?.n ?? 0;

  return {
    put: (type, now) =>
      commit(() => {
        const { name, version, schema: _, ...changes } = type;
        const at = isoTime(now);
        const known = find(name, version);
        checkChange(known ?? null, type, count());
        return orm
          .insert(eventTypes)
          .values({ ...type, created_at: at, updated_at: at })
          .onConflictDoUpdate({
            target: [eventTypes.name, eventTypes.version],
            set: { ...changes, updated_at: at },
          })
          .returning()
          .get();
      }),
    all: async () => orm.select().from(eventTypes).orderBy(eventTypes.name, eventTypes.version).all(),
    remove: (name, version) =>
      commit(() => {
        const known = find(name, version);
        if (!known) return false;
        checkRemoval(known);
        orm.delete(eventTypes).where(its(name, version)).run();
        orm
          .delete(subscriptions)
          .where(and(eq(subscriptions.event, name), eq(subscriptions.version, version)))
          .run();
        return true;
      }),
  };
}
