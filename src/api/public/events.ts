import { Type } from "@sinclair/typebox";
import { channelFollowed } from "../../domain/events/built-in.ts";
import type { Catalogue } from "../../domain/events/catalogue.ts";
import type { EventType } from "../../domain/events/event-type.ts";
import { dataOf, listOf, notModified } from "../http/answers.ts";
import {
  cacheableFor,
  cachedLast,
  jsonContentOf,
  replyCompressed,
  replyPublicJson,
} from "../http/content.ts";
import type { RequestContext } from "../http/context.ts";
import { named } from "../http/parameters.ts";
import type { PublicDeps, PublicListener } from "./listener.ts";

const EventTypeSchema = named("EventType", "An event type that applications can subscribe to.", {
  name: Type.String({ description: "Name of the event type.", examples: ["channel.followed"] }),
  version: Type.Integer({ description: "Version of the event type." }),
  description: Type.String({ description: "When the event happens." }),
  schema: Type.Record(Type.String(), Type.Unknown(), {
    description: "JSON Schema of the payload (`data` of a webhook).",
  }),
  // An object that matches the schema of the event type.
  example: Type.Unsafe<unknown>(
    Type.Record(Type.String(), Type.Unknown(), { description: "An example payload." }),
  ),
});

const PublicKeySchema = named("PublicKey", "The public key that verifies `v1a` signatures.", {
  public_key: Type.String({ description: "Ed25519 public key in PEM." }),
});

const StandardWebhooksKeySchema = named(
  "StandardWebhooksKey",
  "The public key that verifies `v1a` signatures, for libraries of Standard Webhooks.",
  { public_key: Type.String({ description: "Ed25519 public key: `whpk_`, followed by the key in base64." }) },
);

const EventTypes = listOf(EventTypeSchema, {
  order: "All event types and versions.",
  description: "All event types.",
  example: shownType(channelFollowed),
});

const PublicKey = dataOf(PublicKeySchema, {
  description: "The key.",
  example: {
    public_key:
      "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n-----END PUBLIC KEY-----\n",
  },
});

const StandardWebhooksKey = dataOf(StandardWebhooksKeySchema, {
  description: "The key.",
  example: { public_key: "whpk_11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=" },
});

/** Revalidated by `ETag` on each use: open pages reload the list when a type is registered. */
const typesKeptSeconds = 0;
/** The key stays the same for the lifetime of the data. */
const keyKeptSeconds = 300;

/** Get Event Types, and Get Public Key in both forms. */
export function eventRoutes(app: PublicListener, { catalogue, publicKey }: PublicDeps): void {
  const list = cachedLast(
    async (types: Catalogue["types"]) => jsonContentOf({ data: types.map(shownType), message: "OK" }),
    (types) => types,
  );
  app.get(
    "/public/v1/events/types",
    async ({ requestContext }) =>
      replyCompressed(requestContext, await list(catalogue.types), cacheableFor(typesKeptSeconds)),
    {
      anyone: true,
      response: { 200: EventTypes, 304: notModified(typesKeptSeconds) },
      detail: {
        operationId: "getEventTypes",
        tags: ["Events"],
        description:
          "Returns the event types that applications can subscribe to: the built-in ones, and those that the platform has registered. Each version has the JSON Schema of its payload and an example.",
      },
    },
  );

  const replyKey = (requestContext: RequestContext, public_key: string) =>
    replyPublicJson(requestContext, { data: { public_key }, message: "OK" }, keyKeptSeconds);

  app.get("/public/v1/public-key", ({ requestContext }) => replyKey(requestContext, publicKey().pem), {
    anyone: true,
    response: { 200: PublicKey, 304: notModified(keyKeptSeconds) },
    detail: {
      operationId: "getPublicKey",
      tags: ["Events"],
      description: "Returns the Ed25519 public key that verifies `v1a` signatures of webhooks, in PEM.",
    },
  });

  app.get(
    "/public/v1/public-key/standard-webhooks",
    ({ requestContext }) => replyKey(requestContext, publicKey().standardWebhooks),
    {
      anyone: true,
      response: { 200: StandardWebhooksKey, 304: notModified(keyKeptSeconds) },
      detail: {
        operationId: "getStandardWebhooksKey",
        tags: ["Events"],
        summary: "Get Public Key for Standard Webhooks",
        description:
          "Returns the Ed25519 public key that verifies `v1a` signatures, in the form that libraries of Standard Webhooks accept.",
      },
    },
  );
}

function shownType({ name, version, description, payload, example }: EventType) {
  return { name, version, description, schema: plainSchema(payload), example };
}

/** Removes keywords that only On Air uses, because strict validators reject unknown keywords. */
function plainSchema(schema: object): Record<string, unknown> {
  return JSON.parse(JSON.stringify(schema, (key, value) => (key === "errorMessage" ? undefined : value)));
}
