import { Type } from "@sinclair/typebox";
import { type AuditedChange, valueChanges } from "../../domain/audit.ts";
import type { NewEvent, TraceContext } from "../../domain/deliveries.ts";
import { type BatchResult, DomainError, inOneLine, unknownBroadcaster } from "../../domain/errors.ts";
import { channelFollowed } from "../../domain/events/built-in.ts";
import { exampleUser } from "../../domain/examples.ts";
import { payloadOf, ReadyFilters } from "../../domain/filters.ts";
import type { KnownAnswer } from "../../domain/idempotency.ts";
import { derivedId } from "../../domain/ids.ts";
import type { Store } from "../../domain/store.ts";
import { parseExactJson } from "../../domain/validation/json.ts";
import { applyAtomically, applyBatch } from "../../platform/batches.ts";
import { EventInput, type Publisher } from "../../platform/publisher.ts";
import { TimeSlice } from "../../runtime/event-loop.ts";
import { answerOf } from "../http/answers.ts";
import { type RequestContext, reply } from "../http/context.ts";
import { longBodyStream, mediaType, readBytes, requireMediaType } from "../http/input.ts";
import { named, otherFieldsIgnored, TextParameter } from "../http/parameters.ts";
import { type AdminDeps, type AdminListener, adminBodyBytes, writers } from "./listener.ts";
import { AtomicQuery, DataReportSchema } from "./records.ts";

const IdempotencyHeaders = Type.Object({
  "Idempotency-Key": Type.Optional(
    TextParameter({
      pattern: "^[\\x21-\\x7e]{1,255}$",
      errorMessage: "must be 1 to 255 printable ASCII characters without spaces",
      description:
        "A key of your choice for this request, stored for 7 days. Repeating the request returns the same response with `Idempotent-Replayed: true` and sends nothing. A different body with the same key is a conflict. A request of which nothing was accepted is not stored.",
      examples: ["chat-2026-01-14-000017"],
    }),
  ),
});

/** The header of a response that repeats an earlier one. */
const replayedHeader = "idempotent-replayed";

/** The response to a request with a key. `isReplayed` is set if it repeats an earlier one. */
type KeyedAnswer = KnownAnswer & { readonly isReplayed?: boolean };

/** The response to a request, and whether nothing of it was accepted. */
type WorkAnswer = KnownAnswer & { readonly isRefused?: boolean };

/** Returns the id of the event at an index. Deterministic for one request and key, also after a crash. */
type IdOf = (index: number) => string;

/**
 * Runs a request once for each key. Event ids are derived from the key, so that a request can run again if the process
 * ended before its response was stored: the store recognises events that it has. A request that is refused as a whole,
 * or a batch of which no line is accepted, is not stored, so that the caller can correct it.
 */
async function onceForKey(
  { idempotency }: Pick<Store, "idempotency">,
  { key, request, now }: { readonly key: string; readonly request: Uint8Array; readonly now: number },
  work: (idOf: IdOf) => Promise<WorkAnswer>,
): Promise<KeyedAnswer> {
  const fingerprint = new Bun.CryptoHasher("sha256").update(request).digest();
  const { firstSeenAt, answer: known } = await idempotency.begin(key, fingerprint, now);
  if (known) return { ...known, isReplayed: true };
  const idOf: IdOf = (index) => {
    const seed = new Bun.CryptoHasher("sha256").update(`${key}\0${index}\0`).update(fingerprint).digest();
    return derivedId(firstSeenAt, seed);
  };
  const begun = { key, fingerprint, firstSeenAt };
  try {
    const { isRefused = false, ...answer } = await work(idOf);
    if (isRefused) {
      await idempotency.release(begun);
      return answer;
    }
    // Of two concurrent requests, the store accepted the events of one; the other is a repetition.
    return { ...answer, isReplayed: !(await idempotency.finish(begun, answer)) };
  } catch (error) {
    if (error instanceof DomainError && error.code !== "unavailable") await idempotency.release(begun);
    throw error;
  }
}

const json = "application/json";
const ndjson = ["application/x-ndjson", "application/ndjson", "application/jsonl"];

/** The size limit of a batch with an `Idempotency-Key`, which is buffered whole. */
const keyedBatchBytes = 8 * 1024 * 1024;
const keyedBatchLimit = "With an Idempotency-Key a batch may have at most 8 MiB";

