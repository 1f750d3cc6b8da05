import { Type } from "@sinclair/typebox";
import { valueChanges } from "../../domain/audit.ts";
import { DomainError } from "../../domain/errors.ts";
import { builtInEventTypes, channelFollowed } from "../../domain/events/built-in.ts";
import { eventNamePattern, eventTypeOf, type RegisteredEventType } from "../../domain/events/catalogue.ts";
import { type EventType, schemaLimits, versionRange } from "../../domain/events/event-type.ts";
import { checkFiltersOf } from "../../domain/filters.ts";
import { endpointNotices } from "../../domain/notices.ts";
import { day, second } from "../../domain/time.ts";
import { about, nullable, oneLine } from "../../domain/validation/fields.ts";
import { answer, listOf, noContent } from "../http/answers.ts";
import { replyLargeJson } from "../http/content.ts";
import type { RequestContext } from "../http/context.ts";
import {
  IntegerParameter,
  IsoTimestamp,
  Message,
  named,
  otherFieldsIgnored,
  picked,
  TextParameter,
} from "../http/parameters.ts";
import { type AdminDeps, type AdminListener, everyRole, operators } from "./listener.ts";

const fields = {
  version: Type.Integer({ ...versionRange, description: "Version of the event type." }),
  description: about(oneLine(0, 500), "When the event happens, for developers."),
  schema: Type.Record(Type.String(), Type.Unknown(), {
    description: `JSON Schema (draft 2020-12) of the payload, which is an object: at most ${schemaLimits.bytes / 1024} KiB, ${schemaLimits.depth} levels, and ${schemaLimits.parts} names of fields and items of lists together. \`format\` is not checked, and external references are not fetched. Patterns must be valid in RE2: without look-around and backreferences. At most ${schemaLimits.patterns} different patterns, each of some ${schemaLimits.patternSize} and all together of ${schemaLimits.patternSizes.toLocaleString("en")} characters with repetitions written out.`,
  }),
  example: Type.Record(Type.String(), Type.Unknown(), {
    description: "An example payload, which must match the schema.",
  }),
  time_to_live_seconds: nullable(Type.Integer({ minimum: 1, maximum: (30 * day) / second }), {
    description:
      "Seconds after publishing for which a delivery is attempted; null means the whole retry schedule.",
  }),
};
const { description, time_to_live_seconds, ...required } = fields;

const NameParams = Type.Object({
  name: TextParameter({
    maxLength: 100,
    pattern: eventNamePattern,
    errorMessage: "must be words of a-z 0-9 _ with a dot between them, like raffle.won",
    description: "Name of the event type: words separated by dots.",
    examples: ["raffle.won"],
  }),
});
const VersionQuery = Type.Object({
  version: IntegerParameter({ ...versionRange, description: "Version of the event type." }),
});

const RecordSchema = named("RegisteredEventType", "A registered event type.", {
  name: Type.String({ description: "Name of the event type." }),
  ...fields,
  is_published: Type.Boolean({ description: "Whether any event of this version was published." }),
  created_at: about(IsoTimestamp, "Time at which the event type was registered."),
  updated_at: about(IsoTimestamp, "Time of its last change."),
});

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
const EventTypeInput = Type.Object(
  {
    ...required,
    description: Type.Optional(description),
    time_to_live_seconds: Type.Optional(time_to_live_seconds),
  },
  {
    $id: "EventTypeInput",
    description: "A version of an event type to register.",
    ...otherFieldsIgnored,
    examples: [example],
  },
);
const exampleRecord = {
  name: "raffle.won",
  ...example,
  is_published: false,
  created_at: "2026-01-14T16:08:06.123Z",
  updated_at: "2026-01-14T16:08:06.123Z",
};

const AllTypes = listOf(RecordSchema, {
  order: "Event types, by name and version.",
  name: "EventTypeList",
  description: "The registered event types.",
  example: exampleRecord,
});

const KeptType = answer(
  { event_type: RecordSchema, message: Message },
  {
    name: "EventTypeAnswer",
    description: "The registered event type.",
    example: { event_type: exampleRecord, message: "OK" },
  },
);

