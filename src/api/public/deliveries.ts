import { type Static, type TObject, Type } from "@sinclair/typebox";
import { unsignedHeaders } from "../../delivery/signature.ts";
import { type Application, urlOf } from "../../domain/applications.ts";
import {
  type Attempt,
  type DeliveryFilter,
  type DeliveryRecord,
  type DeliveryScope,
  deliveryPages,
  deliveryStatuses,
  type SentDelivery,
  statusFilters,
} from "../../domain/deliveries.ts";
import { type Endpoint, nextAttemptAt } from "../../domain/endpoints.ts";
import { invalidField } from "../../domain/errors.ts";
import { filterOf } from "../../domain/filters.ts";
import type { Store } from "../../domain/store.ts";
import { isoTime, isoTimeOrNull } from "../../domain/time.ts";
import type { Grant } from "../../domain/tokens.ts";
import { about, nullable, oneOf } from "../../domain/validation/fields.ts";
import { dataOf, linksTo, nextPage, pageOf } from "../http/answers.ts";
import type { Caller } from "../http/context.ts";
import { type Cursors, listCursors } from "../http/cursors.ts";
import { existing } from "../http/errors.ts";
import {
  ChoiceParameter,
  IdParameter,
  IsoTimestamp,
  LimitParameter,
  named,
  optionalFields,
  picked,
  TextParameter,
  TimeParameter,
  timeRange,
} from "../http/parameters.ts";
import type { PublicDeps, TokenListener } from "./listener.ts";

/*
 * Schemas of deliveries. The admin API has them with the id of the application.
 */

const DeliveryStatus = oneOf(deliveryStatuses, {
  $id: "DeliveryStatus",
  description: "Status of a delivery. All but `pending` are final, until the delivery is sent again.",
});

const stage = (what: string) =>
  nullable(Type.Number(), { description: `${what}, in milliseconds; null if not needed or not reached.` });

export const TimingsSchema = named("Timings", "Duration of each stage of a request.", {
  dns_ms: stage("Time to resolve the host name"),
  connect_ms: stage("Time to connect"),
  tls_ms: stage("Time of the TLS handshake"),
  first_byte_ms: stage("Time from sending the request to the status line"),
});

const AttemptSchema = named("Attempt", "An attempt to send a delivery.", {
  at: about(IsoTimestamp, "Time at which the attempt began."),
  outcome: Type.String({
    description:
      "Result of the attempt: `ok`, `status` (a response other than 2xx), or the reason for the failure, such as `dns`, `tls` or `timeout`.",
  }),
  status: nullable(Type.Integer(), { description: "HTTP status of the response; null if none arrived." }),
  duration_ms: Type.Integer({ description: "Duration of the attempt, in milliseconds." }),
  timings: TimingsSchema,
  error: nullable(Type.String(), { description: "Reason for a failure, in one sentence; null for `ok`." }),
  response: Type.String({ description: "First KiB of the response body." }),
});

const SentAttemptSchema = named("SentAttempt", "An attempt to send a delivery, with what is kept of it.", {
  ...AttemptSchema.properties,
  url: nullable(Type.String(), {
    description:
      "The webhook URL that was called; null if it is no longer kept. With a user token without its path and query, which may contain a secret of the receiver.",
  }),
  response_headers: Type.Record(Type.String(), Type.String(), {
    description:
      "Headers of a response that was not 2xx, by lower-case name, up to 1,024 characters together; those that explain a failure, such as `location`, first. Cookies and headers that an egress proxy may have added are omitted. Empty for a success, and with a user token: a redirect may repeat the webhook URL.",
  }),
  signature: nullable(Type.String(), {
    description:
      "The `webhook-signature` of the request, if the response was not 2xx; null otherwise, and with a user token.",
  }),
});

