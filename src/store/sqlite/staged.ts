import type { Database } from "bun:sqlite";
import { appendFileSync } from "node:fs";
import type {
  DeliveryStore,
  EventStore,
  NewEvent,
  Retention,
  RetentionStore,
} from "../../domain/deliveries.ts";
import type { SubscriptionStore } from "../../domain/subscriptions.ts";
import type { WriterConflict } from "../data-storage.ts";
import type { Commit } from "./commit.ts";
import { type KeptBody, keptBody } from "./delivery-rows.ts";
import { setAsideIn } from "./directory.ts";
import { isUniqueViolation } from "./faults.ts";
import type { StagedDelivery } from "./schema.ts";

/*
 * Events that were just published alone are staged in one table. Storing an event in `events` and `deliveries` writes a
 * page of each of their indexes and of its subscription; staging it writes one page. Staged events are moved to their
 * tables many at a time: by the next commit of any other work, before a read that needs their rows, and at the start.
 * Only publishing (`publish.ts`) and what opens a store (`store.ts`, `open.ts`) use this file. All other code
 * sees an event in `events` and `deliveries` as soon as it is published.
 */

/** The number of slots in `staged_events`, and the most bytes of bodies in them. */
const slots = 256;
const maxBytes = 1024 * 1024;

/** The data of an earlier event that is needed when its id is published again. */
interface KnownEvent {
  readonly fingerprint: Uint8Array;
  readonly deliveries: number;
}

/** The staged events as publishing uses them, within a commit that does not move them. */
export interface StagedEvents {
  /** Stages an event. Returns false when its body is too large: then it is published without staging. */
  add(event: NewEvent, firstDelivery: number, deliveries: readonly StagedDelivery[]): boolean;
  find(id: string): KnownEvent | undefined;
  /** Call this after `move` when an event was added to `events` directly. */
  passed(seq: number): void;
  /** Returns the number of staged deliveries of a subscription. */
  countOf(subscriptionId: string): number;
  /** Moves all staged events. */
  move(): void;
}

/** What keeps staging invisible to all work but publishing. */
interface Staging extends StagedEvents {
  /** Makes a commit that moves staged events before its work. */
  before(commit: Commit): Commit;
  /** Call this when a commit or a part of a commit was rolled back. */
  forget(): void;
}

/** The content of the table, cached. */
interface Known {
  /** The number of the last event in `events`. */
  moved: number;
  /** The number of the last event, staged or not. */
  last: number;
  bytes: number;
  readonly events: Map<string, KnownEvent>;
  /** Number of staged deliveries by subscription. */
  readonly counts: Map<string, number>;
}

interface StagedRow extends Omit<KnownEvent, "deliveries"> {
  readonly seq: number;
  readonly id: string;
  readonly bytes: number;
  readonly deliveries: string;
}

