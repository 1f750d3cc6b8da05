import type { DeliveryMode } from "../domain/applications.ts";
import type {
  DueDelivery,
  EventStore,
  FoundEvent,
  NewEvent,
  PublishedEvent,
  ReserveSlot,
  SentEvent,
  StoredEvent,
} from "../domain/deliveries.ts";
import { BatchRefused, DomainError, inOneLine, unknownBroadcaster } from "../domain/errors.ts";
import { newId, newReplica } from "../domain/ids.ts";
import { second } from "../domain/time.ts";
import { idOfOther, joinedEvents, newDelivery } from "../store/drizzle/deliveries.ts";
import { DeadlineError, isLockTimeout, isStatementTimeout, NotSentError } from "./faults.ts";
import { type Considered, FilterDecisions, noneConsidered, subjectOf } from "./filters.ts";
import type { Postgres, Queries } from "./pool.ts";
import { publishingLock } from "./positions.ts";
import type { ClaimedDeliveries, StoreRead } from "./queue.ts";
import type { OwnedShards } from "./shards.ts";

/** One row for each delivery of an event, or a single row for an event without deliveries. */
interface FannedOut {
  /** Position of the event in the batch, from 1. */
  readonly n: number;
  /** Whether the event was stored now. False for an unknown broadcaster or the id of an earlier event. */
  readonly is_new: boolean;
  /** Whether nothing was stored, because filters of subscribers are others than those considered. */
  readonly is_stale: boolean;
  readonly seq: number | null;
  readonly id: string;
  readonly application_id: string;
  readonly subscription_id: string;
  readonly sequence: number;
  readonly mode: DeliveryMode;
  /** Whether this publisher has also published the subscription's previous delivery, or there is none. */
  readonly follows: boolean;
}

/**
 * The id of a delivery `d`, a ULID. Time and random digits are a parameter; the last eight digits are from its number.
 */
const deliveryId = "d.prefix || lpad((d.seq % 100000000)::text, 8, '0')";

/** How long publishing waits for a lock. Other publishers hold theirs for one commit. */
const lockTimeoutMs = 3 * second;
/** How long each part of a batch waits for locks, if the whole batch has waited too long. */
const partLockTimeoutMs = second / 4;
/** How long all parts of a batch wait for locks together. Then the rest of the batch is refused. */
const allPartsMs = 5 * second;

/**
 * Stores a batch of events with their deliveries in one statement: one round trip and one sync. Subscriptions are
 * locked in the order of their ids, so two publishing processes cannot deadlock. Numbers are taken after these locks,
 * so the numbers of a subscription's deliveries ascend with its sequence. The lock timeout holds until the end of the
 * transaction.
 */
