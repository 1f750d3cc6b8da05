import type { Database } from "bun:sqlite";
import type { NewEvent } from "../../../domain/deliveries.ts";
import type { Commit } from "../database/commit.ts";
import type { StagedDelivery } from "../schema/events.ts";
import { type KeptBody, keptBody } from "./bodies.ts";

/** So many places there are, and so many bytes are staged at most. */
const places = 256;
const maxBytes = 1024 * 1024;

/** What is asked of an event that is published again. */
interface KnownEvent {
  readonly fingerprint: Uint8Array;
  readonly deliveries: number;
}

/**
 * Events that were just published. To keep one in `events` and `deliveries` changes a page of each of their indexes, and of
 * its subscriptions; here it is one page. Many are moved there together, in any case before something else reads or changes
 * deliveries.
 */
export interface StagedEvents {
  /** Keeps an event, within a commit. false when the table is full: then the event is published without staging. */
  add(event: NewEvent, firstDelivery: number, deliveries: readonly StagedDelivery[]): boolean;
  find(id: string): KnownEvent | undefined;
  /** To be called behind `move` when an event was added to `events` itself. */
  passed(seq: number): void;
  /** How many deliveries of a subscription are staged. */
  countOf(subscriptionId: string): number;
  /** Moves all, within a commit. */
  move(): void;
  /** The same as a commit of its own, unless there are none. Where nothing can be written, reads go on without them. */
  settle(): Promise<void>;
  /** Runs work that reads or changes deliveries. */
  before(commit: Commit): Commit;
  /** To be called when a commit or a part of one is undone. */
  forget(): void;
}

interface Known {
  /** The last event that is in `events`. */
  moved: number;
  last: number;
  bytes: number;
  readonly events: Map<string, KnownEvent>;
  /** Deliveries by subscription. */
  readonly counts: Map<string, number>;
}

interface StagedRow extends Omit<KnownEvent, "deliveries"> {
  readonly seq: number;
  readonly id: string;
  readonly bytes: number;
  readonly deliveries: string;
}

export function stagedEvents(db: Database, commit: Commit): StagedEvents {
  const staged = db.prepare<StagedRow, [number]>(
    "SELECT seq, id, fingerprint, length(body) AS bytes, deliveries FROM staged_events WHERE seq > ? ORDER BY seq",
  );
  const insert = db.prepare(
    `INSERT OR REPLACE INTO staged_events (place, seq, id, name, version, broadcaster_user_id, body, fingerprint,
       published_at, expires_at, first_delivery, deliveries)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const moveAll = stagedMover(db);
  /** null: to be read. */
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
      if (bytes > maxBytes / places) return false;
      const { last, moved, bytes: others } = all();
      if (last - moved >= places || others + bytes > maxBytes) move();
      const seq = all().last + 1;
      const { id, name, version, broadcaster_user_id, body, fingerprint, published_at, expires_at } = event;
      insert.run(
        seq % places,
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
    async settle() {
      if (all().events.size > 0) await commit(move).catch(() => {});
    },
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

/** A verb that reads what was published, once it is in its place. */
export function settled<Args extends readonly unknown[], Result>(
  { settle }: Pick<StagedEvents, "settle">,
  read: (...args: Args) => Promise<Result>,
): (...args: Args) => Promise<Result> {
  return (...args) => settle().then(() => read(...args));
}

function lastEvent(db: Database): number {
  return db.query<{ seq: number }, []>("SELECT ifnull(max(seq), 0) AS seq FROM events").get()?.seq ?? 0;
}

/** Moves what an earlier process has left. */
export function moveStaged(db: Database): void {
  db.transaction(() => stagedMover(db)(lastEvent(db))).immediate();
}

/** Makes the function that moves all staged events behind the last one that is in `events`. */
function stagedMover(db: Database): (moved: number) => void {
  const each = "FROM staged_events s, json_each(s.deliveries) d WHERE s.seq > ?";
  const statements = [
    `INSERT INTO deliveries
       (seq, id, event_seq, application_id, subscription_id, sequence, status, attempts, expires_at)
     SELECT s.first_delivery + d.key, d.value ->> 0, s.seq, d.value ->> 1, d.value ->> 2, d.value ->> 3, 'pending', 0,
       s.expires_at ${each} ORDER BY s.seq, d.key`,
    `UPDATE subscriptions SET sequence = sequence + more.n
     FROM (SELECT d.value ->> 2 AS id, count(*) AS n ${each} GROUP BY 1) AS more WHERE subscriptions.id = more.id`,
  ].map((sql) => db.prepare<null, [number]>(sql));
  // A body is read with a delivery alone.
  const bodies = db.prepare<{ seq: number; body: string | null }, [number]>(
    `SELECT seq, iif(json_array_length(deliveries) = 0, NULL, body) AS body
     FROM staged_events WHERE seq > ? ORDER BY seq`,
  );
  const addEvent = db.prepare<null, [KeptBody | null, number]>(
    `INSERT INTO events
       (seq, id, name, version, broadcaster_user_id, body, fingerprint, first_delivery, deliveries, published_at)
     SELECT seq, id, name, version, broadcaster_user_id, ?, fingerprint, first_delivery,
       json_array_length(deliveries), published_at
     FROM staged_events WHERE place = ?`,
  );
  return (moved) => {
    for (const statement of statements) statement.run(moved);
    for (const { seq, body } of bodies.all(moved)) {
      addEvent.run(body === null ? null : keptBody(body), seq % places);
    }
  };
}