/** Registered event types: create, list and delete. */
export function eventTypeRoutes(app: AdminListener, options: AdminDeps): void {
  const { store, catalogue, now } = options;

  app.get(
    "/admin/v1/event-types",
    async () => ({ data: (await store.eventTypes.all()).map(shownType), message: "OK" }),
    {
      roles: everyRole,
      response: { 200: AllTypes },
      detail: {
        operationId: "getEventTypes",
        tags: ["Events"],
        summary: "List Registered Event Types",
        description:
          "Returns the registered event types, by name and version. `GET /public/v1/events/types` also has the built-in ones.",
      },
    },
  );

  app.put(
    "/admin/v1/event-types/:name",
    async ({ params: { name }, body, requestContext }) => {
      refuseBuiltIn(name);
      const { version, schema, example, description = "", time_to_live_seconds = null } = body;
      const newType = { name, version, schema, example, description, time_to_live_seconds };
      const type = await eventTypeOf(newType);
      if (!catalogue.find(name, version)) checkFiltersOf(type, await store.applications.all(), catalogue);
      const before = (await store.eventTypes.all()).find(
        (type) => type.name === name && type.version === version,
      );
      const kept = await store.eventTypes.put(newType, now());
      catalogue.put(type);
      const changes = valueChanges(before ?? null, kept);
      requestContext.change = { object_name: `${name}@${version}`, changes };
      return { event_type: shownType(kept), message: "OK" };
    },
    {
      roles: operators,
      params: NameParams,
      body: EventTypeInput,
      response: { 200: KeptType },
      errors: ["conflict"],
      detail: {
        operationId: "putEventType",
        tags: ["Events"],
        summary: "Register Event Type",
        description:
          "Registers a version of an event type. Its events can then be published and subscribed to. Versions are independent, each with its own subscriptions. The description, example and time to live of an existing version can be changed. Its schema cannot, because receivers rely on it: any difference other than the order of fields is a conflict. To change the schema, register the next version, or delete this one before any of its events are published. A schema without a field that the filter of an application relies on is a conflict, too. The names of built-in types are reserved.",
      },
    },
  );

  app.delete(
    "/admin/v1/event-types/:name",
    async ({ params: { name }, query: { version }, status, requestContext }) => {
      refuseBuiltIn(name);
      if (!(await store.eventTypes.remove(name, version))) {
        throw new DomainError("not_found", "There is no registered event type of this name and version");
      }
      catalogue.remove(name, version);
      requestContext.change = { object_name: `${name}@${version}`, changes: [] };
      return status(204, undefined);
    },
    {
      roles: operators,
      params: NameParams,
      query: VersionQuery,
      response: { 204: noContent("The version was deleted.") },
      errors: ["not_found", "conflict"],
      detail: {
        operationId: "deleteEventType",
        tags: ["Events"],
        description:
          "Deletes a version of a registered event type and its subscriptions. A version of which events were published cannot be deleted.",
      },
    },
  );
}

function refuseBuiltIn(name: string): void {
  if (builtInEventTypes.some((type) => type.name === name)) {
    throw new DomainError("conflict", `${name} is built in`);
  }
  if (endpointNotices.some((notice) => notice === name)) {
    throw new DomainError("conflict", `${name} is what a notice of the event stream is called`);
  }
}

const shownType = (type: RegisteredEventType) => picked(RecordSchema.properties, type);

const CatalogueEntrySchema = named("CatalogueEntry", "An event type that can be published.", {
  name: Type.String({ description: "Name of the event type." }),
  version: Type.Integer({ description: "Version of the event type." }),
  description: Type.String({ description: "When the event happens." }),
  is_built_in: Type.Boolean({
    description: "Whether the type is built in, as opposed to registered by an operator.",
  }),
  schema: Type.Record(Type.String(), Type.Unknown(), {
    description: "JSON Schema of the payload (`data` of a webhook).",
  }),
  // An object that matches the schema of the event type.
  example: Type.Unsafe<unknown>(
    Type.Record(Type.String(), Type.Unknown(), { description: "An example payload." }),
  ),
});

const Catalogue = listOf(CatalogueEntrySchema, {
  order: "Event types, the built-in ones first.",
  name: "CatalogueList",
  description: "All event types, built in and registered.",
  example: {
    name: channelFollowed.name,
    version: channelFollowed.version,
    description: channelFollowed.description,
    is_built_in: true,
    schema: { type: "object" },
    example: channelFollowed.example,
  },
});

const builtIn: ReadonlySet<unknown> = new Set(builtInEventTypes);

/** All event types that can be published. */
export function catalogueRoute(app: AdminListener, { catalogue }: AdminDeps): void {
  const catalogueEntry = (type: EventType) => {
    const { name, version, description, payload, example } = type;
    return { name, version, description, is_built_in: builtIn.has(type), schema: payload, example };
  };
  const answer = ({ requestContext }: { requestContext: RequestContext }) =>
    replyLargeJson(requestContext, { data: catalogue.types.map(catalogueEntry), message: "OK" });
  app.get("/admin/v1/catalogue", answer, {
    roles: everyRole,
    response: { 200: Catalogue },
    detail: {
      operationId: "getCatalogue",
      tags: ["Events"],
      description:
        "Returns all event types that can be published, with their schemas and an example of each.",
    },
  });
}
