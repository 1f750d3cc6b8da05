import { Type } from "@sinclair/typebox";
import { DomainError } from "../../domain/errors.ts";
import { builtInEventTypes, type Catalogue } from "../../domain/events/catalogue.ts";
import { eventNamePattern, eventTypeOf, type RegisteredEventType } from "../../domain/events/registered.ts";
import { about, nullable, oneLine } from "../../domain/fields.ts";
import { day, second } from "../../domain/time.ts";
import type { Store } from "../../store/store.ts";
import { readJson } from "../body.ts";
import { reply, replyJson } from "../exchange.ts";
import { answer, IsoTimestamp, Message } from "../public/reference.ts";
import { readParam, readQuery } from "../query.ts";
import { type AdminListener, adminBodyBytes } from "./base.ts";
import { adminOperation, closed } from "./reference.ts";

const fields = {
  version: Type.Integer({ minimum: 1, maximum: 1_000_000, description: "Version of the event." }),
  description: about(oneLine(0, 500), "When it happens, for developers to read."),
  schema: Type.Record(Type.String(), Type.Unknown(), {
    description:
      "JSON Schema (draft 2020-12) of the payload, an object. `format` is not checked; nothing outside of it is fetched.",
  }),
  example: Type.Record(Type.String(), Type.Unknown(), { description: "A payload that fits the schema." }),
  time_to_live_seconds: nullable(Type.Integer({ minimum: 1, maximum: (30 * day) / second }), {
    description: "For how long a delivery is tried; null: for the whole retry schedule.",
  }),
};
const { description, time_to_live_seconds, ...required } = fields;

const EventTypeInput = Type.Object(
  {
    ...required,
    description: Type.Optional(description),
    time_to_live_seconds: Type.Optional(time_to_live_seconds),
  },
  { $id: "EventTypeInput", description: "A type of events of the platform's own." },
);

const NameParam = Type.Object({
  name: Type.String({
    maxLength: 100,
    pattern: eventNamePattern,
    errorMessage: "must be words of a-z 0-9 _ with a dot between them, like raffle.won",
    description: "Words with a dot between them.",
    examples: ["raffle.won"],
  }),
});
const VersionQuery = Type.Object({ version: fields.version });

const RecordSchema = Type.Object(
  {
    name: Type.String({ description: "Name of the event." }),
    ...fields,
    is_published: Type.Boolean({ description: "Whether an event of it was ever published." }),
    created_at: about(IsoTimestamp, "When it was registered."),
    updated_at: about(IsoTimestamp, "When it was last changed."),
  },
  { $id: "RegisteredEventType", description: "A registered type of events.", ...closed },
);

const example = {
  version: 1,
  description: "A viewer won a raffle of the channel.",
  schema: {
    type: "object",
    properties: { winner: { type: "string" }, tickets: { type: "integer", minimum: 1 } },
    required: ["winner", "tickets"],
    additionalProperties: false,
  },
  example: { winner: "ninja_fox", tickets: 3 },
  time_to_live_seconds: null,
};
const exampleRecord = {
  name: "raffle.won",
  ...example,
  is_published: false,
  created_at: "2026-01-14T16:08:06.123Z",
  updated_at: "2026-01-14T16:08:06.123Z",
};

export interface EventTypeRouteOptions {
  readonly store: Pick<Store, "eventTypes">;
  readonly catalogue: Catalogue;
  /** Those that have the catalogue, too. */
  readonly now: () => number;
}

/** Register, list and delete event types beside those that are built in. */
export function eventTypeRoutes(app: AdminListener, options: EventTypeRouteOptions): void {
  const { store, catalogue, now } = options;
  const path = "/admin/v1/event-types";
  const tag = "Events";

  app.get(
    path,
    async ({ exchange }) => {
      const data = (await store.eventTypes.all()).map(shown);
      return replyJson(exchange, 200, { data, message: "OK" });
    },
    adminOperation({
      id: "getEventTypes",
      tag,
      summary: "List Registered Event Types",
      description:
        "The event types that were registered here, by name and version. `GET /public/v1/events/types` has the built-in ones, too.",
      answers: {
        200: answer("All of them.", {
          schema: Type.Object(
            { data: Type.Array(RecordSchema, { description: "By name." }), message: Message },
            { $id: "EventTypeList", description: "Registered types of events.", ...closed },
          ),
          example: { data: [exampleRecord], message: "OK" },
        }),
      },
    }),
  );

  app.put(
    `${path}/:name`,
    async ({ exchange, request, params }) => {
      const name = readName(params.name);
      const input = await readJson(request, EventTypeInput, adminBodyBytes);
      const { description = "", time_to_live_seconds = null, ...rest } = input;
      const given = { ...rest, name, description, time_to_live_seconds };
      const type = await eventTypeOf(given);
      const kept = await store.eventTypes.put(given, now());
      catalogue.put(type);
      return replyJson(exchange, 200, { event_type: shown(kept), message: "OK" });
    },
    adminOperation({
      id: "putEventType",
      tag,
      summary: "Register Event Type",
      description:
        "Registers a version of an event type, which can then be published and subscribed to. Versions stand beside each other, each with subscriptions of its own. Of a version that exists, description, example and time to live may be changed; its schema is settled, because receivers rely on it: any other one is a conflict, however small the difference (the order of fields is none). Register the next version, or delete this one while nothing of it was published. The names of built-in types are taken.",
      params: NameParam,
      body: { json: { schema: EventTypeInput, example } },
      answers: {
        200: answer("The type as it is kept.", {
          schema: Type.Object(
            { event_type: RecordSchema, message: Message },
            { $id: "EventTypeAnswer", description: "One type of events.", ...closed },
          ),
          example: { event_type: exampleRecord, message: "OK" },
        }),
      },
      errors: ["conflict"],
    }),
  );

  app.delete(
    `${path}/:name`,
    async ({ exchange, request, params }) => {
      const name = readName(params.name);
      const { version } = readQuery(request.url, VersionQuery);
      if (!(await store.eventTypes.remove(name, version))) {
        throw new DomainError("not_found", "There is no registered event type of this name and version");
      }
      catalogue.remove(name, version);
      return reply(exchange, 204, null);
    },
    adminOperation({
      id: "deleteEventType",
      tag,
      summary: "Delete Event Type",
      description:
        "Deletes a version of a registered event type with its subscriptions, as long as no event of it was published.",
      params: NameParam,
      query: VersionQuery,
      answers: { 204: answer("It is gone.") },
      errors: ["not_found", "conflict"],
    }),
  );
}

function readName(text: string): string {
  const name = readParam("name", text, NameParam.properties.name);
  if (builtInEventTypes.some((type) => type.name === name)) {
    throw new DomainError("conflict", `${name} is built in`);
  }
  return name;
}

function shown(type: RegisteredEventType): RegisteredEventType {
  const { name, version, description, schema, example, time_to_live_seconds, is_published } = type;
  const { created_at, updated_at } = type;
  const about = { name, version, description, schema, example, time_to_live_seconds };
  return { ...about, is_published, created_at, updated_at };
}
