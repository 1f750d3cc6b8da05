import { Type } from "@sinclair/typebox";
import { exampleCategory, exampleChannel } from "../../../domain/examples.ts";
import { answerOf, ndjsonLines, noContent } from "../../answers.ts";
import { longBodyStream } from "../../body.ts";
import { IdParameter } from "../../parameters.ts";
import { everyRole, writers } from "../access.ts";
import type { AdminDeps, AdminListener } from "../base.ts";
import { AtomicQuery, DataReportSchema, dataReport, flag, replyRows } from "./batch.ts";

const LivestreamsQuery = Type.Object({
  snapshot: flag("The lines are the whole set: every other livestream ends, after the last line."),
  ...AtomicQuery.properties,
});

const example = {
  channel_id: exampleChannel.id,
  category_id: exampleCategory.id,
  viewers: 1234,
  title: "Day 12: the frozen caves",
  language: "en",
  started_at: "2026-01-14T16:08:06Z",
};

const LivestreamsReport = answerOf(DataReportSchema, {
  description: "What became of it.",
  example: { accepted: 1, rejected: 0, ignored_fields: 0, errors: [] },
});

/** Livestreams as the platform reports them: put, end and export. */
export function livestreamRoutes(app: AdminListener, { store, data }: AdminDeps): void {
  app.put(
    "/admin/v1/livestreams",
    async ({ requestContext, query: { snapshot, atomic } }) => {
      const options = { atomic: atomic === "true" };
      const lines = longBodyStream(requestContext, options.atomic);
      return dataReport(await data.applyLivestreams(lines, snapshot === "true", options));
    },
    {
      roles: writers,
      parse: "none",
      query: LivestreamsQuery,
      response: { 200: LivestreamsReport },
      errors: ["body_too_large"],
      detail: {
        operationId: "putLivestreams",
        tags: ["Channels and livestreams"],
        description:
          "Starts or updates livestreams, one on each line. They show in the categories within two seconds. A line that is wrong is refused, and the rest is kept. Fields that are not known are ignored and counted. A snapshot that breaks off, or of which no line can be used, ends no livestream.",
        ndjson: { description: "One livestream on each line.", example: [example] },
      },
    },
  );

  app.get(
    "/admin/v1/livestreams",
    ({ requestContext }) => replyRows(requestContext, store.livestreams.page, ({ channel_id }) => channel_id),
    {
      roles: everyRole,
      response: { 200: ndjsonLines("Who is live.", [example]) },
      detail: {
        operationId: "getLivestreams",
        tags: ["Channels and livestreams"],
        description:
          "All livestreams as NDJSON by ascending channel, in the form in which they can be put again.",
      },
    },
  );

  app.delete(
    "/admin/v1/livestreams/:channel_id",
    async ({ params: { channel_id }, status }) => {
      await data.end([channel_id]);
      return status(204, undefined);
    },
    {
      roles: writers,
      params: Type.Object({ channel_id: IdParameter("channel", exampleChannel.id) }),
      response: { 204: noContent("The channel is not live (any more).") },
      detail: {
        operationId: "endLivestream",
        tags: ["Channels and livestreams"],
        description: "Ends the livestream of a channel. One that is not live is not an error.",
      },
    },
  );
}