const fields = {
  id: Type.String({ description: "Id of the delivery: the `webhook-id` of every attempt." }),
  subscription_id: Type.String({ description: "Id of the subscription." }),
  event_id: Type.String({ description: "Id of the event; the same for every subscription." }),
  type: Type.String({ description: "Type of the event." }),
  version: Type.Integer({ description: "Version of the event type." }),
  broadcaster_user_id: Type.Integer({ description: "Id of the broadcaster whose event it is." }),
  broadcaster_username: nullable(Type.String(), {
    description: "Username of the broadcaster; null when the user was deleted.",
  }),
  sequence: Type.Integer({ description: "Number of the delivery within its subscription, from 1." }),
  status: DeliveryStatus,
  created_at: about(IsoTimestamp, "Time at which the event was published."),
  next_attempt_at: nullable(IsoTimestamp, {
    description:
      "Time of the next attempt, always in the future: not before sending to the endpoint resumes after failures. null if it is in progress, due now, if the endpoint is disabled, or if none follows.",
  }),
  expires_at: nullable(IsoTimestamp, {
    description: "Time after which it is not sent; null if it never expires.",
  }),
  finished_at: nullable(IsoTimestamp, { description: "Time of its final status; null while it is pending." }),
  attempts: Type.Array(AttemptSchema, { description: "Attempts, the oldest first." }),
};

const SentRequestSchema = named("SentRequest", "A request to a webhook URL.", {
  method: Type.Literal("POST", { description: "The HTTP method." }),
  url: nullable(Type.String(), {
    description:
      "The webhook URL, as `url` of the last attempt; before the first one, the application's. null if there is none, or if it is no longer kept.",
  }),
  headers: Type.Record(Type.String(), Type.String(), {
    description:
      "Headers of the last attempt, without the application's own headers; with `webhook-signature` only if it is kept. Before the first attempt, without those that depend on its time.",
  }),
  body: nullable(Type.String(), { description: "Exact text of the body; null when it is no longer kept." }),
});

export const DeliverySchema = named("Delivery", "The delivery of an event to one subscription.", fields);
export const SentDeliverySchema = named("SentDelivery", "A delivery with the request that was sent.", {
  ...fields,
  attempts: Type.Array(SentAttemptSchema, { description: "Attempts, the oldest first." }),
  request: about(SentRequestSchema, "Request of the last attempt, or of the first one while there is none."),
});

/** The filters of a list of deliveries. */
const filters = optionalFields({
  subscription_id: TextParameter({
    minLength: 1,
    maxLength: 64,
    description: "Returns only deliveries of this subscription.",
  }),
  event_id: TextParameter({
    minLength: 1,
    maxLength: 64,
    description: "Returns only deliveries of the event with this id, one for each subscription.",
  }),
  broadcaster: IdParameter("broadcaster whose deliveries to return", 1001),
  status: ChoiceParameter(statusFilters, {
    description: `Returns only deliveries with this status: ${deliveryStatuses.join(", ")}; \`missed\`: failed, expired or canceled, of a subscription that still exists; or \`failing\`: attempted without success, and pending, failed or expired.`,
    examples: ["failed"],
  }),
  type: TextParameter({
    minLength: 1,
    maxLength: 100,
    description: "Returns only deliveries of this event type.",
    examples: ["channel.followed"],
  }),
  after: TimeParameter({
    description: "Returns only deliveries of events published at or after this time.",
    examples: ["2026-01-14T16:00:00Z"],
  }),
  before: TimeParameter({
    description: "Returns only deliveries of events published before this time. Must be later than `after`.",
    examples: ["2026-01-14T17:00:00Z"],
  }),
  limit: LimitParameter("deliveries", deliveryPages),
});

export const DeliveryId = Type.Object({
  id: TextParameter({
    maxLength: 64,
    description: "Id of the delivery: its `webhook-id`.",
    examples: ["01KEYN3T9V5Z8N1F4T7Y0XW3CA"],
  }),
});

/** The paged list of deliveries: the parameters of its query, and a method that reads the requested page. */
export function deliveryList(store: Pick<Store, "deliveries">, cursors: Cursors) {
  const positions = listCursors<[number]>(cursors, "deliveries");
  const query = { ...filters, cursor: positions.parameter };
  return {
    query,
    async page(parameters: Static<TObject<typeof query>>, scope: DeliveryScope, grant: Grant | null) {
      const { subscription_id = null, event_id = null, broadcaster, status = null, type = null } = parameters;
      const filter: DeliveryFilter = {
        ...scope,
        broadcaster_user_id: broadcasterIn(scope, broadcaster, "query"),
        subscription_id,
        event_id,
        status,
        type,
        ...timeRange(parameters),
      };
      const [below = null] = positions.positionIn(parameters) ?? [];
      const { limit = deliveryPages.defaultResults } = parameters;
      const { deliveries, next } = await store.deliveries.page(filter, below, limit);
      const cursor = next === null ? "" : positions.make([next], parameters, grant);
      return { deliveries, pagination: { cursor, has_more: next !== null } };
    },
  };
}

