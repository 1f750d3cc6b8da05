import type { Database } from "bun:sqlite";
import { desc, eq, sql } from "drizzle-orm";
import type { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import type { NewEvent, PublishedEvent } from "../../domain/deliveries.ts";
import { DomainError, invalidFields } from "../../domain/errors.ts";
import { newId } from "../../domain/ids.ts";
import type { Store } from "../store.ts";
import type { Commit } from "./commit.ts";
import { events, users } from "./schema.ts";

export function eventStore(db: Database, orm: BunSQLiteDatabase, commit: Commit): Store["events"] {
  const byId = orm
    .select({ fingerprint: events.fingerprint, deliveries: events.deliveries })
    .from(events)
    .where(eq(events.id, sql.placeholder("id")))
    .limit(1)
    .prepare();
  const userExists = orm
    .select({ id: users.id })
    .from(users)
    .where(eq(users.id, sql.placeholder("id")))
    .limit(1)
    .prepare();
  // The fan-out runs once per subscriber, up to ten thousand times for one event: statements of SQLite itself.
  const subscribers = db.prepare<{ id: string; app_id: string; sequence: number }, [number, string, number]>(
    `UPDATE subscriptions SET sequence = sequence + 1
     WHERE broadcaster_user_id = ? AND event = ? AND version = ? RETURNING id, app_id, sequence`,
  );
  const addEvent = db.prepare<
    { seq: number },
    [string, string, number, number, string, Uint8Array, number, number]
  >(
    `INSERT INTO events (id, name, version, broadcaster_user_id, body, fingerprint, deliveries, published_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?) RETURNING seq`,
  );
  const addDelivery = db.prepare<null, [string, number, string, string, number, number, number | null]>(
    `INSERT INTO deliveries
       (id, event_seq, application_id, subscription_id, sequence, status, attempts, next_attempt_at, expires_at)
     VALUES (?, ?, ?, ?, ?, 'pending', 0, ?, ?)`,
  );
  // First attempts go out by their due time, so it must not run backwards when the clock does.
  let lastDueAt =
    orm.select({ at: events.published_at }).from(events).orderBy(desc(events.seq)).limit(1).get()?.at ?? 0;

  const publish = (event: NewEvent): PublishedEvent => {
    const earlier = byId.get({ id: event.id });
    if (earlier) {
      if (earlier.fingerprint.equals(event.fingerprint)) {
        return { id: event.id, deliveries: earlier.deliveries, applications: [] };
      }
      throw new DomainError("conflict", `The id ${event.id} is that of another event`);
    }
    if (!userExists.get({ id: event.broadcaster_user_id })) {
      const message = `is not a known user`;
      throw invalidFields([{ in: "body", field: "broadcaster_user_id", message }]);
    }
    lastDueAt = Math.max(lastDueAt, event.published_at);
    const { id, name, version, broadcaster_user_id, body, fingerprint, published_at } = event;
    const receivers = subscribers.all(broadcaster_user_id, name, version);
    const row = addEvent.get(
      id,
      name,
      version,
      broadcaster_user_id,
      body,
      fingerprint,
      receivers.length,
      published_at,
    );
    if (!row) throw new Error("INSERT returned no row");
    for (const { id: subscription, app_id, sequence } of receivers) {
      addDelivery.run(newId(), row.seq, app_id, subscription, sequence, lastDueAt, event.expires_at);
    }
    return {
      id,
      deliveries: receivers.length,
      applications: [...new Set(receivers.map(({ app_id }) => app_id))],
    };
  };

  return { publish: (event) => commit(() => publish(event)) };
}
