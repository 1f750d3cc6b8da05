import { Type } from "@sinclair/typebox";
import type { PlatformData } from "../../batch/platform-data.ts";
import { about, Id } from "../../domain/fields.ts";
import type { Store } from "../../store/store.ts";
import { bodyStream } from "../body.ts";
import { reply, replyJson } from "../exchange.ts";
import { answer } from "../public/reference.ts";
import { readParam, readQuery } from "../query.ts";
import type { AdminListener } from "./base.ts";
import { AtomicQuery, DataReportSchema, flag, replyRows } from "./batch.ts";
import { adminOperation } from "./reference.ts";

const LivestreamsQuery = Type.Object({
  snapshot: flag("The lines are the whole set: every other livestream ends, after the last line."),
  ...AtomicQuery.properties,
});

const example = {
  channel_id: 1001,
  category_id: 56,
  viewers: 1234,
  title: "Hello",
  language: "en",
  started_at: "2026-01-14T16:08:06Z",
};

/** Who is live, in which category, with how many viewers. */
export function livestreamRoutes(app: AdminListener, store: Store, data: PlatformData): void {
  const path = "/admin/v1/livestreams";
  const tag = "Channels and livestreams";

  app.put(
    path,
    async ({ exchange, request }) => {
      const { snapshot, atomic } = readQuery(request.url, LivestreamsQuery);
      const options = { atomic: atomic === "true" };
      return replyJson(
        exchange,
        200,
        await data.applyLivestreams(bodyStream(request), snapshot === "true", options),
      );
    },
    adminOperation({
      id: "putLivestreams",
      tag,
      summary: "Put Livestreams",
      description:
        "Starts or updates livestreams, one on each line. They show in the categories within two seconds. A line that is wrong is refused, and the rest is kept. Fields that are not known are ignored and counted. A snapshot that breaks off, or of which no line can be used, ends no livestream.",
      query: LivestreamsQuery,
      body: { ndjson: { description: "One livestream on each line.", example: [example] } },
      answers: {
        200: answer("What became of it.", {
          schema: DataReportSchema,
          example: { accepted: 1, rejected: 0, ignored_fields: 0, errors: [] },
        }),
      },
      errors: ["body_too_large"],
    }),
  );

  app.get(
    path,
    ({ exchange }) => replyRows(exchange, store.livestreams.page, ({ channel_id }) => channel_id),
    adminOperation({
      id: "getLivestreams",
      tag,
      summary: "Get Livestreams",
      description:
        "All livestreams as NDJSON by ascending channel, in the form in which they can be put again.",
      answers: { 200: { ...answer("Who is live."), ndjson: [example] } },
    }),
  );

  app.delete(
    `${path}/:channel_id`,
    async ({ exchange, params }) => {
      await data.end([readParam("channel_id", params.channel_id, Id)]);
      return reply(exchange, 204, null);
    },
    adminOperation({
      id: "endLivestream",
      tag,
      summary: "End Livestream",
      description: "Ends the livestream of a channel. One that is not live is not an error.",
      params: Type.Object({ channel_id: about(Id, "Id of the channel.") }),
      answers: { 204: answer("The channel is not live (any more).") },
    }),
  );
}
