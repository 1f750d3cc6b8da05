import { type TSchema, Type } from "@sinclair/typebox";
import { builtInEventTypes } from "../../domain/events/catalogue.ts";
import type { EventType } from "../../domain/events/event-type.ts";
import { about, Timestamp } from "../../domain/validation/fields.ts";
import { Ulid } from "../fields.ts";
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

const parameters = headers.map(([name, description, schema, example]) => ({
  name,
  in: "header",
  required: true,
  description,
  schema: documentSchema(schema),
  example,
}));

const responses = {
  "2XX": { description: "You have it. Answer within 15 seconds, and do slow work afterwards." },
  "410": { description: "You want nothing more: the whole endpoint is disabled." },
  "429": { description: "You are sent less, and this again after `Retry-After`; so with 502, 503 and 504." },
  default: {
    description: "It failed and is sent again later. Redirects are not followed and count as failure.",
  },
};

/**
 * The `webhooks` section: what is sent to an application, by event. Nothing in it is a component: generators such as
 * oapi-codegen leave out components that no path refers to.
 */
export function webhooks(tag: string): Json {
  return Object.fromEntries(builtInEventTypes.map((type) => [type.name, { post: delivery(type, tag) }]));
}

function delivery({ name, version, description, payload, example }: EventType, tag: string): Json {
  const body = Type.Object(
    {
      type: Type.Literal(name, { description: "Type of the event." }),
      version: Type.Literal(version, { description: "Version of the event." }),
      timestamp: about(Timestamp, "When it was published."),
      data: about(payload, "The payload."),
    },
    { additionalProperties: false },
  );
  return {
    operationId: name.replace(/\.(.)/g, (_, letter: string) => letter.toUpperCase()),
    summary: name,
    description,
    tags: [tag],
    security: [],
    parameters,
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
}
