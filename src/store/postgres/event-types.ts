import { and, eq, sql } from "drizzle-orm";
import { checkChange, checkRemoval } from "../../domain/events/registered.ts";
import { isoTime } from "../../domain/time.ts";
import type { EventTypeStore } from "../event-types.ts";
import type { Postgres, Queries } from "./database/pool.ts";
import { eventTypes, subscriptions } from "./schema/subscriptions.ts";

export function eventTypeStore(db: Postgres): EventTypeStore {
  const { orm } = db;
  const its = (name: string, version: number) =>
    and(eq(eventTypes.name, name), eq(eventTypes.version, version));
  const find = async ({ orm }: Queries, name: string, version: number) =>
    (await orm.select().from(eventTypes).where(its(name, version)).for("update"))[0] ?? null;

  return {
    put: (type, now) =>
      db.transact(async (transaction) => {
        const { orm } = transaction;
        // Locked, so that no type is added while they are counted. Types are registered rarely.
        await orm.execute(sql`LOCK TABLE ${eventTypes} IN SHARE ROW EXCLUSIVE MODE`);
        const { name, version, schema: _, ...changes } = type;
        const at = isoTime(now);
        checkChange(await find(transaction, name, version), type, await orm.$count(eventTypes));
        const [kept] = await orm
          .insert(eventTypes)
          .values({ ...type, created_at: at, updated_at: at })
          .onConflictDoUpdate({
            target: [eventTypes.name, eventTypes.version],
            set: { ...changes, updated_at: at },
          })
          .returning();
        if (!kept) throw new Error("The event type was not kept");
        return kept;
      }),
    all: async () => orm.select().from(eventTypes).orderBy(eventTypes.name, eventTypes.version),
    remove: (name, version) =>
      db.transact(async (transaction) => {
        const known = await find(transaction, name, version);
        if (!known) return false;
        checkRemoval(known);
        await transaction.orm.delete(eventTypes).where(its(name, version));
        await transaction.orm
          .delete(subscriptions)
          .where(and(eq(subscriptions.event, name), eq(subscriptions.version, version)));
        return true;
      }),
  };
}