const statement = `
WITH started AS MATERIALIZED (SELECT set_config('lock_timeout', $11, true), ${publishingLock}),
given AS MATERIALIZED (
  SELECT g.*, EXISTS (SELECT FROM users u WHERE u.id = g.broadcaster) AS is_known
  FROM started, unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::text[], $6::bytea[], $7::bigint[],
    $8::bigint[], $9::text[]) WITH ORDINALITY
    AS g(id, name, version, broadcaster, body, fingerprint, published_at, expires_at, prefix, n)
),
keys AS MATERIALIZED (SELECT DISTINCT broadcaster, name, version FROM given WHERE is_known),
receivers AS MATERIALIZED (
  SELECT s.id, s.app_id, s.broadcaster_user_id, s.event, s.version, s.published_by FROM subscriptions s
  JOIN keys k ON k.broadcaster = s.broadcaster_user_id AND k.name = s.event AND k.version = s.version
  ORDER BY s.id FOR NO KEY UPDATE OF s
),
stale AS MATERIALIZED (
  SELECT FROM receivers r JOIN applications a ON a.id = r.app_id
  LEFT JOIN unnest($12::text[], $13::bigint[]) AS considered(app_id, generation) ON considered.app_id = a.id
  WHERE a.filters_generation > 0 AND considered.generation IS DISTINCT FROM a.filters_generation LIMIT 1
),
unwanted AS MATERIALIZED (
  SELECT g.n, r.id FROM unnest($14::bigint[], $15::text[]) AS excluded(n, app_id) JOIN given g ON g.n = excluded.n
  JOIN receivers r ON r.app_id = excluded.app_id AND r.broadcaster_user_id = g.broadcaster AND r.event = g.name
    AND r.version = g.version
),
fresh AS (
  INSERT INTO event_ids (id, seq, name, version, broadcaster_user_id, published_at, fingerprint, deliveries)
  SELECT id, nextval('delivery_numbers'), name, version, broadcaster, published_at, fingerprint, receivers
  FROM (SELECT g.id, g.name, g.version, g.broadcaster, g.published_at, g.fingerprint, coalesce(r.receivers, 0) - coalesce(u.unwanted, 0) AS receivers FROM given g
        LEFT JOIN (SELECT broadcaster_user_id, event, version, count(*) AS receivers FROM receivers GROUP BY 1, 2, 3) r
          ON r.broadcaster_user_id = g.broadcaster AND r.event = g.name AND r.version = g.version
        LEFT JOIN (SELECT n, count(*) AS unwanted FROM unwanted GROUP BY n) u ON u.n = g.n
        WHERE g.is_known AND NOT EXISTS (SELECT FROM stale) ORDER BY g.n) AS in_order
  ON CONFLICT (id) DO NOTHING RETURNING id, seq, deliveries
),
kept AS MATERIALIZED (
  SELECT DISTINCT ON (g.id) g.*, f.seq, f.deliveries FROM given g JOIN fresh f ON f.id = g.id
  WHERE g.is_known ORDER BY g.id, g.n
),
counted AS (
  UPDATE subscriptions s SET sequence = s.sequence + k.events, published_by = $10::bigint
  FROM (
    SELECT r.id, r.published_by, k.broadcaster, k.name, k.version, k.events - coalesce(u.events, 0) AS events
    FROM receivers r
    JOIN (SELECT broadcaster, name, version, count(*) AS events FROM kept GROUP BY 1, 2, 3) k
      ON k.broadcaster = r.broadcaster_user_id AND k.name = r.event AND k.version = r.version
    LEFT JOIN (SELECT u.id, count(*) AS events FROM unwanted u JOIN kept k ON k.n = u.n GROUP BY 1) u ON u.id = r.id
  ) k
  WHERE s.id = k.id AND k.events > 0
  RETURNING s.id, s.app_id, k.broadcaster, k.name, k.version, s.sequence - k.events AS before,
    s.sequence = k.events OR coalesce(k.published_by = $10::bigint, false) AS follows
),
bodies AS (INSERT INTO events (seq, body) SELECT seq, body FROM kept WHERE deliveries > 0),
published AS (
  UPDATE event_types t SET is_published = true FROM kept k
  WHERE t.name = k.name AND t.version = k.version AND NOT t.is_published
),
numbered AS MATERIALIZED (
  SELECT in_order.*, nextval('delivery_numbers') AS seq FROM (
    SELECT k.n, k.id AS event_id, k.seq AS event_seq, k.name, k.version, k.broadcaster, k.published_at, k.expires_at,
      k.prefix, c.id AS subscription_id, c.app_id,
      c.before + row_number() OVER (PARTITION BY c.id ORDER BY k.n) AS sequence,
      CASE WHEN a.delivery = 'webhook' OR a.disabled THEN 'webhook'
           WHEN a.webhook_url IS NULL THEN 'stream' ELSE a.delivery END AS mode, c.follows
    FROM kept k
    JOIN counted c ON c.broadcaster = k.broadcaster AND c.name = k.name AND c.version = k.version
    JOIN applications a ON a.id = c.app_id
    LEFT JOIN unwanted u ON u.n = k.n AND u.id = c.id
    WHERE u.n IS NULL
    ORDER BY k.n, c.id
  ) AS in_order
),
made AS (
  INSERT INTO deliveries (seq, id, event_seq, event_id, type, version, broadcaster_user_id, published_at, application_id,
    subscription_id, sequence, expires_at, status, next_attempt_at, finished_at)
  SELECT seq, ${deliveryId}, event_seq, event_id, name, version, broadcaster,
    published_at, app_id, subscription_id, sequence, expires_at,
    CASE mode WHEN 'stream' THEN 'delivered' ELSE 'pending' END,
    CASE mode WHEN 'stream' THEN NULL ELSE 0 END,
    CASE mode WHEN 'stream' THEN published_at END
  FROM numbered d
)
SELECT g.n::float8, k.n IS NOT NULL AS is_new, EXISTS (SELECT FROM stale) AS is_stale, d.seq::float8, ${deliveryId} AS id, d.app_id AS application_id,
  d.subscription_id, d.sequence::float8, d.mode, d.follows
FROM given g LEFT JOIN kept k ON k.n = g.n LEFT JOIN numbered d ON d.n = k.n
ORDER BY d.seq NULLS LAST, g.n`;

