import { and, count, eq } from "drizzle-orm";
import { checkChange, checkRemoval, type EventTypeStore } from "../../domain/events/catalogue.ts";
import { isoTime } from "../../domain/time.ts";
import { type Dialect, execute, type Orm } from "./dialect.ts";

export function eventTypeStore(db: Dialect): EventTypeStore {
  const { eventTypes, subscriptions } = db.tables;
  const its = (name: string, version: number) =>
    and(eq(eventTypes.name, name), eq(eventTypes.version, version));
  function* find(orm: Orm, name: string, version: number) {
    const query = orm.select().from(eventTypes).where(its(name, version));
    const [found = null] = yield* execute(db.lock(query, "update"));
    return found;
  }

  return {
    put: (type, now) =>
      db.transact(function* (orm) {
        // Prevents that another type is added after they are counted. Publishing changes the table and does not wait.
        yield* db.lockTable(orm, eventTypes, "its lockers");
        const { name, version, schema: _, ...changes } = type;
        const at = isoTime(now);
        const known = yield* find(orm, name, version);
        const [all] = yield* execute(orm.select({ n: count() }).from(eventTypes));
        checkChange(known, type, all?.n ?? 0);
        const [kept] = yield* execute(
          orm
            .insert(eventTypes)
            .values({ ...type, created_at: at, updated_at: at })
            .onConflictDoUpdate({
              target: [eventTypes.name, eventTypes.version],
              set: { ...changes, updated_at: at },
            })
            .returning(),
        );
        if (!kept) throw new Error("The event type was not stored");
        return kept;
      }),
    all: async () => db.orm.select().from(eventTypes).orderBy(eventTypes.name, eventTypes.version),
    remove: (name, version) =>
      db.transact(function* (orm) {
        const known = yield* find(orm, name, version);
        if (!known) return false;
        checkRemoval(known);
        yield* execute(orm.delete(eventTypes).where(its(name, version)));
        const areOfIt = and(eq(subscriptions.event, name), eq(subscriptions.version, version));
        yield* execute(orm.delete(subscriptions).where(areOfIt));
        return true;
      }),
  };
}
