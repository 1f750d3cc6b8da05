import { type Static, type TSchema, Type } from "@sinclair/typebox";
import { builtInEventTypes } from "../../domain/events/catalogue.ts";
import type { EventType } from "../../domain/events/event-type.ts";
import { endpointNotices, type NoticeType, serverNotices } from "../../domain/operations/notices.ts";
import { about, Timestamp } from "../../domain/validation/fields.ts";
import { Ulid } from "../fields.ts";
import { EndpointNoticeData, exampleNotice } from "../public/application/notice-fields.ts";
import type { Json } from "./components.ts";
import { documentSchema } from "./schemas.ts";

const exampleSubscription = "01KATJ1V2GQ5Z8N1F4T7Y0XW3C";
const timestamp = "2026-01-14T16:08:06.123Z";

/** A header of every delivery: its name, what it is, its schema, an example. */
const headers: readonly (readonly [string, string, TSchema, string | number])[] = [
  [
    "webhook-id",
    "Names the delivery, the same on every attempt. Remember it to do nothing twice.",
    Ulid,
    "01KEYN2Q9HAVJ4W6C0B9RZ5T1M",
  ],
  ["webhook-timestamp", "When this attempt was made, in Unix seconds.", Type.Integer(), 1_768_406_886],
  [
    "webhook-signature",
    "Signatures separated by spaces, one matching of which is enough: `v1,` HMAC-SHA256 with the application's secret (two while a secret is being replaced), `v1a,` Ed25519 with the platform's key.",
    Type.String(),
    "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=",
  ],
  ["Onair-Event-Type", "The same as `type` in the body.", Type.String(), "channel.followed"],
  ["Onair-Event-Version", "The same as `version` in the body.", Type.Integer(), 1],
  ["Onair-Event-Id", "Names the event, for all that subscribe to it.", Ulid, "01KEYN2Q9GZ4T7RFDX6M8V3BHC"],
  ["Onair-Subscription-Id", "The subscription that this is sent for.", Ulid, exampleSubscription],
  [
    "Onair-Sequence",
    "Counts the deliveries of the subscription, so that a gap shows what is still missing.",
    Type.Integer({ minimum: 1 }),
    42,
  ],
  ["Onair-Attempt", "Counts the attempts of this delivery.", Type.Integer({ minimum: 1 }), 1],
];

/** The headers of a delivery; a notice belongs to no subscription and is one attempt among many of the same. */
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
    "Where this attempt is in a trace, by W3C Trace Context. Only where the platform makes traces.",
  schema: documentSchema(Type.String()),
  example: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
};

const responses = {
  "2XX": { description: "You have it. Answer within 15 seconds, and do slow work afterwards." },
  "410": { description: "You want nothing more: the whole endpoint is disabled." },
  "429": { description: "You are sent less, and this again after `Retry-After`; so with 502, 503 and 504." },
  default: {
    description: "It failed and is sent again later. Redirects are not followed and count as failure.",
  },
};

/** Notices of the stream are not answered. */
const streamed = { default: { description: "The event stream takes no answer." } };
const notified = {
  "2XX": responses["2XX"],
  default: { description: "It failed and is sent again later, by the schedule of deliveries." },
};

/** When a notice is made. */
const notices: Readonly<Record<NoticeType, string>> = {
  "endpoint.failing": "Everything failed for half an hour.",
  "endpoint.disabled": "The endpoint answered 410, or every attempt failed for 24 hours.",
  "endpoint.recovered": "The first success after the endpoint was failing or disabled.",
  "storage.failing": "The disk is full or fails, the database is damaged or was replaced.",
  "storage.recovered": "The storage accepts writes again.",
  "backup.failed": "A backup came to nothing, or could not begin; of a schedule once a day.",
  "backup.overdue": "The newest backup of a schedule is older than two of its periods; again each day.",
  "backup.recovered": "A backup is complete again after either.",
  "deliveries.stuck": "For ten minutes nothing was attempted, although something is due.",
  "deliveries.resumed": "Deliveries are attempted again.",
};

const ServerNoticeData = Type.Object(
  { summary: EndpointNoticeData.properties.summary, advice: EndpointNoticeData.properties.advice },
  { description: "What happened to the server; some notices have more fields." },
);
const serverExample: Static<typeof ServerNoticeData> = {
  summary: "Nothing can be written: the disk is full.",
  advice: "Make room; onair doctor shows how much is free.",
};

/*
 * The `webhooks` section: what is sent, by event. What no path refers to is no component in it: generators such as
 * oapi-codegen leave that out.
 */

/** What is sent to an application. Notices come on its event stream alone, in the same form. */
export function applicationWebhooks(tag: string): Json {
  const events = builtInEventTypes.map(({ name, version, description, payload, example }) =>
    webhook({ name, version, description, data: payload, example, kind: "delivery", responses, tag }),
  );
  const way =
    "Comes on the event stream of an application whose `delivery` is `both`, in the form of a webhook.";
  const noticed = endpointNotices.map((name) => notice(name, EndpointNoticeData, way, streamed, tag));
  return Object.fromEntries([...events, ...noticed]);
}

/** What is sent to the operator's notify URL. */
export function operatorWebhooks(tag: string): Json {
  const way = "Sent to the notify URL (`--notify-url`), signed.";
  // In the admin API no answer has it.
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
      timestamp: about(Timestamp, "When it was published."),
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
