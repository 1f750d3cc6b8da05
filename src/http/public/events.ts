import { Type } from "@sinclair/typebox";
import { builtInEventTypes, type Catalogue } from "../../domain/events/catalogue.ts";
import type { EventType } from "../../domain/events/event-type.ts";
import type { PublicKeyForms } from "../../webhooks/signature.ts";
import { dataOf, listOf, notModified } from "../answers.ts";
import { contentOf, kept, keptFor, replyCompressed, replyPublicJson } from "../content.ts";
import { named } from "../fields.ts";
import type { RequestContext } from "../request-context.ts";
import type { PublicDeps, PublicListener } from "./base.ts";

const EventTypeSchema = named("EventType", "An event that can be subscribed to.", {
  name: Type.String({ description: "Name of the event.", examples: ["channel.followed"] }),
  version: Type.Integer({ description: "Its version." }),
  description: Type.String({ description: "When it happens." }),
  schema: Type.Record(Type.String(), Type.Unknown(), {
    description: "JSON Schema of the payload (`data`).",
  }),
  // An object that fits the type's own schema.
  example: Type.Unsafe<unknown>(Type.Record(Type.String(), Type.Unknown(), { description: "A payload." })),
});

const PublicKeySchema = named("PublicKey", "The key that verifies `v1a` signatures.", {
  public_key: Type.String({ description: "The Ed25519 key in PEM." }),
});

const StandardWebhooksKeySchema = named(
  "StandardWebhooksKey",
  "The same key for libraries of Standard Webhooks.",
  { public_key: Type.String({ description: "The Ed25519 key as `whpk_` and base64." }) },
);

const EventTypes = listOf(EventTypeSchema, {
  order: "All of them.",
  description: "All event types.",
  example: shown(builtInEventTypes[1] as EventType),
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

/** Asked again each time, by `ETag`: pages that look on read the list anew when a type is registered. */
const typesKeptSeconds = 0;
/** It stays the same as long as the data does. */
const keyKeptSeconds = 300;

/** The event types, and the key that verifies signatures. */
export function eventRoutes(
  app: PublicListener,
  { catalogue }: Pick<PublicDeps, "catalogue">,
  publicKey: () => PublicKeyForms,
): void {
  const list = kept(
    async (types: Catalogue["types"]) => contentOf(JSON.stringify({ data: types.map(shown), message: "OK" })),
    (types) => types,
  );
  app.get(
    "/public/v1/events/types",
    async ({ requestContext }) =>
      replyCompressed(requestContext, await list(catalogue.types), keptFor(typesKeptSeconds)),
    {
      anyone: true,
      response: { 200: EventTypes, 304: notModified(typesKeptSeconds) },
      detail: {
        operationId: "getEventTypes",
        tags: ["Events"],
        description:
          "The events that can be subscribed to, each version with the JSON Schema of its payload and an example: those of every platform, and those that this one registered.",
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
      description: "The Ed25519 key of the `v1a` signatures of webhooks, in PEM.",
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
        description: "The same key in the form that libraries of Standard Webhooks take.",
      },
    },
  );
}

function shown({ name, version, description, payload, example }: EventType) {
  return { name, version, description, schema: plainSchema(payload), example };
}

/** Removes the keywords that only On Air's checks use: strict validators refuse unknown ones. */
function plainSchema(schema: object): Record<string, unknown> {
  return JSON.parse(JSON.stringify(schema, (key, value) => (key === "errorMessage" ? undefined : value)));
}
