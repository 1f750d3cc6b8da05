import { type Static, Type } from "@sinclair/typebox";
import type { NewEvent, PublishedEvent, PublishToEngine, TraceContext } from "../domain/deliveries.ts";
import { DomainError, invalidFields } from "../domain/errors.ts";
import { type Catalogue, checkPayload } from "../domain/events/catalogue.ts";
import { type EventType, versionRange } from "../domain/events/event-type.ts";
import { newId } from "../domain/ids.ts";
import { isoTime, second } from "../domain/time.ts";
import { about, Id } from "../domain/validation/fields.ts";
import { canonicalJson } from "../domain/validation/json.ts";
import { problems } from "../domain/validation/problems.ts";
import { InProgress, inTime } from "../runtime/event-loop.ts";
import type { PublishTraces } from "../runtime/tracing.ts";

/** An event as the platform publishes it. */
export const EventInput = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 100, description: "Name of the event." }),
  version: Type.Integer({ ...versionRange, description: "Version of the event." }),
  broadcaster_user_id: about(Id, "Id of the user whose channel the event belongs to."),
  data: Type.Object({}),
  id: Type.Optional(
    Type.String({
      pattern: "^[A-Za-z0-9._:-]{1,64}$",
      errorMessage: "must be 1 to 64 of the characters A-Z a-z 0-9 . _ : -",
      description: "Your own id of the event. The same event sent again with this id is not delivered twice.",
    }),
  ),
});
export type EventInput = Static<typeof EventInput>;

export interface Publisher {
  /**
   * Stores an event and its deliveries, which are then sent. A repeated `id` returns the same result and sends nothing.
   * Throws `invalid_parameter` with all wrong fields, `conflict` for the id of another event, or `unavailable` when it
   * is not stored in time: it may be stored later.
   * @param parent the span in which it is published
   */
  publish(input: unknown, parent?: TraceContext | null): Promise<PublishedEvent>;
  /** Returns a checked event for `publishAll`. Throws `invalid_parameter` with all wrong fields. */
  read(input: unknown): NewEvent;
  /**
   * Publishes all of these events or none. If the store refuses one, throws `BatchRefused` with the reason for each.
   */
  publishAll(events: readonly NewEvent[], parent?: TraceContext | null): Promise<readonly PublishedEvent[]>;
  /** For how long the oldest publish has been in progress, also one whose caller was refused; 0 for none. */
  readonly oldestMs: number;
  /** The number of events acknowledged since the start, by the name of their type. */
  readonly acknowledged: ReadonlyMap<string, number>;
}

interface PublisherOptions {
  readonly now: () => number;
  readonly catalogue: Catalogue;
  /** The time to live in seconds by event type, instead of the type's own; 0 for no limit. */
  readonly timeToLive?: Readonly<Record<string, number>>;
  /** null while tracing is off. */
  readonly traces?: PublishTraces | null;
}

/** The caller of a publish gets 503 after this, whatever the storage does. */
const longestPublishMs = 20 * second;

/** Resolves as `work`, or rejects with `unavailable` when it is late. */
async function stored<T>(work: Promise<T>): Promise<T> {
  const done = await inTime(
    work.then((value) => ({ value })),
    longestPublishMs,
  );
  if (done) return done.value;
  const message =
    "The event was not stored in time. Publish it again with the same id: it may be stored already.";
  throw new DomainError("unavailable", message, { retryAfterSeconds: 5, isLogged: true });
}

/**
 * Returns a publisher, which checks events against the catalogue in the main thread.
 * @param engine stores valid events
 */
export function createPublisher(
  engine: PublishToEngine,
  { now, catalogue, timeToLive = {}, traces = null }: PublisherOptions,
): Publisher {
  const newEvent = (input: unknown): NewEvent => {
    const { event, type } = readEvent(input, catalogue);
    const publishedAt = now();
    const { name, version, broadcaster_user_id, data } = event;
    const payload = JSON.stringify(data);
    const head = JSON.stringify({ type: name, version, timestamp: isoTime(publishedAt) });
    const key = JSON.stringify([name, version, broadcaster_user_id]);
    const set = Object.hasOwn(timeToLive, name) ? timeToLive[name] : undefined;
    const timeToLiveMs = set === undefined ? type.timeToLiveMs : set * second || null;
    return {
      id: event.id ?? newId(),
      name,
      version,
      broadcaster_user_id,
      body: `${head.slice(0, -1)},"data":${payload}}`,
      // The order of the fields of an object has no meaning (RFC 8259, section 4).
      fingerprint: Bun.CryptoHasher.hash("sha256", `${key.slice(0, -1)},${canonicalJson(data)}]`),
      published_at: publishedAt,
      expires_at: timeToLiveMs === null ? null : publishedAt + timeToLiveMs,
    };
  };
  const inProgress = new InProgress();
  const acknowledged = new Map<string, number>();
  const count = ({ name }: NewEvent) => acknowledged.set(name, (acknowledged.get(name) ?? 0) + 1);
  return {
    acknowledged,
    get oldestMs() {
      return inProgress.oldestMs;
    },
    async publish(input, parent = null) {
      const event = newEvent(input);
      const publish = (traced: NewEvent) => stored(inProgress.add(engine.publish(traced)));
      const published = await (traces ? traces.publish(event, parent, publish) : publish(event));
      count(event);
      return published;
    },
    read: newEvent,
    async publishAll(events, parent = null) {
      const publish = (traced: readonly NewEvent[]) => stored(inProgress.add(engine.publishAll(traced)));
      const published = await (traces ? traces.publishAll(events, parent, publish) : publish(events));
      events.forEach(count);
      return published;
    },
  };
}

function readEvent(input: unknown, catalogue: Catalogue): { event: EventInput; type: EventType } {
  const wrong = problems(EventInput, input, { in: "body" });
  if (wrong.length > 0) throw invalidFields(wrong);
  const event = input as EventInput;
  const type = catalogue.find(event.name, event.version);
  if (!type) {
    throw invalidFields([
      catalogue.has(event.name)
        ? { in: "body", field: "version", message: `is not one of event ${event.name}` }
        : {
            in: "body",
            field: "name",
            message: "is not a known event; GET /public/v1/events/types lists them",
          },
    ]);
  }
  const misfits = checkPayload(type, event.data);
  if (misfits.length > 0) throw invalidFields(misfits);
  return { event, type };
}