/**
 * Returns the broadcaster that a list or replay is limited to; null for all. Throws `invalid_parameter` when a user
 * asks for another broadcaster.
 */
export function broadcasterIn(
  { broadcaster_user_id: user }: DeliveryScope,
  requested: number | undefined,
  from: "query" | "body",
): number | null {
  if (requested === undefined || user === null || user === requested) return requested ?? user;
  const field = from === "query" ? "broadcaster" : "broadcaster_user_id";
  throw invalidField(from, field, "must be the user of the token");
}

/** What the shown time of the next attempt depends on. */
interface Now {
  readonly now: number;
  /** The endpoint of the application; null if nothing was sent to it yet, or if it is called at once. */
  readonly endpoint: Endpoint | null;
}

/** Returns a delivery in the form of the APIs. */
export function shownDelivery(
  delivery: DeliveryRecord,
  { now, endpoint }: Now,
): Static<typeof DeliverySchema> {
  const dueAt = delivery.status === "pending" ? delivery.next_attempt_at : null;
  return picked(fields, {
    ...delivery,
    created_at: isoTime(delivery.published_at),
    next_attempt_at: isoTimeOrNull(nextAttemptAt(dueAt, endpoint, now)),
    expires_at: isoTimeOrNull(delivery.expires_at || null),
    finished_at: isoTimeOrNull(delivery.finished_at || null),
    attempts: delivery.attempts.map(shownAttempt),
  });
}

/** Returns the deliveries of a page in the form of the APIs. */
export async function shownDeliveries(
  store: Pick<Store, "endpoints">,
  deliveries: readonly DeliveryRecord[],
  now: number,
): Promise<Static<typeof DeliverySchema>[]> {
  const pending = deliveries.filter(({ status }) => status === "pending");
  const ids = [...new Set(pending.map(({ application_id }) => application_id))];
  const endpoints = new Map(
    await Promise.all(ids.map(async (id) => [id, await store.endpoints.find(id)] as const)),
  );
  return deliveries.map((delivery) =>
    shownDelivery(delivery, { now, endpoint: endpoints.get(delivery.application_id) ?? null }),
  );
}

interface Circumstances {
  readonly application: Pick<Application, "webhook_url" | "former_urls"> | null;
  readonly now: number;
  /** Whether the caller is a user of the application, who may not see secrets of the receiver. */
  readonly isForUser?: boolean;
}

/** Returns a delivery with what was sent, in the form of the APIs. */
export async function shownSentDelivery(
  store: Pick<Store, "endpoints">,
  delivery: SentDelivery,
  { application, now, isForUser = false }: Circumstances,
): Promise<Static<typeof SentDeliverySchema>> {
  const { id, subscription_id, event_id, type, version, sequence, attempts, body } = delivery;
  const event = { id: event_id, name: type, version };
  const seen = (url: string | null) => (isForUser && url !== null ? new URL("/", url).href : url);
  const shownAttempts = attempts.map(({ generation, exchange, ...attempt }) => ({
    ...shownAttempt(attempt),
    url: seen(application && urlOf(application, generation)),
    response_headers: isForUser ? {} : { ...exchange?.headers },
    signature: (!isForUser && exchange?.signature) || null,
  }));
  const [last, lastShown] = [attempts.at(-1), shownAttempts.at(-1)];
  const described = { id, event, subscription_id, sequence, attempt: Math.max(1, attempts.length) };
  const { "webhook-timestamp": timestamp, ...timeless } = unsignedHeaders(described, last?.at ?? 0);
  const headers = {
    "content-type": "application/json",
    ...timeless,
    ...(last && { "webhook-timestamp": timestamp }),
    ...(lastShown?.signature && { "webhook-signature": lastShown.signature }),
  };
  const url = lastShown ? lastShown.url : seen(application?.webhook_url ?? null);
  const [listed] = await shownDeliveries(store, [delivery], now);
  if (!listed) throw new Error("A delivery was not shown");
  return { ...listed, attempts: shownAttempts, request: { method: "POST", url, headers, body } };
}

