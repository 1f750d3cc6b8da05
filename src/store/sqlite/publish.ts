import type { Database } from "bun:sqlite";
import { and, eq, ne, sql } from "drizzle-orm";
import type { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import type { DeliveryMode } from "../../domain/applications.ts";
import type {
  DeliveryStatus,
  DueDelivery,
  EventStore,
  NewEvent,
  StoredEvent,
} from "../../domain/deliveries.ts";
import { BatchRefused, DomainError, inOneLine, unknownBroadcaster } from "../../domain/errors.ts";
import { builtInEventTypes } from "../../domain/events/built-in.ts";
import type { Condition } from "../../domain/events/conditions.ts";
import { payloadOf, ReadyFilters } from "../../domain/filters.ts";
import { newId } from "../../domain/ids.ts";
import { idOfOther, joinedEvents, newDelivery } from "../drizzle/deliveries.ts";
import type { Commit } from "./commit.ts";
import { deliveryPositions, type KeptBody, keptBody, rowInserter } from "./delivery-rows.ts";
import { applications, events, eventTypes, type StagedDelivery } from "./schema.ts";
import type { DataSize } from "./sizes.ts";
import type { StagedEvents } from "./staged.ts";

export function eventStore(
  db: Database,
  orm: BunSQLiteDatabase,
  commit: Commit,
  known: Receiving,
  staged: StagedEvents,
  size: Pick<DataSize, "fullError">,
): EventStore {
  const publish = eventFanOut(db, orm, known, staged);
  const { name, version, broadcaster_user_id, first_delivery, published_at } = events;
  const found = orm
    .select({ id: events.id, name, version, broadcaster_user_id, first_delivery, published_at })
    .from(events)
    .where(eq(events.id, sql.placeholder("id")))
    .prepare();

  const publishAll = (all: readonly NewEvent[], reserveSlot: (applicationId: string) => boolean) => {
    const published: StoredEvent[] = [];
    const transaction = { together: all.length, fullError: size.fullError() };
    const refusals = all.map((event) => {
      try {
        published.push(publish(event, reserveSlot, transaction));
        return null;
      } catch (error) {
        if (!(error instanceof DomainError) || error.code === "unavailable") throw error;
        return inOneLine(error);
      }
    });
    if (refusals.some((refusal) => refusal !== null)) throw new BatchRefused(refusals);
    return joinedEvents(published);
  };

  return {
    publish: (event, reserveSlot) =>
      commit((together) => publish(event, reserveSlot, { together, fullError: size.fullError() }), true),
    publishAll: (all, reserveSlot) => commit(() => publishAll(all, reserveSlot), true),
    find: async (id) => found.get({ id }) ?? null,
  };
}

/** What the fan-out needs to know of applications, cached, because it needs it for each subscriber. */
interface Receiving {
  /** How an application gets its events. */
  mode(applicationId: string): DeliveryMode;
  /** The conditions of all applications that have a filter for a type. */
  conditions(name: string, version: number): ReadonlyMap<string, Condition>;
  /** Makes a commit for work that changes applications, which invalidates the cache. */
  forgottenBy(commit: Commit): Commit;
}

export function receiving(orm: BunSQLiteDatabase): Receiving {
  const { id, delivery, webhook_url, disabled, filters } = applications;
  const others = orm
    .select({
      id,
      delivery: sql<DeliveryMode>`CASE WHEN ${webhook_url} IS NULL THEN 'stream' ELSE ${delivery} END`,
    })
    .from(applications)
    .where(and(ne(delivery, "webhook"), eq(disabled, false)))
    .prepare();
  const filtering = orm
    .select({ id, text: sql<string>`${filters}` })
    .from(applications)
    .where(ne(filters, {}))
    .prepare();
  let modes: Map<string, DeliveryMode> | null = null;
  let byType: Map<string, Map<string, Condition>> | null = null;
  let ready = new Map<string, { readonly text: string; readonly filters: ReadyFilters }>();
  const forget = () => {
    modes = null;
    byType = null;
  };
  /** Filters that have the same text stay ready. */
  const readFilters = () => {
    const before = ready;
    ready = new Map(
      filtering.all().map(({ id, text }) => {
        const known = before.get(id);
        return [id, known?.text === text ? known : { text, filters: new ReadyFilters(JSON.parse(text)) }];
      }),
    );
    return new Map<string, Map<string, Condition>>();
  };
  return {
    mode(applicationId) {
      modes ??= new Map(others.all().map(({ id, delivery }) => [id, delivery]));
      return modes.get(applicationId) ?? "webhook";
    },
    conditions(name, version) {
      byType ??= readFilters();
      const type = `${name}@${version}`;
      let conditions = byType.get(type);
      if (conditions === undefined) {
        conditions = new Map();
        for (const [id, { filters }] of ready) {
          const condition = filters.conditionOf(name, version);
          if (condition !== null) conditions.set(id, condition);
        }
        byType.set(type, conditions);
      }
      return conditions;
    },
    // Invalidated within the transaction, for further work there, and after it, because it may have been rolled back.
    forgottenBy: (commit) => (work) =>
      commit((together) => {
        const result = work(together);
        forget();
        return result;
      }).finally(forget),
  };
}

interface Transaction {
  /** The number of pieces of work that share the transaction. */
  readonly together: number;
  /** The error for new events when the data has its largest size, else null. */
  readonly fullError: DomainError | null;
}

/** Stores an event and its deliveries, inside a transaction; see `EventStore`. */
type Publish = (
  event: NewEvent,
  reserveSlot: (applicationId: string) => boolean,
  transaction: Transaction,
) => StoredEvent;

/**
 * An event is staged if it has at most `fewReceivers`, and its transaction has fewer than `fewTogether` pieces of work.
 */
const fewReceivers = 16;
const fewTogether = 8;

interface Receiver {
  readonly id: string;
  readonly app_id: string;
  readonly sequence: number;
}

/** The subscribers of an event, by the filters of their applications. */
interface Matching {
  /** The subscribers that get the event, with their next sequence. */
  readonly receivers: readonly Receiver[];
  /** The applications whose filters do not match. */
  readonly unwanted: readonly string[];
}

/**
 * Makes the function that publishes events. It uses raw SQL, because its statements run once per event or subscriber,
 * and an event may have ten thousand subscribers.
 */
function eventFanOut(db: Database, orm: BunSQLiteDatabase, known: Receiving, staged: StagedEvents): Publish {
  const byId = db.prepare<{ fingerprint: Uint8Array; deliveries: number }, [string]>(
    "SELECT fingerprint, deliveries FROM events WHERE id = ?",
  );
  const userExists = db.prepare<{ id: number }, [number]>("SELECT id FROM users WHERE id = ?");
  const subscribers = db.prepare<Receiver, [number, string, number]>(
    `UPDATE subscriptions SET sequence = sequence + 1
     WHERE broadcaster_user_id = ? AND event = ? AND version = ? RETURNING id, app_id, sequence`,
  );
  const firstSubscribers = db.prepare<Receiver, [number, string, number]>(
    `SELECT id, app_id, sequence FROM subscriptions
     WHERE broadcaster_user_id = ? AND event = ? AND version = ? LIMIT ${fewReceivers + 1}`,
  );
  const allSubscribers = db.prepare<Receiver, [number, string, number]>(
    "SELECT id, app_id, sequence FROM subscriptions WHERE broadcaster_user_id = ? AND event = ? AND version = ?",
  );
  const countUp = db.prepare<null, [string]>("UPDATE subscriptions SET sequence = sequence + 1 WHERE id = ?");
  const countUpAll = db.prepare<null, [number, string, number]>(
    "UPDATE subscriptions SET sequence = sequence + 1 WHERE broadcaster_user_id = ? AND event = ? AND version = ?",
  );
  const addEvent = db.prepare<
    { seq: number },
    [string, string, number, number, KeptBody | null, Uint8Array, number, number, number]
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
  /** 0 before the first event: the numbers are known only when this connection has become the writer. */
  let nextDelivery = 0;

  /** Applies filters to an event. Returns null when none is about its type. */
  const matching = (event: NewEvent): Matching | null => {
    const { broadcaster_user_id, name, version, body } = event;
    const conditions = known.conditions(name, version);
    if (conditions.size === 0) return null;
    let data: unknown;
    const unwanted: string[] = [];
    const receivers: Receiver[] = [];
    for (const one of allSubscribers.all(broadcaster_user_id, name, version)) {
      const condition = conditions.get(one.app_id);
      if (condition !== undefined) data ??= payloadOf(body);
      if (condition === undefined || condition.matches(data)) receivers.push(withSequence(one));
      else unwanted.push(one.app_id);
    }
    return { receivers, unwanted };
  };

  const withSequence = ({ id, app_id, sequence }: Receiver): Receiver => ({
    id,
    app_id,
    sequence: sequence + staged.countOf(id) + 1,
  });

  /** Returns the receivers of an event that is to be staged, with their next sequence; null when there are too many. */
  const fewOf = (event: NewEvent, filtered: Matching | null): readonly Receiver[] | null => {
    const { broadcaster_user_id, name, version } = event;
    const few =
      filtered?.receivers ?? firstSubscribers.all(broadcaster_user_id, name, version).map(withSequence);
    return few.length > fewReceivers ? null : few;
  };

  return (event, reserveSlot, { together, fullError }) => {
    const { id, name, version, broadcaster_user_id, body, fingerprint, published_at, expires_at } = event;
    const earlier = byId.get(id) ?? staged.find(id);
    if (earlier) {
      if (Buffer.from(earlier.fingerprint).equals(fingerprint)) {
        return { id, deliveries: earlier.deliveries, taken: [], streamed: [], filtered: [] };
      }
      throw idOfOther(id);
    }
    if (fullError) throw fullError;
    const subject = [broadcaster_user_id, name, version] as const;
    const filtered = matching(event);
    const few = together < fewTogether ? fewOf(event, filtered) : null;
    if (few === null) staged.move();
    const receivers = few ?? filtered?.receivers ?? subscribers.all(...subject);
    // Only a user who exists can have subscriptions.
    if (receivers.length === 0 && !filtered?.unwanted.length && !userExists.get(broadcaster_user_id))
      throw unknownBroadcaster();
    if (!builtIn.has(name)) markPublished.run({ name, version });
    nextDelivery ||= deliveryPositions(orm).last() + 1;
    const first = nextDelivery;
    const sent = { id, name, version, body: Buffer.from(body) };
    const taken: DueDelivery[] = [];
    const streamed = new Set<string>();
    const rows: NewDelivery[] = [];
    for (const { id: subscription_id, app_id: application_id, sequence } of receivers) {
      const [seq, delivery] = [nextDelivery++, newId()];
      const mode = known.mode(application_id);
      if (mode !== "webhook") streamed.add(application_id);
      const about = [delivery, application_id, subscription_id, sequence] as const;
      if (mode === "stream") {
        // A delivery on the stream is delivered at once, because the stream can read it.
        rows.push({ about, status: "delivered", next_attempt_at: null, finished_at: published_at });
        continue;
      }
      const isTaken = reserveSlot(application_id);
      rows.push({ about, status: "pending", next_attempt_at: isTaken ? null : 0, finished_at: null });
      if (!isTaken) continue;
      taken.push(newDelivery({ seq, id: delivery, application_id, subscription_id, sequence }, event, sent));
    }
    const unwanted = filtered?.unwanted ?? [];
    const stored = {
      id,
      deliveries: receivers.length,
      taken,
      streamed: [...streamed],
      filtered: unwanted.map((application_id) => ({ application_id, type: name })),
    };
    if (few !== null) {
      // Claims and event streams read rows of `deliveries`, which a staged event does not have yet.
      const isOurs = taken.length === few.length && streamed.size === 0;
      const deliveries = rows.map(({ about }) => about);
      if (isOurs && staged.add(event, first, deliveries)) return stored;
      staged.move();
    }
    if (filtered !== null && unwanted.length === 0) countUpAll.run(...subject);
    else if (filtered !== null || few !== null) for (const { id } of receivers) countUp.run(id);
    const row = addEvent.get(
      id,
      name,
      version,
      broadcaster_user_id,
      // A body is only read together with a delivery.
      receivers.length === 0 ? null : keptBody(body),
      fingerprint,
      first,
      receivers.length,
      published_at,
    );
    if (!row) throw new Error("INSERT returned no row");
    staged.passed(row.seq);
    addRows(
      rows.map(({ about, status, next_attempt_at, finished_at }, at): DeliveryRow => {
        const [delivery, application_id, subscription_id, sequence] = about;
        const begin = [first + at, delivery, row.seq, application_id, subscription_id, sequence] as const;
        return [...begin, status, next_attempt_at, finished_at, expires_at];
      }),
    );
    return stored;
  };
}

interface NewDelivery {
  readonly about: StagedDelivery;
  readonly status: DeliveryStatus;
  readonly next_attempt_at: number | null;
  readonly finished_at: number | null;
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

/** Names of built-in types. Only registered types have a row that is marked as published. */
const builtIn: ReadonlySet<string> = new Set(builtInEventTypes.map(({ name }) => name));