/** Stores events with their deliveries. `publisher` is the number of the publisher in this process. */
function fanOut(
  connection: Queries,
  events: readonly NewEvent[],
  publisher: number,
  { generations, excluded }: Considered,
  timeoutMs: number,
): Promise<FannedOut[]> {
  return connection.run<FannedOut>(statement, [
    events.map(({ id }) => id),
    events.map(({ name }) => name),
    events.map(({ version }) => version),
    events.map(({ broadcaster_user_id }) => broadcaster_user_id),
    events.map(({ body }) => body),
    events.map(({ fingerprint }) => Buffer.from(fingerprint)),
    events.map(({ published_at }) => published_at),
    events.map(({ expires_at }) => expires_at),
    events.map(() => newId().slice(0, 18)),
    publisher,
    String(timeoutMs),
    [...generations.keys()],
    [...generations.values()],
    excluded.map(([n]) => n),
    excluded.map(([, id]) => id),
  ]);
}

/** How often filters may change while a batch is stored. */
const mostConsidered = 5;

/**
 * Stores events with deliveries for the subscribers whose filters they match. Throws `unavailable` if filters change
 * again and again meanwhile.
 */
async function storeMatching(
  connection: Queries,
  events: readonly NewEvent[],
  by: { readonly publisher: number; readonly filters: FilterDecisions; readonly timeoutMs: number },
): Promise<{ readonly rows: readonly FannedOut[]; readonly considered: Considered }> {
  const { publisher, filters, timeoutMs } = by;
  let considered = filters.mayConcern(events) ? await filters.consider(connection, events) : noneConsidered;
  for (let times = 0; times < mostConsidered; times++) {
    const rows = await fanOut(connection, events, publisher, considered, timeoutMs);
    if (!rows[0]?.is_stale) return { rows, considered };
    considered = await filters.consider(connection, events);
  }
  const message = "Filters of applications change too fast. Try again in a moment.";
  throw new DomainError("unavailable", message, { retryAfterSeconds: 1, isNothingKept: true });
}

/** Which of some events, by their index, have subscriptions that another transaction holds. */
const heldSubscriptions = `
WITH receivers AS (
  SELECT k.n, s.id FROM unnest($1::bigint[], $2::text[], $3::bigint[]) WITH ORDINALITY AS k(broadcaster, name, version, n)
  JOIN subscriptions s ON s.broadcaster_user_id = k.broadcaster AND s.event = k.name AND s.version = k.version
),
free AS MATERIALIZED (
  SELECT s.id FROM subscriptions s WHERE s.id IN (SELECT id FROM receivers) FOR NO KEY UPDATE SKIP LOCKED
)
SELECT DISTINCT (n - 1)::float8 AS i FROM receivers WHERE id NOT IN (SELECT id FROM free)`;

/** How long events whose rows were held are refused without another try. */
const heldForMs = 5 * second;

/**
 * The subjects of events whose subscriptions another transaction has held for longer than `lockTimeoutMs`, and the ids
 * of events for which it holds something else, such as the same id. It holds them as long as its process is stopped, so
 * that other events must not wait with them.
 */
