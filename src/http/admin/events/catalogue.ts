import { Type } from "@sinclair/typebox";
import { builtInEventTypes } from "../../../domain/events/catalogue.ts";
import type { EventType } from "../../../domain/events/event-type.ts";
import { listOf } from "../../answers.ts";
import { replyLargeJson } from "../../content.ts";
import { named } from "../../fields.ts";
import type { RequestContext } from "../../request-context.ts";
import { everyRole } from "../access.ts";
import type { AdminDeps, AdminListener } from "../base.ts";

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

const [exampleType] = builtInEventTypes.filter(({ name }) => name === "channel.followed");

const Catalogue = listOf(CatalogueEntrySchema, {
  order: "Event types, the built-in ones first.",
  name: "CatalogueList",
  description: "All event types, built in and registered.",
  example: {
    name: exampleType?.name,
    version: exampleType?.version,
    description: exampleType?.description,
    is_built_in: true,
    schema: { type: "object" },
    example: exampleType?.example,
  },
});

const builtIn: ReadonlySet<unknown> = new Set(builtInEventTypes);

/** All event types that can be published. */
export function catalogueRoute(app: AdminListener, { catalogue }: AdminDeps): void {
  const shown = (type: EventType) => {
    const { name, version, description, payload, example } = type;
    return { name, version, description, is_built_in: builtIn.has(type), schema: payload, example };
  };
  const answer = ({ requestContext }: { requestContext: RequestContext }) =>
    replyLargeJson(requestContext, { data: catalogue.types.map(shown), message: "OK" });
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
