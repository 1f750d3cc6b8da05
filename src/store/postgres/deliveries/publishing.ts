import type { DueDelivery, NewEvent, PublishedEvent, SentEvent } from "../../../domain/deliveries.ts";
import { DomainError, inOneLine } from "../../../domain/errors.ts";
import { BatchRefused } from "../../batch.ts";
import type { EventStore, ReserveSlot, StoredEvent } from "../../events.ts";
import { idOfOther, joinedEvents, newDelivery, unknownBroadcaster } from "../../rows/stored-events.ts";
import type { Postgres, Queries } from "../database/pool.ts";
import type { ClaimedDeliveries, StoreRead } from "./claimed-deliveries.ts";
import { earlierEvents, type FannedOut, fanOut } from "./fan-out.ts";
import type { OwnedShards } from "./owned-shards.ts";

interface Waiting {
  readonly event: NewEvent;
  readonly reserveSlot: ReserveSlot;
  resolve(stored: StoredEvent): void;
  reject(error: unknown): void;
}

/** Limits of the events of one commit. */
const maxGathered = 256;
const maxGatheredBytes = 2 * 1024 * 1024;

/**
 * Group commit: while a statement stores events, further events are collected, and the next statement stores all of
 * them. One statement is in progress at a time, so that results arrive in the order of the commits.
 */
export function eventPublisher(pool: Postgres, claimed: ClaimedDeliveries, owned: OwnedShards): EventStore {
  let gathered: Waiting[] = [];
  /** Ends when the statement in progress and all queued ones have ended. */
  let tail: Promise<void> = Promise.resolve();
  let isScheduled = false;

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
      const batch = nextBatch(gathered);
      gathered = gathered.slice(batch.length);
      schedule();
      await keep(batch);
    });
  };

  const keep = async (batch: readonly Waiting[]): Promise<void> => {
    const read = claimed.beginRead();
    try {
      const events = batch.map(({ event }) => event);
      const outcomes = await outcomesOf(pool, events, await fanOut(pool, events, owned.replica));
      for (const [i, { event, reserveSlot, resolve, reject }] of batch.entries()) {
        const outcome = outcomes[i];
        if (outcome instanceof DomainError) reject(outcome);
        else if (outcome) resolve(storedEvent({ claimed, owned, read, reserveSlot }, event, outcome));
      }
    } catch (error) {
      for (const { reject } of batch) reject(error);
    } finally {
      read.end();
    }
  };

  return {
    publish: (event, reserveSlot) =>
      new Promise((resolve, reject) => {
        gathered.push({ event, reserveSlot, resolve, reject });
        // At the end of this turn of the event loop, so that all of its events share a statement.
        if (gathered.length === 1) setImmediate(schedule);
      }),
    publishAll: (events, reserveSlot) =>
      enqueue(async () => {
        const read = claimed.beginRead();
        try {
          const outcomes = await pool.transact(async (transaction) => {
            const all = await outcomesOf(
              transaction,
              events,
              await fanOut(transaction, events, owned.replica),
            );
            const refusals = all.map((one) => (one instanceof DomainError ? inOneLine(one) : null));
            if (refusals.some((refusal) => refusal !== null)) throw new BatchRefused(refusals);
            return all.flatMap((one) => (one instanceof DomainError ? [] : one));
          });
          const stored = outcomes.flatMap((outcome, i) => {
            const event = events[i];
            return event ? storedEvent({ claimed, owned, read, reserveSlot }, event, outcome) : [];
          });
          return joinedEvents(stored);
        } finally {
          read.end();
        }
      }),
  };
}

function nextBatch(gathered: readonly Waiting[]): readonly Waiting[] {
  let bytes = 0;
  const end = gathered.findIndex(({ event }, i) => {
    bytes += event.body.length;
    return i > 0 && (i === maxGathered || bytes > maxGatheredBytes);
  });
  return end === -1 ? gathered : gathered.slice(0, end);
}

/** A published event with the deliveries that were made now. */
interface Outcome extends PublishedEvent {
  readonly made: readonly FannedOut[];
}

/** Returns for each event its outcome, or the error with which it was refused. */
async function outcomesOf(
  connection: Queries,
  events: readonly NewEvent[],
  rows: readonly FannedOut[],
): Promise<(Outcome | DomainError)[]> {
  const made = Map.groupBy(rows, ({ n }) => n - 1);
  const repeated = events.filter((_, i) => made.get(i)?.[0]?.is_new === false).map(({ id }) => id);
  const earlier = new Map(
    (repeated.length === 0 ? [] : await earlierEvents(connection, repeated)).map((one) => [one.id, one]),
  );
  const newAt = new Map(events.flatMap(({ id }, i) => (made.get(i)?.[0]?.is_new ? [[id, i] as const] : [])));
  return events.map(({ id, fingerprint }, i) => {
    const its = made.get(i) ?? [];
    if (its[0]?.is_new) {
      const deliveries = its.filter(({ seq }) => seq !== null);
      return { id, deliveries: deliveries.length, made: deliveries };
    }
    // An event may have the id of a later one only if it is refused for its broadcaster.
    const known = (newAt.get(id) ?? 0) > i ? undefined : earlier.get(id);
    if (known?.fingerprint.equals(fingerprint)) return { id, deliveries: known.deliveries, made: [] };
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
    // A concurrent claim may have taken it already.
    if (reserveSlot(application_id, !follows) && claimed.claim(read, owned.of(application_id), seq)) {
      sent ??= { id, name, version, body: Buffer.from(body) };
      taken.push(
        newDelivery({ seq, id: delivery.id, application_id, subscription_id, sequence }, event, sent),
      );
    }
  }
  return { id: outcome.id, deliveries: outcome.deliveries, taken, streamed: [...streamed] };
}