const example = {
  id: "follow-17",
  name: channelFollowed.name,
  version: 1,
  broadcaster_user_id: exampleUser.id,
  data: channelFollowed.example,
};

/** `EventInput` with a documented object as its payload. */
const DocumentedEvent = Type.Object(
  {
    ...EventInput.properties,
    data: Type.Record(Type.String(), Type.Unknown(), {
      description: "Payload, which must match the schema of its type; see `GET /public/v1/events/types`.",
    }),
  },
  { $id: "EventInput", description: "An event of the platform.", ...otherFieldsIgnored },
);

const PublishedSchema = named("PublishedEvent", "A published event.", {
  id: Type.String({ description: "Id of the event: the one in the request, or a new one." }),
  deliveries: Type.Integer({ description: "Number of subscriptions to which it is delivered." }),
});

const Published = answerOf(Type.Union([PublishedSchema, DataReportSchema]), {
  name: "PublishAnswer",
  description: "The published event, or the report of a batch.",
  example: { id: "follow-17", deliveries: 1 },
});

/** `POST /admin/v1/events`: one event as JSON, or many as NDJSON. */
export function eventRoutes(app: AdminListener, deps: AdminDeps): void {
  const { store, now } = deps;
  const answered = async (
    requestContext: RequestContext,
    { key, atomic }: { readonly key: string | undefined; readonly atomic: boolean },
  ): Promise<KeyedAnswer> => {
    const { request, span } = requestContext;
    const publisher = within(deps.publisher, span?.context ?? null);
    const isOne = mediaType(request) === json;
    if (key === undefined && !isOne)
      return publishMany(publisher, longBodyStream(requestContext, atomic), atomic);
    const body = await (isOne
      ? readBytes(request, adminBodyBytes)
      : readBytes(request, keyedBatchBytes, keyedBatchLimit));
    await requestContext.longBody?.requireAllowed();
    const publishOne = async (idOf?: IdOf): Promise<KnownAnswer> => {
      const event = withId(parseExactJson(body, "body", "data"), idOf?.(0));
      const published = await publisher.publish(event);
      requestContext.change = publicationOf(event as EventInput);
      return { status: 202, body: JSON.stringify(published) };
    };
    if (key === undefined) return publishOne();
    // The fingerprint needs the whole body.
    return onceForKey(store, { key, request: body, now: now() }, (idOf) =>
      isOne ? publishOne(idOf) : publishMany(publisher, new Blob([body]).stream(), atomic, idOf),
    );
  };

  app.post(
    "/admin/v1/events",
    async ({ requestContext, query, headers: { "Idempotency-Key": key } }) => {
      requireMediaType(requestContext.request, json, ...ndjson);
      const atomic = query.atomic === "true";
      const { status, body, isReplayed = false } = await answered(requestContext, { key, atomic });
      return reply(requestContext, status, body, isReplayed ? { [replayedHeader]: "true" } : {});
    },
    {
      roles: writers,
      parse: "none",
      query: AtomicQuery,
      headers: IdempotencyHeaders,
      response: { 202: Published },
      errors: ["conflict"],
      detail: {
        operationId: "publishEvents",
        tags: ["Events"],
        description: `Publishes one event as JSON, or many as NDJSON with one event on each line. An acknowledged event is on disk, with a delivery for each subscription. Publishing the same event again under its \`id\` returns the first result and sends nothing, also with the fields of its objects in another order; a different event under the same \`id\` is a conflict. Unknown fields are ignored; a batch reports their number. ${keyedBatchLimit}.`,
        json: { schema: DocumentedEvent, example },
        ndjson: { description: "One event on each line.", example: [example] },
      },
    },
  );
}

const Preview = answerOf(
  named("EventPreview", "The effect that publishing an event would have.", {
    deliveries: Type.Integer({
      description: "Number of subscriptions to which it would be delivered: one for each application.",
    }),
    filtered: Type.Integer({
      description: "Number of applications that subscribe to it, but have a filter that it does not match.",
    }),
  }),
  { description: "The effect of publishing it now.", example: { deliveries: 2, filtered: 1 } },
);

