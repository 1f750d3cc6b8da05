import { Type } from "@sinclair/typebox";
import { builtInEventTypes } from "../../../domain/events/catalogue.ts";
import type { EventType } from "../../../domain/events/event-type.ts";
import { listOf } from "../../answers.ts";
import { replyLargeJson } from "../../content.ts";
import { named } from "../../fields.ts";
import type { RequestContext } from "../../request-context.ts";
import { everyRole } from "../access.ts";
import type { AdminDeps, AdminListener } from "../base.ts";

const CatalogueEntrySchema = named("CatalogueEntry", "A type of event that can be published.", {
  name: Type.String({ description: "Name of the event." }),
  version: Type.Integer({ description: "Its version." }),
  description: Type.String({ description: "When it happens." }),
  is_built_in: Type.Boolean({
    description: "Whether it is one of every platform, not registered by an operator.",
  }),
  schema: Type.Record(Type.String(), Type.Unknown(), {
    description: "JSON Schema of the payload (`data`).",
  }),
  // An object that fits the type's own schema.
  example: Type.Unsafe<unknown>(Type.Record(Type.String(), Type.Unknown(), { description: "A payload." })),
});

const [exampleType] = builtInEventTypes.filter(({ name }) => name === "channel.followed");

const Catalogue = listOf(CatalogueEntrySchema, {
  order: "The built-in ones first.",
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
      description: "All event types that can be published, with their schemas and an example of each.",
    },
  });
}