class HeldEvents {
  readonly #until = new Map<string, number>();

  constructor(readonly queries: Queries) {}

  has(event: NewEvent): boolean {
    const now = performance.now();
    return [subjectOf(event), event.id].some((key) => (this.#until.get(key) ?? 0) > now);
  }

  /**
   * Returns the subjects of events whose subscriptions are locked at this moment, perhaps only for this moment; none if
   * that cannot be found out.
   */
  async suspects(events: readonly NewEvent[]): Promise<ReadonlySet<string>> {
    const now = performance.now();
    for (const [subject, until] of this.#until) if (until <= now) this.#until.delete(subject);
    const parameters = [
      events.map((event) => event.broadcaster_user_id),
      events.map(({ name }) => name),
      events.map(({ version }) => version),
    ];
    const locked = await this.queries.run<{ i: number }>(heldSubscriptions, parameters).catch(() => []);
    return new Set(events.filter((_, n) => locked.some(({ i }) => i === n)).map(subjectOf));
  }

  /**
   * Notes what is held of events that have waited too long together: their subject, if they have one in common that is
   * suspect, or a single event. Returns false when that is not known.
   */
  note(events: readonly NewEvent[], suspects: ReadonlySet<string>): boolean {
    const [first, ...others] = events;
    if (first === undefined) return false;
    const subject = subjectOf(first);
    const isOneSubject = others.every((event) => subjectOf(event) === subject);
    if (isOneSubject && suspects.has(subject)) this.#until.set(subject, performance.now() + heldForMs);
    else if (others.length === 0) this.#until.set(first.id, performance.now() + heldForMs);
    else return false;
    return true;
  }
}

/** The refusal of an event that the database does not store in time. Nothing of it is stored. */
function tooSlow(): DomainError {
  const message = "The database takes too long to store events. Try again in a moment.";
  return new DomainError("unavailable", message, { retryAfterSeconds: 5, isNothingKept: true });
}

/** The refusal of an event that is held. Nothing of it is stored. */
function eventHeld(): DomainError {
  const message =
    "Another transaction of the database holds this event or its subscriptions. Try again in a moment.";
  return new DomainError("unavailable", message, { retryAfterSeconds: 5, isNothingKept: true });
}

interface EarlierEvent {
  readonly id: string;
  readonly fingerprint: Buffer;
  readonly deliveries: number;
}

/** Finds an event by its id. */
async function knownEvent(connection: Queries, id: string): Promise<FoundEvent | null> {
  const [found] = await connection.run<FoundEvent>(
    `SELECT id, name, version::float8, broadcaster_user_id::float8, published_at::float8, seq::float8 AS first_delivery
     FROM event_ids WHERE id = $1`,
    [id],
  );
  return found ?? null;
}

/** Reads the stored events with these ids. */
function earlierEvents(connection: Queries, ids: readonly string[]): Promise<EarlierEvent[]> {
  return connection.run<EarlierEvent>(
    "SELECT id, fingerprint, deliveries::float8 FROM event_ids WHERE id = ANY($1::text[])",
    [ids],
  );
}

interface Waiting {
  readonly event: NewEvent;
  readonly reserveSlot: ReserveSlot;
  /** When it was published, on the clock of the publisher. */
  readonly since: number;
  resolve(stored: StoredEvent): void;
  reject(error: unknown): void;
}

/** A batch that has waited too long for a lock is stored in parts. */
interface Parts {
  /** When the rest is refused. */
  readonly until: number;
  /** The subjects that may be held. */
  readonly suspects: ReadonlySet<string>;
}

/** The most events of one commit. It is less after a slow statement: events may have many subscribers. */
const maxGathered = 256;
/** How long events wait while statements are ended by their timeout. Then they are refused. */
const longestWaitMs = 30 * second;
/** The most bytes of the events of one commit. */
const maxGatheredBytes = 2 * 1024 * 1024;

/** How long the statement for a group of events took. */
interface Timed {
  readonly events: number;
  readonly ms: number;
}

/** Whether the smaller of two groups took about as long as the larger one, so that their size is not the reason. */
function isForOtherReason(one: Timed, other: Timed): boolean {
  const [smaller, larger] = one.events < other.events ? [one, other] : [other, one];
  return smaller.events <= 0.75 * larger.events && smaller.ms > 0.75 * larger.ms;
}

/**
 * Group commit: while a statement stores events, further events are collected, and the next statement stores all of
 * them. One statement is in progress at a time, so that results arrive in the order of the commits.
 *
 * @param now a clock that is never set, in milliseconds
 */
export function eventPublisher(
  pool: Postgres,
  claimed: ClaimedDeliveries,
  owned: OwnedShards,
  now = () => performance.now(),
): EventStore {
  let gathered: Waiting[] = [];
  /** Ends when the statement in progress and all queued ones have ended. */
  let tail: Promise<void> = Promise.resolve();
  let isScheduled = false;
  /** The most events of the next commit. */
  let most = maxGathered;
  /** The last group that was slow for its size, or perhaps for another reason. */
  let slow: Timed | null = null;
  /**
   * The number of this publisher. Another one follows a statement with an unknown outcome, which may store its events
   * late: later events are not taken into memory before those.
   */
  let publisher = owned.replica;
  const outcomeUnknown = () => {
    publisher = newReplica();
  };
  const refuseUnknown = (batch: readonly Waiting[], error: unknown) => {
    outcomeUnknown();
    refuse(batch, error);
  };
  const held = new HeldEvents(pool);
  const filters = new FilterDecisions();

  const enqueue = <T>(work: () => Promise<T>): Promise<T> => {
    const result = tail.then(work);
    tail = result.then(
      () => {},
      () => {},
    );
    return result;
  };

  const schedule = (): void => {
    if (isScheduled || gathered.length === 0) return;
    isScheduled = true;
    void enqueue(async () => {
      isScheduled = false;
      const batch = nextBatch(gathered, most);
      gathered = gathered.slice(batch.length);
      // A group that the bytes of its events limit is a full one.
      if (gathered.length > 0) most = batch.length;
      schedule();
      await keep(batch);
    });
  };

  /**
   * Adapts the next groups to a stored one. Its statement held the locks of subscriptions, for which other publishers
   * wait `lockTimeoutMs`: after a longer one, groups become smaller, unless that makes them no faster.
   */
  const adapt = (group: Timed): void => {
    if (group.ms > lockTimeoutMs) {
      // Much smaller groups than the largest say nothing about it.
      if (2 * group.events < most) return;
      // A single event cannot be made smaller, so two show whether the size matters.
      const mayGrow = group.events === 1 || (slow !== null && isForOtherReason(group, slow));
      most = mayGrow ? Math.min(2 * group.events, maxGathered) : Math.ceil(group.events / 2);
      slow = group;
    } else if (group.events >= most) {
      most = Math.min(group.ms < lockTimeoutMs / 2 ? Math.ceil(1.5 * most) : most + 1, maxGathered);
    }
  };

  /** After a statement that did not store a batch in time, the next ones store fewer events, which takes less time. */
  const storeFewer = (batch: readonly Waiting[]): void => {
    // The statement would have taken longer than its timeout, by an unknown time.
    slow = { events: batch.length, ms: Number.POSITIVE_INFINITY };
    most = Math.ceil(batch.length / 8);
    const since = now() - longestWaitMs;
    const late = gathered.filter((one) => one.since < since);
    gathered = gathered.filter((one) => one.since >= since);
    refuse(late, tooSlow());
  };

  const keep = async (group: readonly Waiting[], parts: Parts | null = null): Promise<void> => {
    const batch = group.filter(({ event, reject }) => {
      const isHeld = held.has(event);
      if (isHeld) reject(eventHeld());
      return !isHeld;
    });
    if (batch.length === 0) return;
    const read = claimed.beginRead();
    const events = eventsOf(batch);
    const begunAt = now();
    try {
      const timeoutMs = parts === null ? lockTimeoutMs : partLockTimeoutMs;
      const stored = await storeMatching(pool, events, { publisher, filters, timeoutMs });
      adapt({ events: group.length, ms: now() - begunAt });
      const outcomes = await outcomesOf(pool, events, stored);
      for (const [i, { event, reserveSlot, resolve, reject }] of batch.entries()) {
        const outcome = outcomes[i];
        if (outcome instanceof Error) reject(outcome);
        else if (outcome) resolve(storedEvent({ claimed, owned, read, reserveSlot }, event, outcome));
      }
    } catch (error) {
      if (isStatementTimeout(error)) {
        // Nothing of it is stored. The next part may have later events of the same subject, and does not wait.
        if (batch.length === 1 || parts !== null) refuse(batch, tooSlow());
        else gathered = [...batch, ...gathered];
        storeFewer(batch);
        schedule();
      } else if (isLockTimeout(error)) await keepParts(batch, parts);
      else if (error instanceof NotSentError) refuse(batch, Object.assign(tooSlow(), { cause: error }));
      else {
        // The server does not end the statements of a pooled connection.
        if (pool.isPooled && error instanceof DeadlineError) storeFewer(batch);
        refuseUnknown(batch, error);
      }
    } finally {
      read.end();
    }
  };

  /**
   * Keeps what another transaction does not hold of a batch that has waited too long for a lock, so that only held
   * events are refused.
   */
  const keepParts = async (batch: readonly Waiting[], known: Parts | null): Promise<void> => {
    const until = known?.until ?? now() + allPartsMs;
    const parts = known ?? { until, suspects: await held.suspects(eventsOf(batch)) };
    if (now() > until) return refuse(batch, eventHeld());
    if (held.note(eventsOf(batch), parts.suspects)) return refuse(batch, eventHeld());
    // The suspect ones are stored last: those that are held make each part with them wait.
    const isSuspect = ({ event }: Waiting) => parts.suspects.has(subjectOf(event));
    const inOrder = [...batch.filter((one) => !isSuspect(one)), ...batch.filter(isSuspect)];
    const others = inOrder.findIndex(isSuspect);
    const middle = others > 0 ? others : Math.ceil(batch.length / 2);
    await keep(inOrder.slice(0, middle), parts);
    await keep(inOrder.slice(middle), parts);
  };

  return {
    find: (id) => knownEvent(pool, id),
    publish: (event, reserveSlot) =>
      new Promise((resolve, reject) => {
        gathered.push({ event, reserveSlot, since: now(), resolve, reject });
        // At the end of this turn of the event loop, so that all of its events share a statement.
        if (gathered.length === 1) setImmediate(schedule);
      }),
    publishAll: (events, reserveSlot) =>
      enqueue(async () => {
        if (events.some((event) => held.has(event))) throw eventHeld();
        const read = claimed.beginRead();
        try {
          const outcomes = await pool.transact(async (transaction) => {
            const by = { publisher, filters, timeoutMs: lockTimeoutMs };
            const stored = await storeMatching(transaction, events, by);
            const all = await outcomesOf(transaction, events, stored);
            const failed = all.find((one) => one instanceof Error && !(one instanceof DomainError));
            if (failed) throw failed;
            const refusals = all.map((one) => (one instanceof DomainError ? inOneLine(one) : null));
            if (refusals.some((refusal) => refusal !== null)) throw new BatchRefused(refusals);
            return all.flatMap((one) => (one instanceof Error ? [] : one));
          });
          const stored = outcomes.flatMap((outcome, i) => {
            const event = events[i];
            return event ? storedEvent({ claimed, owned, read, reserveSlot }, event, outcome) : [];
          });
          return joinedEvents(stored);
        } catch (error) {
          if (!isLockTimeout(error)) {
            if (!(error instanceof BatchRefused)) outcomeUnknown();
            throw error;
          }
          held.note(events, await held.suspects(events));
          throw eventHeld();
        } finally {
          read.end();
        }
      }),
  };
}

const eventsOf = (batch: readonly Waiting[]) => batch.map(({ event }) => event);

function refuse(batch: readonly Waiting[], error: unknown): void {
  for (const { reject } of batch) reject(error);
}

function nextBatch(gathered: readonly Waiting[], most: number): readonly Waiting[] {
  let bytes = 0;
  const end = gathered.findIndex(({ event }, i) => {
    bytes += event.body.length;
    return i > 0 && (i === most || bytes > maxGatheredBytes);
  });
  return end === -1 ? gathered : gathered.slice(0, end);
}

/** A published event with the deliveries that were made now. */
interface Outcome extends PublishedEvent {
  readonly made: readonly FannedOut[];
  /** The applications whose filter it does not match. */
  readonly unwantedBy: readonly string[];
}

/**
 * Returns for each event its outcome, or the error with which it was refused. If earlier events cannot be read, the
 * events that were not stored get the error of the database.
 */
async function outcomesOf(
  connection: Queries,
  events: readonly NewEvent[],
  { rows, considered }: Awaited<ReturnType<typeof storeMatching>>,
): Promise<(Outcome | Error)[]> {
  const excluded = Map.groupBy(considered.excluded, ([n]) => n - 1);
  const made = Map.groupBy(rows, ({ n }) => n - 1);
  const repeated = events.filter((_, i) => made.get(i)?.[0]?.is_new === false).map(({ id }) => id);
  let failure: Error | null = null;
  const found =
    repeated.length === 0
      ? []
      : await earlierEvents(connection, repeated).catch((error: Error) => {
          failure = error;
          return [];
        });
  const earlier = new Map(found.map((one) => [one.id, one]));
  const newAt = new Map(events.flatMap(({ id }, i) => (made.get(i)?.[0]?.is_new ? [[id, i] as const] : [])));
  return events.map(({ id, fingerprint }, i) => {
    const its = made.get(i) ?? [];
    if (its[0]?.is_new) {
      const deliveries = its.filter(({ seq }) => seq !== null);
      const unwantedBy = (excluded.get(i) ?? []).map(([, id]) => id);
      return { id, deliveries: deliveries.length, made: deliveries, unwantedBy };
    }
    if (failure !== null) return failure;
    // An event may have the id of a later one only if it is refused for its broadcaster.
    const known = (newAt.get(id) ?? 0) > i ? undefined : earlier.get(id);
    if (known?.fingerprint.equals(fingerprint))
      return { id, deliveries: known.deliveries, made: [], unwantedBy: [] };
    return known ? idOfOther(id) : unknownBroadcaster();
  });
}

interface Claiming {
  readonly claimed: ClaimedDeliveries;
  readonly owned: OwnedShards;
  readonly read: StoreRead;
  readonly reserveSlot: ReserveSlot;
}

/** Claims deliveries for the dispatcher as far as the dispatcher has capacity. */
function storedEvent(
  { claimed, owned, read, reserveSlot }: Claiming,
  event: NewEvent,
  outcome: Outcome,
): StoredEvent {
  const { id, name, version, body } = event;
  const taken: DueDelivery[] = [];
  const streamed = new Set<string>();
  let sent: SentEvent | null = null;
  for (const delivery of outcome.made) {
    const { seq, application_id, subscription_id, sequence, mode, follows } = delivery;
    if (mode !== "webhook") streamed.add(application_id);
    if (mode === "stream" || seq === null) continue;
    const made = { seq, id: delivery.id };
    // A concurrent claim may have taken it already.
    if (reserveSlot(application_id, !follows) && claimed.claim(read, owned.of(application_id), made)) {
      sent ??= { id, name, version, body: Buffer.from(body) };
      taken.push(newDelivery({ ...made, application_id, subscription_id, sequence }, event, sent));
    }
  }
  const filtered = outcome.unwantedBy.map((application_id) => ({ application_id, type: name }));
  return { id: outcome.id, deliveries: outcome.deliveries, taken, streamed: [...streamed], filtered };
}