export function shownTimings({ dnsMs, connectMs, tlsMs, firstByteMs }: Attempt["timings"]) {
  return { dns_ms: dnsMs, connect_ms: connectMs, tls_ms: tlsMs, first_byte_ms: firstByteMs };
}

function shownAttempt(attempt: Omit<Attempt, "generation" | "exchange">) {
  const { at, timings } = attempt;
  return picked(AttemptSchema.properties, { ...attempt, at: isoTime(at), timings: shownTimings(timings) });
}

export const exampleDelivery: Static<typeof DeliverySchema> = {
  id: "01KEYN3T9V5Z8N1F4T7Y0XW3CA",
  subscription_id: "01KATJ1V2GQ5Z8N1F4T7Y0XW3C",
  event_id: "01KEYN3T9TQ5Z8N1F4T7Y0XW3B",
  type: "channel.followed",
  version: 1,
  broadcaster_user_id: 1001,
  broadcaster_username: "LunaBytes",
  sequence: 42,
  status: "failed",
  created_at: "2026-01-14T16:08:06.123Z",
  next_attempt_at: null,
  expires_at: null,
  finished_at: "2026-01-14T16:08:06.301Z",
  attempts: [
    {
      at: "2026-01-14T16:08:06.125Z",
      outcome: "status",
      status: 410,
      duration_ms: 176,
      timings: { dns_ms: 11.2, connect_ms: 24.7, tls_ms: 51.3, first_byte_ms: 88.1 },
      error: "The answer was 410.",
      response: "gone",
    },
  ],
};

const exampleUrl = "https://bot.example/webhook";
const exampleSignature = "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=";

export const exampleSentDelivery: Static<typeof SentDeliverySchema> = {
  ...exampleDelivery,
  attempts: exampleDelivery.attempts.map((attempt) => ({
    ...attempt,
    url: exampleUrl,
    response_headers: { "content-type": "text/plain" },
    signature: exampleSignature,
  })),
  request: {
    method: "POST",
    url: exampleUrl,
    headers: {
      "content-type": "application/json",
      "webhook-id": exampleDelivery.id,
      "webhook-timestamp": "1768406886",
      "onair-event-type": "channel.followed",
      "onair-event-version": "1",
      "onair-event-id": exampleDelivery.event_id,
      "onair-subscription-id": exampleDelivery.subscription_id,
      "onair-sequence": "42",
      "onair-attempt": "1",
      "webhook-signature": exampleSignature,
    },
    body: '{"type":"channel.followed","version":1,"timestamp":"2026-01-14T16:08:06.123Z","data":{}}',
  },
};

const path = "/public/v1/events/deliveries";

/** OpenAPI links to operations on a delivery. @param pointer the JSON pointer to its id in the response */
const deliveryLinks = (pointer: string) =>
  linksTo(
    { getDelivery: "Gets the delivery with its request.", retryDelivery: "Sends the delivery again." },
    pointer,
  );

const Deliveries = pageOf(
  DeliverySchema,
  {
    order: "Deliveries, the newest first.",
    description: "A page of deliveries.",
    links: {
      ...deliveryLinks("/data/0/id"),
      ...nextPage("getDeliveries"),
    },
    example: exampleDelivery,
  },
  {
    not_sent: Type.Optional(
      Type.String({
        description:
          "With `event_id` alone, if the event was not sent because of a filter of the application: that, in a sentence. Absent otherwise.",
      }),
    ),
  },
);

/**
 * Says in a sentence that an event without deliveries was not sent to an application because of its filter; null if it
 * was for another reason, or if that is not known. It was the filter if that was set before, and the application was
 * subscribed.
 */
