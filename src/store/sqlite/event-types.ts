import { and, eq, sql } from "drizzle-orm";
import type { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import { DomainError } from "../../domain/errors.ts";
import { eventTypeLimits } from "../../domain/events/registered.ts";
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
        const { name, version, schema, ...changes } = type;
        const at = isoTime(now);
        const known = find(name, version);
        if (!known && count() >= eventTypeLimits.registered) {
          throw new DomainError(
            "conflict",
            `There are ${eventTypeLimits.registered} event types, the most there may be`,
          );
        }
        if (known && !Bun.deepEquals(known.schema, schema)) throw otherSchema(name, version);
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
        if (known.is_published) {
          const message = `Events of ${name} version ${version} were published; it stays for those who have them`;
          throw new DomainError("conflict", message);
        }
        orm.delete(eventTypes).where(its(name, version)).run();
        orm
          .delete(subscriptions)
          .where(and(eq(subscriptions.event, name), eq(subscriptions.version, version)))
          .run();
        return true;
      }),
  };
}

function otherSchema(name: string, version: number): DomainError {
  return new DomainError(
    "conflict",
    `The schema of ${name} version ${version} is settled, because receivers rely on it; register version ${version + 1}, or delete this one while nothing of it was published`,
  );
}
