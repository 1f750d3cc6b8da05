import { Type } from "@sinclair/typebox";
import { builtInEventTypes } from "../../domain/events/catalogue.ts";
import type { EventType } from "../../domain/events/event-type.ts";
import type { PublicKeyForms } from "../../webhooks/signature.ts";
import { reply, replyJson } from "../exchange.ts";
import type { PublicDeps, PublicListener } from "./base.ts";
import { answer, Message, operation } from "./reference.ts";

const closed = { additionalProperties: false };

const EventTypeSchema = Type.Object(
  {
    name: Type.String({ description: "Name of the event.", examples: ["channel.followed"] }),
    version: Type.Integer({ description: "Its version." }),
    description: Type.String({ description: "When it happens." }),
    schema: Type.Record(Type.String(), Type.Unknown(), {
      description: "JSON Schema of the payload (`data`).",
    }),
    example: Type.Record(Type.String(), Type.Unknown(), { description: "A payload." }),
  },
  { $id: "EventType", description: "An event that can be subscribed to.", ...closed },
);

const PublicKeySchema = Type.Object(
  { public_key: Type.String({ description: "The Ed25519 key in PEM." }) },
  { $id: "PublicKey", description: "The key that verifies `v1a` signatures.", ...closed },
);

const StandardWebhooksKeySchema = Type.Object(
  { public_key: Type.String({ description: "The Ed25519 key as `whpk_` and base64." }) },
  { $id: "StandardWebhooksKey", description: "The same key for libraries of Standard Webhooks.", ...closed },
);

/** The catalogue of events, and the key that verifies their signatures. */
export function eventRoutes(
  app: PublicListener,
  { catalogue }: Pick<PublicDeps, "catalogue">,
  publicKey: () => PublicKeyForms,
): void {
  let made: { readonly of: readonly EventType[]; readonly body: string } | null = null;
  const list = () => {
    const { types } = catalogue;
    if (made?.of !== types)
      made = { of: types, body: JSON.stringify({ data: types.map(shown), message: "OK" }) };
    return made.body;
  };

  app.get(
    "/public/v1/events/types",
    ({ exchange }) => reply(exchange, 200, list()),
    operation({
      id: "getEventTypes",
      tag: "Events",
      summary: "Get Event Types",
      description:
        "The events that can be subscribed to, each version with the JSON Schema of its payload and an example: those of every platform, and those that this one registered.",
      access: "anyone",
      answers: {
        200: {
          description: "All event types.",
          schema: Type.Object(
            { data: Type.Array(EventTypeSchema, { description: "All of them." }), message: Message },
            { $id: "EventTypeList", description: "Types of events.", ...closed },
          ),
          // Not made before the document is: that takes 1 ms.
          get example() {
            return { data: builtInEventTypes.slice(1, 2).map(shown), message: "OK" };
          },
        },
      },
    }),
  );

  app.get(
    "/public/v1/public-key",
    ({ exchange }) => {
      return replyJson(exchange, 200, { data: { public_key: publicKey().pem }, message: "OK" });
    },
    operation({
      id: "getPublicKey",
      tag: "Events",
      summary: "Get Public Key",
      description: "The Ed25519 key of the `v1a` signatures of webhooks, in PEM.",
      access: "anyone",
      answers: {
        200: answer("The key.", {
          schema: Type.Object(
            { data: PublicKeySchema, message: Message },
            { $id: "PublicKeyAnswer", description: "The key.", ...closed },
          ),
          example: {
            data: {
              public_key:
                "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n-----END PUBLIC KEY-----\n",
            },
            message: "OK",
          },
        }),
      },
    }),
  );

  app.get(
    "/public/v1/public-key/standard-webhooks",
    ({ exchange }) => {
      const data = { public_key: publicKey().standardWebhooks };
      return replyJson(exchange, 200, { data, message: "OK" });
    },
    operation({
      id: "getStandardWebhooksKey",
      tag: "Events",
      summary: "Get Public Key for Standard Webhooks",
      description: "The same key in the form that libraries of Standard Webhooks take.",
      access: "anyone",
      answers: {
        200: answer("The key.", {
          schema: Type.Object(
            { data: StandardWebhooksKeySchema, message: Message },
            { $id: "StandardWebhooksKeyAnswer", description: "The key.", ...closed },
          ),
          example: {
            data: { public_key: "whpk_11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=" },
            message: "OK",
          },
        }),
      },
    }),
  );
}

function shown({ name, version, description, payload, example }: EventType) {
  return { name, version, description, schema: plainSchema(payload), example };
}

/** A schema without the keywords that only our own checks understand: strict validators refuse unknown ones. */
export function plainSchema(schema: object): Record<string, unknown> {
  return JSON.parse(JSON.stringify(schema, (key, value) => (key === "errorMessage" ? undefined : value)));
}
