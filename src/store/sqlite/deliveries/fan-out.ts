import type { Database } from "bun:sqlite";
import { and, eq, sql } from "drizzle-orm";
import type { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import type { DeliveryStatus, DueDelivery, NewEvent } from "../../../domain/deliveries.ts";
import { DomainError, invalidFields } from "../../../domain/errors.ts";
import { builtInEventTypes } from "../../../domain/events/catalogue.ts";
import { newId } from "../../../domain/ids.ts";
import type { StoredEvent } from "../../events.ts";
import { eventTypes } from "../schema/events.ts";
import type { DeliveryModes } from "./modes.ts";
import { deliveryPositions } from "./positions.ts";
import { rowInserter } from "./rows.ts";

/** Keeps an event and its deliveries, inside a transaction; see `EventStore`. */
type Publish = (event: NewEvent, takes: (applicationId: string) => boolean) => StoredEvent;

interface Receiver {
  readonly id: string;
  readonly app_id: string;
  readonly sequence: number;
}

/**
 * Raw statements of SQLite, because they run once for each event or subscriber, and one event may have ten thousand
 * subscribers.
 */
export function eventFanOut(db: Database, orm: BunSQLiteDatabase, modes: DeliveryModes): Publish {
  const byId = db.prepare<{ fingerprint: Uint8Array; deliveries: number }, [string]>(
    "SELECT fingerprint, deliveries FROM events WHERE id = ?",
  );
  const userExists = db.prepare<{ id: number }, [number]>("SELECT id FROM users WHERE id = ?");
  const subscribers = db.prepare<Receiver, [number, string, number]>(
    `UPDATE subscriptions SET sequence = sequence + 1
     WHERE broadcaster_user_id = ? AND event = ? AND version = ? RETURNING id, app_id, sequence`,
  );
  const addEvent = db.prepare<
    { seq: number },
    [string, string, number, number, string, Uint8Array, number, number, number]
  >(
    `INSERT INTO events
       (id, name, version, broadcaster_user_id, body, fingerprint, first_delivery, deliveries, published_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING seq`,
  );
  const addRows = rowInserter<DeliveryRow>(
    db,
    `INSERT INTO deliveries
       (seq, id, event_seq, application_id, subscription_id, sequence, status, attempts, next_attempt_at,
        finished_at, expires_at)`,
    "(?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?)",
  );
  const markPublished = orm
    .update(eventTypes)
    .set({ is_published: true })
    .where(
      and(
        eq(eventTypes.name, sql.placeholder("name")),
        eq(eventTypes.version, sql.placeholder("version")),
        eq(eventTypes.is_published, false),
      ),
    )
    .prepare();
  let nextDelivery = deliveryPositions(orm).last() + 1;

  return (event, takes) => {
    const { id, name, version, broadcaster_user_id, body, fingerprint, published_at, expires_at } = event;
    const earlier = byId.get(id);
    if (earlier) {
      if (Buffer.from(earlier.fingerprint).equals(fingerprint)) {
        return { id, deliveries: earlier.deliveries, taken: [], streamed: [] };
      }
      throw new DomainError("conflict", `The id ${id} is that of another event`);
    }
    if (!userExists.get(broadcaster_user_id)) {
      const message = "is not a known user";
      throw invalidFields([{ in: "body", field: "broadcaster_user_id", message }]);
    }
    if (!builtIn.has(name)) markPublished.run({ name, version });
    const receivers = subscribers.all(broadcaster_user_id, name, version);
    const row = addEvent.get(
      id,
      name,
      version,
      broadcaster_user_id,
      body,
      fingerprint,
      nextDelivery,
      receivers.length,
      published_at,
    );
    if (!row) throw new Error("INSERT returned no row");
    const sent = { id, name, version, body: Buffer.from(body) };
    const taken: DueDelivery[] = [];
    const streamed = new Set<string>();
    const rows: DeliveryRow[] = [];
    for (const { id: subscription_id, app_id: application_id, sequence } of receivers) {
      const [seq, delivery] = [nextDelivery++, newId()];
      const mode = modes.of(application_id);
      if (mode !== "webhook") streamed.add(application_id);
      const begin = [seq, delivery, row.seq, application_id, subscription_id, sequence] as const;
      if (mode === "stream") {
        // With that it can be read, which is all that there is to deliver.
        rows.push([...begin, "delivered", null, published_at, expires_at]);
        continue;
      }
      const isTaken = takes(application_id);
      rows.push([...begin, "pending", isTaken ? null : 0, null, expires_at]);
      if (!isTaken) continue;
      const state = {
        isWanted: true,
        attempts: 0,
        extra_attempts: 0,
        resume_at: null,
        expires_at,
        event: sent,
      };
      taken.push({ seq, id: delivery, application_id, subscription_id, sequence, ...state });
    }
    addRows(rows);
    return { id, deliveries: receivers.length, taken, streamed: [...streamed] };
  };
}

/** seq, id, event_seq, application_id, subscription_id, sequence, status, next_attempt_at, finished_at, expires_at */
type DeliveryRow = readonly [
  number,
  string,
  number,
  string,
  string,
  number,
  DeliveryStatus,
  number | null,
  number | null,
  number | null,
];

/** Types of their own are marked as published; there are none of these. */
const builtIn: ReadonlySet<string> = new Set(builtInEventTypes.map(({ name }) => name));
