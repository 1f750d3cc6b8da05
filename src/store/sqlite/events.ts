import type { Database } from "bun:sqlite";
import { and, desc, eq, max, sql } from "drizzle-orm";
import type { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import type { DeliveryStatus, DueDelivery, NewEvent } from "../../domain/deliveries.ts";
import { DomainError, inOneLine, invalidFields } from "../../domain/errors.ts";
import { builtInEventTypes } from "../../domain/events/catalogue.ts";
import { newId } from "../../domain/ids.ts";
import { once } from "../../domain/lazily.ts";
import { BatchRefused } from "../batch.ts";
import type { EventStore } from "../events.ts";
import type { Commit } from "./commit.ts";
import type { DeliveryModes } from "./deliveries/modes.ts";
import { rowInserter } from "./deliveries/rows.ts";
import { deliveries, events, eventTypes } from "./schema/events.ts";

interface Receiver {
  readonly id: string;
  readonly app_id: string;
  readonly sequence: number;
}

export function eventStore(
  db: Database,
  orm: BunSQLiteDatabase,
  commit: Commit,
  modes: DeliveryModes,
): EventStore {
  // Statements of SQLite itself: once for each event or subscriber, of whom one event may have ten thousand.
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
  const markPublished = once(() =>
    orm
      .update(eventTypes)
      .set({ is_published: true })
      .where(
        and(
          eq(eventTypes.name, sql.placeholder("name")),
          eq(eventTypes.version, sql.placeholder("version")),
          eq(eventTypes.is_published, false),
        ),
      )
      .prepare(),
  );
  let nextDelivery = deliveryBehind(orm);

  const publish: Publish = (event, takes) => {
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
    if (!builtIn.has(name)) markPublished().run({ name, version });
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

  const publishAll = (all: readonly NewEvent[], takes: (applicationId: string) => boolean) => {
    const published: Published[] = [];
    const refusals = all.map((event) => {
      try {
        published.push(publish(event, takes));
        return null;
      } catch (error) {
        if (!(error instanceof DomainError)) throw error;
        return inOneLine(error);
      }
    });
    if (refusals.some((refusal) => refusal !== null)) throw new BatchRefused(refusals);
    return {
      published: published.map(({ id, deliveries }) => ({ id, deliveries })),
      taken: published.flatMap(({ taken }) => taken),
      streamed: [...new Set(published.flatMap(({ streamed }) => streamed))],
    };
  };

  return {
    publish: (event, takes) => commit(() => publish(event, takes)),
    publishAll: (all, takes) => commit(() => publishAll(all, takes)),
  };
}

/** The number of the next delivery: events outlive their deliveries, so that none is given twice when all are gone. */
function deliveryBehind(orm: BunSQLiteDatabase): number {
  const { first_delivery: first, deliveries: many, seq } = events;
  const last = orm
    .select({ last: max(deliveries.seq) })
    .from(deliveries)
    .get();
  const event = orm.select({ first, many }).from(events).orderBy(desc(seq)).limit(1).get();
  return Math.max((last?.last ?? 0) + 1, event ? event.first + event.many : 1);
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

type Published = Awaited<ReturnType<EventStore["publish"]>>;
type Publish = (event: NewEvent, takes: (applicationId: string) => boolean) => Published;