/** Preview Event: to how many subscriptions an event would be delivered. */
export function previewRoute(app: AdminListener, { publisher, store }: AdminDeps): void {
  app.post(
    "/admin/v1/events/preview",
    async ({ body }) => {
      const { name, version, broadcaster_user_id, body: text } = publisher.read(body);
      const subscribers = await store.applications.subscribers({
        broadcaster_user_id,
        event: name,
        version,
      });
      if (subscribers.length === 0 && !(await store.users.exists(broadcaster_user_id)))
        throw unknownBroadcaster();
      const data = payloadOf(text);
      const slice = new TimeSlice();
      let filtered = 0;
      for (const { filters } of subscribers) {
        const condition = new ReadyFilters(filters).conditionOf(name, version);
        if (condition !== null && !condition.matches(data)) filtered++;
        if (slice.isOver) await slice.next();
      }
      return { deliveries: subscribers.length - filtered, filtered };
    },
    {
      roles: writers,
      body: { ...DocumentedEvent, examples: [example] },
      response: { 200: Preview },
      detail: {
        operationId: "previewEvent",
        tags: ["Events"],
        description:
          "Says to how many subscriptions an event would be delivered if it were published now. The event is checked like one that is published, but nothing is stored or sent.",
      },
    },
  );
}

type PublishingOf = Pick<Publisher, "publish" | "read" | "publishAll">;

/** Publishes within the span of a request. */
function within(publisher: PublishingOf, parent: TraceContext | null): PublishingOf {
  if (!parent) return publisher;
  return {
    publish: (input) => publisher.publish(input, parent),
    read: publisher.read,
    publishAll: (events) => publisher.publishAll(events, parent),
  };
}

/** Returns what the audit log says of published events: their type and channel, and nothing of their data. */
function publicationOf({ name, version, broadcaster_user_id }: EventInput): AuditedChange {
  return { object_name: `${name}@${version}`, changes: valueChanges(null, { broadcaster_user_id }) };
}

async function publishMany(
  publisher: PublishingOf,
  lines: AsyncIterable<Uint8Array>,
  atomic: boolean,
  idOf?: IdOf,
): Promise<WorkAnswer> {
  let index = 0;
  const read = (bytes: Uint8Array) => withId(parseExactJson(bytes, "line", "data"), idOf?.(index++));
  const readEvent = (bytes: Uint8Array) => {
    const input = read(bytes);
    return { event: publisher.read(input), ignored: ignored(input) };
  };
  // Events have no ids in the sense of this count: one that is published already is not published again.
  const { duplicate_ids: _, ...report } = atomic
    ? await applyAtomically(lines, {
        read: readEvent,
        keep: (all) => publishTogether(publisher, all),
        ignored: (line) => line.ignored,
      })
    : await applyBatch(lines, { read, keep: (events) => publishEach(publisher, events), ignored });
  const isRefused = report.accepted === 0 && report.rejected > 0;
  return { status: 202, body: JSON.stringify(report), isRefused };
}

/** Returns the number of unknown fields of an event. With a misspelt `id`, for example, an event may be sent twice. */
const ignored = (event: unknown): number =>
  Object.keys(event as object).filter((name) => !Object.hasOwn(EventInput.properties, name)).length;

/** Sets the id of an event that has none. */
function withId(event: unknown, id: string | undefined): unknown {
  if (id === undefined || typeof event !== "object" || event === null || Array.isArray(event)) return event;
  return "id" in event ? event : { ...event, id };
}

async function publishTogether(
  publisher: PublishingOf,
  all: readonly { readonly event: NewEvent }[],
): Promise<BatchResult> {
  return (await publisher.publishAll(all.map(({ event }) => event))).map(() => null);
}

/** Publishes all events concurrently, so that they share commits. */
async function publishEach(publisher: PublishingOf, events: readonly unknown[]): Promise<(string | null)[]> {
  const under: Promise<PromiseSettledResult<unknown>[]>[] = [];
  const slice = new TimeSlice();
  for (const event of events) {
    under.push(Promise.allSettled([publisher.publish(event)]));
    if (slice.isOver) await slice.next();
  }
  const results = (await Promise.all(under)).flat();
  return results.map((result) => {
    if (result.status === "fulfilled") return null;
    if (!(result.reason instanceof DomainError) || result.reason.code === "unavailable") throw result.reason;
    return inOneLine(result.reason);
  });
}
