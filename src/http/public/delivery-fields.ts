import { type Static, type TObject, Type } from "@sinclair/typebox";
import type { Attempt } from "../../domain/deliveries.ts";
import {
  type DeliveryFilter,
  type DeliveryRecord,
  type DeliveryScope,
  deliveryPages,
  type SentDelivery,
} from "../../domain/delivery-log.ts";
import { isoTime, isoTimeOrNull } from "../../domain/time.ts";
import type { Grant } from "../../domain/tokens.ts";
import { about, nullable, oneOf } from "../../domain/validation/fields.ts";
import type { Store } from "../../store/store.ts";
import { unsignedHeaders } from "../../webhooks/attempt.ts";
import { type Cursors, listCursors } from "../cursors.ts";
import { IsoTimestamp, named, picked } from "../fields.ts";
import { ChoiceParameter, LimitParameter, rangeGiven, TextParameter, TimeParameter } from "../parameters.ts";

/*
 * Schemas of deliveries, for the public and the admin API.
 */

export const deliveryStatuses = ["pending", "delivered", "failed", "expired", "canceled"] as const;

export const DeliveryStatus = oneOf(deliveryStatuses, {
  $id: "DeliveryStatus",
  description: "The state of a delivery; all but `pending` are final.",
});

const milliseconds = nullable(Type.Number(), {
  description: "Milliseconds; null where the stage was not needed or not reached.",
});

export const TimingsSchema = named("Timings", "How long the stages of a request took.", {
  dns_ms: milliseconds,
  connect_ms: milliseconds,
  tls_ms: milliseconds,
  first_byte_ms: milliseconds,
});

const AttemptSchema = named("Attempt", "One attempt to deliver.", {
  at: about(IsoTimestamp, "When it began."),
  outcome: Type.String({
    description:
      "How it ended: `ok`, `status` (an answer other than 2xx), or the stage that failed, like `dns`, `tls` or `timeout`.",
  }),
  status: nullable(Type.Integer(), { description: "The HTTP status; null where none arrived." }),
  duration_ms: Type.Integer({ description: "How long it took, in milliseconds." }),
  timings: TimingsSchema,
  error: nullable(Type.String(), { description: "Why it was no success, in one sentence." }),
  response: Type.String({ description: "The first KiB of the answer's body." }),
});

const fields = {
  id: Type.String({ description: "The `webhook-id`, the same on every attempt." }),
  subscription_id: Type.String({ description: "The subscription that it is for." }),
  event_id: Type.String({ description: "The event, the same for all that subscribe to it." }),
  type: Type.String({ description: "Type of the event." }),
  version: Type.Integer({ description: "Version of the event." }),
  sequence: Type.Integer({ description: "Counts the deliveries of the subscription." }),
  status: DeliveryStatus,
  created_at: about(IsoTimestamp, "When its event was published."),
  next_attempt_at: nullable(IsoTimestamp, {
    description: "When it is tried again; null: it is under way or about to be, or nothing follows.",
  }),
  expires_at: nullable(IsoTimestamp, { description: "It is not sent any more from then on." }),
  finished_at: nullable(IsoTimestamp, { description: "When it came to its final state." }),
  attempts: Type.Array(AttemptSchema, { description: "The first one first." }),
};

const SentRequestSchema = named("SentRequest", "A request to a webhook.", {
  method: Type.Literal("POST", { description: "The HTTP method." }),
  headers: Type.Record(Type.String(), Type.String(), {
    description: "Those of the last attempt, without its signature.",
  }),
  body: nullable(Type.String(), { description: "The very text; null when it is no longer kept." }),
});
const request = nullable(SentRequestSchema, {
  description: "What the last attempt sent; null before the first.",
});

const aboutDelivery = "What became of an event for one subscription.";
const aboutSent = "A delivery with what was sent.";

export const DeliverySchema = named("Delivery", aboutDelivery, fields);
export const SentDeliverySchema = named("SentDelivery", aboutSent, { ...fields, request });

/** For operators, with the application of each delivery. */
const { id, ...rest } = fields;
const ofApplication = { id, app_id: Type.String({ description: "The application it is for." }), ...rest };
export const OperatorDeliverySchema = named("Delivery", aboutDelivery, ofApplication);
export const OperatorSentDeliverySchema = named("SentDelivery", aboutSent, { ...ofApplication, request });

