import { type Static, type TSchema, Type } from "@sinclair/typebox";
import { builtInEventTypes } from "../../domain/events/built-in.ts";
import type { EventType } from "../../domain/events/event-type.ts";
import { endpointNotices, type NoticeType, serverNotices } from "../../domain/notices.ts";
import { about, Timestamp } from "../../domain/validation/fields.ts";
import type { Json } from "../http/openapi.ts";
import { Ulid } from "../http/parameters.ts";
import { EndpointNoticeData, exampleNotice } from "../public/endpoint.ts";
import { documentSchema } from "./document.ts";

const exampleSubscription = "01KATJ1V2GQ5Z8N1F4T7Y0XW3C";
const timestamp = "2026-01-14T16:08:06.123Z";

/** The headers of every delivery: name, description, schema and example. */
const headers: readonly (readonly [string, string, TSchema, string | number])[] = [
  [
    "webhook-id",
    "Id of the delivery; the same for every attempt. Use it to detect duplicates.",
    Ulid,
    "01KEYN2Q9HAVJ4W6C0B9RZ5T1M",
  ],
  ["webhook-timestamp", "Time of this attempt, in Unix seconds.", Type.Integer(), 1_768_406_886],
  [
    "webhook-signature",
    "Signatures, separated by spaces; one valid signature is sufficient. `v1,`: HMAC-SHA256 with the application's secret (one for each valid secret). `v1a,`: Ed25519 with the platform's key.",
    Type.String(),
    "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=",
  ],
  [
    "Onair-Event-Type",
    "Type of the event; the same as `type` in the body.",
    Type.String(),
    "channel.followed",
  ],
  ["Onair-Event-Version", "Version of the event type; the same as `version` in the body.", Type.Integer(), 1],
  ["Onair-Event-Id", "Id of the event; the same for every subscription.", Ulid, "01KEYN2Q9GZ4T7RFDX6M8V3BHC"],
  ["Onair-Subscription-Id", "Id of the subscription.", Ulid, exampleSubscription],
  [
    "Onair-Sequence",
    "Number of the delivery within its subscription, from 1. A gap shows that deliveries are missing.",
    Type.Integer({ minimum: 1 }),
    42,
  ],
  ["Onair-Attempt", "Number of this attempt within its delivery, from 1.", Type.Integer({ minimum: 1 }), 1],
];

/** Returns the headers of a delivery or notice. A notice has no subscription and does not count its attempts. */
const parametersOf = (kind: "delivery" | "notice") => [
  ...headers
    .slice(0, kind === "delivery" ? headers.length : 6)
    .map(([name, description, schema, example]) => ({
      name,
      in: "header",
      required: true,
      description,
      schema: documentSchema(schema),
      example,
    })),
  ...(kind === "delivery" ? [traceparent] : []),
];

const traceparent = {
  name: "traceparent",
  in: "header",
  required: false,
  description:
    "Trace and span of this attempt (W3C Trace Context). Present if the platform traces deliveries.",
  schema: documentSchema(Type.String()),
  example: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
};

const responses = {
  "2XX": { description: "Success. Respond within 15 seconds, and do slow work afterwards." },
  "410": { description: "The whole endpoint is disabled, and nothing more is sent." },
  "429": {
    description: "The delivery is retried after `Retry-After`, and less is sent; also for 502, 503 and 504.",
  },
  default: {
    description: "The attempt failed and is retried later. Redirects are not followed and count as failures.",
  },
};

/** The stream sends notices without expecting a response. */
const streamed = { default: { description: "The event stream expects no response." } };
const notified = {
  "2XX": responses["2XX"],
  default: { description: "The attempt failed and is retried by the schedule of deliveries." },
};

/** The occasion of each notice. */
const notices: Readonly<Record<NoticeType, string>> = {
  "endpoint.failing": "Every attempt failed for half an hour.",
  "endpoint.disabled": "The endpoint answered 410, or every attempt failed for 24 hours.",
  "endpoint.recovered": "An attempt succeeded after the endpoint was failing or disabled.",
  "storage.failing": "The disk is full or fails, or the database is damaged or was replaced.",
  "storage.recovered": "The storage accepts writes again.",
  "backup.failed": "A backup failed or could not start; at most once a day for scheduled backups.",
  "backup.overdue": "The newest scheduled backup is older than two of its intervals; repeated daily.",
  "backup.recovered": "A backup succeeded after either of these notices.",
  "deliveries.stuck": "No attempt was made for ten minutes, although deliveries are due.",
  "deliveries.resumed": "Deliveries are attempted again.",
};

const ServerNoticeData = Type.Object(
  { summary: EndpointNoticeData.properties.summary, advice: EndpointNoticeData.properties.advice },
  { description: "The data of a notice about the server. Some notices have further fields." },
);
const serverExample: Static<typeof ServerNoticeData> = {
  summary: "Nothing can be written: the disk is full.",
  advice: "Free some space; onair doctor shows how much is free.",
};

/*
 * The `webhooks` section: the requests that the server sends, by event. Its schemas are components only if a path
 * refers to them as well, because generators such as oapi-codegen omit all others.
 */

/** Returns the requests sent to an application. Notices are sent only on its event stream, in the same form. */
export function applicationWebhooks(tag: string): Json {
  const events = builtInEventTypes.map(({ name, version, description, payload, example }) =>
    webhook({ name, version, description, data: payload, example, kind: "delivery", responses, tag }),
  );
  const way =
    "Sent on the event stream of an application whose `delivery` is `both`, in the form of a webhook.";
  const noticed = endpointNotices.map((name) => notice(name, EndpointNoticeData, way, streamed, tag));
  return Object.fromEntries([...events, ...noticed]);
}

/** Returns the requests sent to the operator's notify URL. */
export function operatorWebhooks(tag: string): Json {
  const way = "Sent to the notify URL (`--notify-url`), signed.";
  // No path of the admin API refers to this schema.
  const { $id: _, ...OfEndpoint } = EndpointNoticeData;
  return Object.fromEntries([
    ...endpointNotices.map((name) => notice(name, OfEndpoint, way, notified, tag)),
    ...serverNotices.map((name) => notice(name, ServerNoticeData, way, notified, tag)),
  ]);
}

function notice(name: NoticeType, data: TSchema, way: string, answers: Json, tag: string) {
  return webhook({
    name,
    version: 1,
    description: `${notices[name]} ${way}`,
    data,
    example: data === ServerNoticeData ? serverExample : exampleNotice.data,
    kind: "notice",
    responses: answers,
    tag,
  });
}

interface Webhook extends Pick<EventType, "name" | "version" | "description" | "example"> {
  readonly data: TSchema;
  readonly kind: "delivery" | "notice";
  readonly responses: Json;
  readonly tag: string;
}

function webhook({ name, version, description, data, example, kind, responses, tag }: Webhook) {
  const body = Type.Object(
    {
      type: Type.Literal(name, { description: "Type of the event." }),
      version: Type.Literal(version, { description: "Version of the event." }),
      timestamp: about(Timestamp, "Time at which the event was published."),
      data: kind === "delivery" ? about(data, "The payload.") : data,
    },
    { additionalProperties: false },
  );
  const post = {
    operationId: name.replace(/\.(.)/g, (_, letter: string) => letter.toUpperCase()),
    summary: name,
    description,
    tags: [tag],
    security: [],
    parameters: parametersOf(kind),
    requestBody: {
      required: true,
      content: {
        "application/json": {
          schema: documentSchema(body),
          example: { type: name, version, timestamp, data: example },
        },
      },
    },
    responses,
  };
  return [name, { post }] as const;
}