async function whyNotSent(
  store: Pick<Store, "events" | "subscriptions" | "deliveries">,
  { application, grant }: Caller,
  eventId: string,
): Promise<string | null> {
  const event = await store.events.find(eventId);
  if (event === null || (grant.userId !== null && event.broadcaster_user_id !== grant.userId)) return null;
  const { id } = application;
  const { name, version, broadcaster_user_id, published_at, first_delivery } = event;
  const filter = filterOf(application.filters, name, version);
  if (filter === null || filter.set_at > published_at) return null;
  // A delivery that retention has removed was sent.
  if (first_delivery <= (await store.deliveries.lastRemoved(id))) return null;
  const subscribed = await store.subscriptions.ofApplication(id);
  const isIt = subscribed.some(
    (subscription) =>
      subscription.event === name &&
      subscription.version === version &&
      subscription.broadcaster_user_id === broadcaster_user_id &&
      Date.parse(subscription.created_at) <= published_at,
  );
  if (!isIt) return null;
  return `Not sent: it does not match the filter that you set on ${filter.key} at ${isoTime(filter.set_at)}.`;
}

const OneDelivery = dataOf(SentDeliverySchema, {
  description: "The delivery.",
  links: deliveryLinks("/data/id"),
  example: exampleSentDelivery,
});

const Retried = dataOf(DeliverySchema, {
  description: "The delivery is due and will be sent now.",
  links: deliveryLinks("/data/id"),
  example: { ...exampleDelivery, status: "pending", finished_at: null },
});

/** The documentation of Get Delivery in both APIs. */
export const getDeliveryDetail = {
  operationId: "getDelivery",
  tags: ["Deliveries"],
  description:
    "Returns one delivery with its attempts, the URL that each called, and the request of the last attempt. Of an attempt whose response was not 2xx, it also has the headers of the response and the signature of the request. The body is null when it is no longer kept.",
};

/** The deliveries that a caller may see: those of its application; with a user token, only of that user's events. */
export function scopeOf({ grant }: Caller) {
  return { application_id: grant.applicationId, broadcaster_user_id: grant.userId };
}

/** Deliveries: list, get and retry. */
export function deliveryRoutes(app: TokenListener, { store, now, cursors }: PublicDeps): void {
  const list = deliveryList(store, cursors);
  app.get(
    path,
    async ({ query, caller }) => {
      const { deliveries, pagination } = await list.page(query, scopeOf(caller), caller.grant);
      const { event_id, limit, ...others } = query;
      const isNone = event_id && deliveries.length === 0 && Object.keys(others).length === 0;
      const not_sent = isNone ? await whyNotSent(store, caller, event_id) : null;
      const data = await shownDeliveries(store, deliveries, now());
      return { data, pagination, message: "OK", ...(not_sent !== null && { not_sent }) };
    },
    {
      scope: "events:subscribe",
      query: Type.Object(list.query),
      response: { 200: Deliveries },
      detail: {
        operationId: "getDeliveries",
        tags: ["Deliveries"],
        description:
          "Returns the deliveries of the calling application with their attempts, the newest first. With a user token, it returns only deliveries of events of that user. One request searches a bounded part of the log, so a page may have fewer deliveries than `limit`, or none, although `has_more` is true.",
      },
    },
  );

  app.get(
    `${path}/:id`,
    async ({ params: { id }, caller }) => {
      const found = existing(await store.deliveries.find(scopeOf(caller), id), "delivery");
      const { application, grant } = caller;
      const circumstances = { application, now: now(), isForUser: grant.userId !== null };
      return { data: await shownSentDelivery(store, found, circumstances), message: "OK" };
    },
    {
      scope: "events:subscribe",
      params: DeliveryId,
      response: { 200: OneDelivery },
      errors: ["not_found"],
      detail: getDeliveryDetail,
    },
  );

  app.post(
    `${path}/:id/retry`,
    async ({ params: { id }, caller, status }) => {
      const at = now();
      const retried = await store.deliveries.retry(scopeOf(caller), id, at);
      return status(202, { data: shownDelivery(retried, { now: at, endpoint: null }), message: "OK" });
    },
    {
      scope: "events:subscribe",
      params: DeliveryId,
      response: { 202: Retried },
      errors: ["not_found", "conflict"],
      detail: {
        operationId: "retryDelivery",
        tags: ["Deliveries"],
        description:
          "Sends a delivery again now, whatever its status, with the same `webhook-id`. Its attempts continue to be counted, and it no longer expires. If an attempt is in progress, no further one is made. If the attempt fails, the schedule of retries continues as if it had not been made. An endpoint that is paused after failures is tried at once.",
      },
    },
  );
}