/** The filters of a list of deliveries. */
const filters = {
  subscription_id: Type.Optional(
    TextParameter({ minLength: 1, maxLength: 64, description: "Only of this subscription." }),
  ),
  event_id: Type.Optional(
    TextParameter({
      minLength: 1,
      maxLength: 64,
      description: "Only of this event: what became of it for each of its subscriptions.",
    }),
  ),
  status: Type.Optional(
    ChoiceParameter(deliveryStatuses, {
      description: `Only in this state: ${deliveryStatuses.join(", ")}.`,
      examples: ["failed"],
    }),
  ),
  type: Type.Optional(
    TextParameter({
      minLength: 1,
      maxLength: 100,
      description: "Only of this event type.",
      examples: ["channel.followed"],
    }),
  ),
  after: Type.Optional(
    TimeParameter({
      description: "Only of events published then or later.",
      examples: ["2026-01-14T16:00:00Z"],
    }),
  ),
  before: Type.Optional(
    TimeParameter({
      description: "Only of events published earlier than that; it is later than `after`.",
      examples: ["2026-01-14T17:00:00Z"],
    }),
  ),
  limit: LimitParameter("deliveries", deliveryPages),
};

export const DeliveryId = Type.Object({
  id: TextParameter({
    maxLength: 64,
    description: "Id of the delivery: its `webhook-id`.",
    examples: ["01KEYN3T9V5Z8N1F4T7Y0XW3CA"],
  }),
});

/** The list of deliveries in pages: the parameters of its query, and the requested page. */
export function deliveryList(store: Pick<Store, "deliveries">, cursors: Cursors) {
  const places = listCursors<[number]>(cursors, "deliveries");
  const query = { ...filters, cursor: places.parameter };
  return {
    query,
    async page(asked: Static<TObject<typeof query>>, scope: DeliveryScope, grant: Grant | null) {
      const { subscription_id = null, event_id = null, status = null, type = null } = asked;
      const filter: DeliveryFilter = {
        ...scope,
        subscription_id,
        event_id,
        status,
        type,
        ...rangeGiven(asked),
      };
      const [below = null] = places.positionIn(asked) ?? [];
      const { limit = deliveryPages.defaultResults } = asked;
      const { deliveries, next } = await store.deliveries.page(filter, below, limit);
      const cursor = next === null ? "" : places.make([next], asked, grant);
      return { deliveries, pagination: { cursor, has_more: next !== null } };
    },
  };
}

/** A delivery as answers show it. */
export function shownDelivery(delivery: DeliveryRecord): Static<typeof DeliverySchema> {
  const isPending = delivery.status === "pending";
  return picked(fields, {
    ...delivery,
    created_at: isoTime(delivery.published_at),
    next_attempt_at: isoTimeOrNull((isPending && delivery.next_attempt_at) || null),
    expires_at: isoTimeOrNull(delivery.expires_at || null),
    finished_at: isoTimeOrNull(delivery.finished_at || null),
    attempts: delivery.attempts.map(shownAttempt),
  });
}

/** A delivery with the request of its last attempt. */
export function shownSentDelivery(delivery: SentDelivery): Static<typeof SentDeliverySchema> {
  const { id, subscription_id, event_id, type, version, sequence, attempts, body } = delivery;
  const event = { id: event_id, name: type, version };
  const last = attempts.at(-1);
  const told = { id, event, subscription_id, sequence, attempt: attempts.length };
  const headers = last && { "content-type": "application/json", ...unsignedHeaders(told, last.at) };
  return {
    ...shownDelivery(delivery),
    request: headers === undefined ? null : { method: "POST", headers, body },
  };
}

export function shownTimings({ dnsMs, connectMs, tlsMs, firstByteMs }: Attempt["timings"]) {
  return { dns_ms: dnsMs, connect_ms: connectMs, tls_ms: tlsMs, first_byte_ms: firstByteMs };
}

function shownAttempt(attempt: Attempt) {
  const { at, timings } = attempt;
  return picked(AttemptSchema.properties, { ...attempt, at: isoTime(at), timings: shownTimings(timings) });
}

export const exampleDelivery: Static<typeof DeliverySchema> = {
  id: "01KEYN3T9V5Z8N1F4T7Y0XW3CA",
  subscription_id: "01KATJ1V2GQ5Z8N1F4T7Y0XW3C",
  event_id: "01KEYN3T9TQ5Z8N1F4T7Y0XW3B",
  type: "channel.followed",
  version: 1,
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

export const exampleSentDelivery: Static<typeof SentDeliverySchema> = {
  ...exampleDelivery,
  request: {
    method: "POST",
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
    },
    body: '{"type":"channel.followed","version":1,"timestamp":"2026-01-14T16:08:06.123Z","data":{}}',
  },
};