export function stagedEvents(db: Database): Staging {
  const staged = db.prepare<StagedRow, [number]>(
    "SELECT seq, id, fingerprint, length(body) AS bytes, deliveries FROM staged_events WHERE seq > ? ORDER BY seq",
  );
  const insert = db.prepare(
    `INSERT OR REPLACE INTO staged_events (place, seq, id, name, version, broadcaster_user_id, body, fingerprint,
       published_at, expires_at, first_delivery, deliveries)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const moveAll = stagedMover(db);
  /** null when it has to be read again. */
  let known: Known | null = null;

  const note = (into: Known, row: Omit<StagedRow, "deliveries">, deliveries: readonly StagedDelivery[]) => {
    into.last = row.seq;
    into.bytes += row.bytes;
    into.events.set(row.id, { fingerprint: row.fingerprint, deliveries: deliveries.length });
    for (const [, , subscription] of deliveries)
      into.counts.set(subscription, (into.counts.get(subscription) ?? 0) + 1);
  };

  const read = (): Known => {
    const moved = lastEvent(db);
    const found = { moved, last: moved, bytes: 0, events: new Map(), counts: new Map() };
    for (const row of staged.iterate(moved)) note(found, row, JSON.parse(row.deliveries));
    return found;
  };
  const all = (): Known => {
    known ??= read();
    return known;
  };

  const move = (): void => {
    const { moved, events } = all();
    if (events.size === 0) return;
    moveAll(moved);
    known = null;
  };

  return {
    add(event, first_delivery, deliveries) {
      const bytes = event.body.length;
      if (bytes > maxBytes / slots) return false;
      const { last, moved, bytes: others } = all();
      if (last - moved >= slots || others + bytes > maxBytes) move();
      const seq = all().last + 1;
      const { id, name, version, broadcaster_user_id, body, fingerprint, published_at, expires_at } = event;
      insert.run(
        seq % slots,
        seq,
        id,
        name,
        version,
        broadcaster_user_id,
        body,
        fingerprint,
        published_at,
        expires_at,
        first_delivery,
        JSON.stringify(deliveries),
      );
      note(all(), { seq, id, fingerprint, bytes }, deliveries);
      return true;
    },
    passed(seq) {
      const now = all();
      now.moved = seq;
      now.last = seq;
    },
    find: (id) => all().events.get(id),
    countOf: (subscriptionId) => all().counts.get(subscriptionId) ?? 0,
    move,
    before: (commit) => (work, isUrgent) =>
      commit((together) => {
        move();
        return work(together);
      }, isUrgent),
    forget() {
      known = null;
    },
  };
}

/** The connection that writes, of this or of another thread: each of its commits moves staged events. */
export interface StagingWriter {
  readonly deliveries: Pick<DeliveryStore, "record">;
}

/** Makes a function that has staged events moved, if there are any. When that fails, reads continue without them. */
export function stagedMovedBy(db: Database, move: () => Promise<void>): () => Promise<void> {
  const isAny = db.prepare<{ found: 0 | 1 }, []>(
    "SELECT EXISTS (SELECT 1 FROM staged_events WHERE seq > (SELECT ifnull(max(seq), 0) FROM events)) AS found",
  );
  return async () => {
    if (isAny.get()?.found === 1) await move().catch(() => {});
  };
}

/** Moves staged events through the connection that writes: results that are recorded are a commit, if only of none. */
export const throughWriter = (writer: StagingWriter) => () => writer.deliveries.record([], []);

/** Wraps the reads that need rows of staged events, so that `moved` is awaited before each of them. */
export function afterStaged(moved: () => Promise<void>) {
  const after =
    <Args extends readonly unknown[], Result>(read: (...args: Args) => Promise<Result>) =>
    (...args: Args) =>
      moved().then(() => read(...args));
  return {
    deliveries: (store: DeliveryStore): DeliveryStore => ({
      ...store,
      page: after(store.page),
      find: after(store.find),
      backlog: after(store.backlog),
      pendingOf: after(store.pendingOf),
      backlogOfAll: after(store.backlogOfAll),
    }),
    events: (store: EventStore): EventStore => ({ ...store, find: after(store.find) }),
    // A subscription shows the sequence of its last delivery.
    subscriptions: (store: SubscriptionStore): SubscriptionStore => ({ ...store, find: after(store.find) }),
  };
}

/** Makes each pass of retention also erase what moved events have left in their slots. */
export function erasingStaged(db: Database, commit: Commit, store: RetentionStore): RetentionStore {
  const erase = db.prepare<null, [number]>("DELETE FROM staged_events WHERE published_at < ?");
  return {
    ...store,
    async prune(retention, now) {
      const isOver = await store.prune(retention, now);
      // `commit` moves staged events first, so all rows are unused.
      if (isOver) await commit(() => void erase.run(now - shortestForBodies(retention)));
      return isOver;
    },
  };
}

const shortestForBodies = ({ bodiesMs, byType = {} }: Retention) =>
  Math.min(bodiesMs, ...Object.values(byType));

function lastEvent(db: Database): number {
  return db.query<{ seq: number }, []>("SELECT ifnull(max(seq), 0) AS seq FROM events").get()?.seq ?? 0;
}

/**
 * Moves the events that an earlier process has left, within a transaction. Returns null unless two processes had
 * written at once. Then the events that cannot be stored are in a file of the directory.
 */
export function moveEarlierStaged(db: Database, directory: string): WriterConflict | null {
  const { renumbered, setAside } = moveStaged(db);
  if (renumbered === 0 && setAside.length === 0) return null;
  const file = setAsideIn(directory);
  const lines = setAside.map((row) => `${JSON.stringify({ ...row, fingerprint: undefined })}\n`);
  if (lines.length > 0) appendFileSync(file, lines.join(""), { mode: 0o600 });
  return { renumbered, setAside: setAside.length, file };
}

interface Conflicts {
  /** How many events have deliveries that got other numbers. */
  readonly renumbered: number;
  /** Rows of events whose ids other events have. They are no longer in the database. */
  readonly setAside: readonly Readonly<Record<string, unknown>>[];
}

function moveStaged(db: Database): Conflicts {
  let renumbered = 0;
  const setAside: Record<string, unknown>[] = [];
  const from = lastEvent(db);
  const move = stagedMover(db);
  const isMoved = (after: number, upTo?: number): boolean => {
    try {
      // Within a transaction this is a savepoint.
      db.transaction(() => move(after, upTo))();
      return true;
    } catch (error) {
      if (isUniqueViolation(error)) return false;
      throw error;
    }
  };
  if (isMoved(from)) return { renumbered, setAside };
  const left = db.query<Record<string, unknown> & { readonly seq: number; readonly id: string }, [number]>(
    "SELECT * FROM staged_events WHERE seq > ? ORDER BY seq",
  );
  for (const row of left.all(from)) {
    const { seq, id } = row;
    if (isMoved(seq - 1, seq)) continue;
    renumber(db, seq);
    if (isMoved(seq - 1, seq)) renumbered++;
    else {
      const isKnown = "SELECT 1 FROM events WHERE id = ? AND fingerprint = ?";
      const isSame = db.query(isKnown).get(id, row["fingerprint"] as Uint8Array) !== null;
      if (!isSame) setAside.push(row);
      db.run("DELETE FROM staged_events WHERE seq = ?", [seq]);
    }
  }
  return { renumbered, setAside };
}

/** Gives the deliveries of a staged event numbers and sequences that no other delivery has. */
function renumber(db: Database, seq: number): void {
  db.run(
    `UPDATE staged_events SET
       first_delivery = (SELECT max(first_delivery, ifnull(max(d.seq), 0) + 1) FROM deliveries d),
       deliveries = (
         SELECT json_group_array(json_array(
           d.value ->> 0, d.value ->> 1, d.value ->> 2, max(d.value ->> 3, ifnull(s.sequence, 0) + 1)) ORDER BY d.key)
         FROM json_each(deliveries) d LEFT JOIN subscriptions s ON s.id = d.value ->> 2)
     WHERE seq = ?`,
    [seq],
  );
}

/** Makes a function that moves all staged events from after `moved`, the last event in `events`, to `upTo`. */
function stagedMover(db: Database): (moved: number, upTo?: number) => void {
  const each = "FROM staged_events s, json_each(s.deliveries) d WHERE s.seq > ? AND s.seq <= ?";
  const statements = [
    `INSERT INTO deliveries
       (seq, id, event_seq, application_id, subscription_id, sequence, status, attempts, expires_at)
     SELECT s.first_delivery + d.key, d.value ->> 0, s.seq, d.value ->> 1, d.value ->> 2, d.value ->> 3, 'pending', 0,
       s.expires_at ${each} ORDER BY s.seq, d.key`,
    `UPDATE subscriptions SET sequence = sequence + more.n
     FROM (SELECT d.value ->> 2 AS id, count(*) AS n ${each} GROUP BY 1) AS more WHERE subscriptions.id = more.id`,
  ].map((sql) => db.prepare<null, [number, number]>(sql));
  // A body is only read together with a delivery.
  const bodies = db.prepare<{ seq: number; body: string | null }, [number, number]>(
    `SELECT seq, iif(json_array_length(deliveries) = 0, NULL, body) AS body
     FROM staged_events WHERE seq > ? AND seq <= ? ORDER BY seq`,
  );
  const addEvent = db.prepare<null, [KeptBody | null, number]>(
    `INSERT INTO events
       (seq, id, name, version, broadcaster_user_id, body, fingerprint, first_delivery, deliveries, published_at)
     SELECT seq, id, name, version, broadcaster_user_id, ?, fingerprint, first_delivery,
       json_array_length(deliveries), published_at
     FROM staged_events WHERE place = ?`,
  );
  return (moved, upTo = Number.MAX_SAFE_INTEGER) => {
    for (const statement of statements) statement.run(moved, upTo);
    for (const { seq, body } of bodies.all(moved, upTo)) {
      addEvent.run(body === null ? null : keptBody(body), seq % slots);
    }
  };
}
