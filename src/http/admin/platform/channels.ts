import { Type } from "@sinclair/typebox";
import type { PlatformData } from "../../../batch/platform-data.ts";
import { DomainError } from "../../../domain/errors.ts";
import { exampleChannel } from "../../../domain/examples.ts";
import { ChannelInput } from "../../../domain/livestreams.ts";
import type { Store } from "../../../store/store.ts";
import { answer, ndjsonLines, noContent } from "../../answers.ts";
import { Message, noOtherFields, otherFieldsIgnored } from "../../fields.ts";
import { IdParameter } from "../../parameters.ts";
import { everyRole, writers } from "../access.ts";
import type { AdminListener } from "../base.ts";
import { AtomicQuery, appliedLines, DataReport, replyRows } from "./batch.ts";
import { OwnId, rowOf, storeOne, withPathId } from "./records.ts";

const { id, ...exampleFields } = exampleChannel;

const ChannelParams = Type.Object({ id: IdParameter("channel", exampleChannel.id) });

const ChannelBody = Type.Object(
  { ...ChannelInput.properties, id: OwnId },
  {
    $id: "ChannelInput",
    description: "A channel as the platform reports it.",
    ...otherFieldsIgnored,
    examples: [exampleFields],
  },
);

const ChannelRecord = Type.Object(Type.Required(ChannelInput).properties, {
  $id: "Channel",
  description: "A channel as it is kept.",
  ...noOtherFields,
});

const OneChannel = answer(
  { channel: ChannelRecord, message: Message },
  {
    name: "ChannelAnswer",
    description: "The channel as it is kept.",
    example: { channel: exampleChannel, message: "OK" },
  },
);

const unknownChannel = () => new DomainError("not_found", "There is no channel with this id");

/** Channels as the platform reports them. */
export function channelRoutes(
  app: AdminListener,
  { store, data }: { readonly store: Store; readonly data: PlatformData },
): void {
  app.get(
    "/admin/v1/channels/:id",
    async ({ params: { id } }) => ({
      channel: await rowOf(store.channels, id, unknownChannel),
      message: "OK",
    }),
    {
      roles: everyRole,
      params: ChannelParams,
      response: { 200: OneChannel },
      errors: ["not_found"],
      detail: {
        operationId: "getChannel",
        tags: ["Channels and livestreams"],
        summary: "Get Channel",
        description: "One channel, as the platform reported it.",
      },
    },
  );

  app.put(
    "/admin/v1/channels/:id",
    async ({ params: { id }, body }) => {
      await storeOne(data.channels, withPathId(id, body));
      return { channel: await rowOf(store.channels, id, unknownChannel), message: "OK" };
    },
    {
      roles: writers,
      params: ChannelParams,
      body: ChannelBody,
      response: { 200: OneChannel },
      errors: ["conflict"],
      detail: {
        operationId: "putChannel",
        tags: ["Channels and livestreams"],
        summary: "Put Channel",
        description:
          "Makes the channel, or replaces the one of this id: what the body leaves out gets its default. The same again changes nothing.",
      },
    },
  );

  app.delete(
    "/admin/v1/channels/:id",
    async ({ params: { id }, status }) => {
      await data.removeChannel(id);
      return status(204, undefined);
    },
    {
      roles: writers,
      params: ChannelParams,
      response: { 204: noContent("There is no such channel (any more).") },
      detail: {
        operationId: "deleteChannel",
        tags: ["Channels and livestreams"],
        summary: "Delete Channel",
        description:
          "Deletes the channel. Its livestream ends. An id that does not exist changes nothing and is not an error.",
      },
    },
  );

  app.post("/admin/v1/channels/batch", ({ request, query }) => appliedLines(request, data.channels, query), {
    roles: writers,
    parse: "none",
    query: AtomicQuery,
    response: { 200: DataReport },
    errors: ["body_too_large"],
    detail: {
      operationId: "putChannels",
      tags: ["Channels and livestreams"],
      summary: "Put Channels",
      description:
        "Makes or replaces many channels, one on each line, as they arrive. A line that is wrong is refused, and the rest is kept. Fields that are not known are ignored and counted.",
      ndjson: { description: "One channel on each line.", example: [exampleChannel] },
    },
  });

  app.get(
    "/admin/v1/channels/batch",
    ({ requestContext }) => replyRows(requestContext, store.channels.page, ({ id }) => id),
    {
      roles: everyRole,
      response: { 200: ndjsonLines("All channels.", [exampleChannel]) },
      detail: {
        operationId: "getChannels",
        tags: ["Channels and livestreams"],
        summary: "Get Channels",
        description:
          "All channels as NDJSON by ascending id, in the form in which they can be put again. What changes meanwhile may be in it or not.",
      },
    },
  );
}
