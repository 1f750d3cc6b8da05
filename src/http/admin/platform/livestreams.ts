import { Type } from "@sinclair/typebox";
import { exampleCategory, exampleChannel } from "../../../domain/examples.ts";
import { confirmedFrom, defaultConfirmAbovePercent } from "../../../domain/livestreams.ts";
import { answerOf, ndjsonLines, noContent } from "../../answers.ts";
import { longBodyStream } from "../../body.ts";
import { named } from "../../fields.ts";
import { IdParameter } from "../../parameters.ts";
import { everyRole, writers } from "../access.ts";
import type { AdminDeps, AdminListener } from "../base.ts";
import { AtomicQuery, DataReportSchema, flag, replyRows } from "./batch.ts";

const LivestreamsQuery = Type.Object({
  snapshot: flag("Treats the lines as the complete set: all other livestreams end after the last line."),
  confirm: flag(
    `Confirms that a snapshot may end any number of livestreams. Without it, one that would end more than the percentage in \`--confirm-snapshot-above\` (by default ${defaultConfirmAbovePercent}) of at least ${confirmedFrom} livestreams ends none.`,
  ),
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

const LivestreamsReport = answerOf(
  named("LivestreamsReport", "The result of a batch of livestreams.", {
    ...DataReportSchema.properties,
    ended: Type.Integer({ description: "Number of livestreams that the snapshot ended; 0 without one." }),
  }),
  {
    description: "The report of the batch.",
    example: { accepted: 1, rejected: 0, ignored_fields: 0, errors: [], ended: 0 },
  },
);

/** Livestreams as the platform reports them: put, end and export. */
export function livestreamRoutes(app: AdminListener, { store, data }: AdminDeps): void {
  app.put(
    "/admin/v1/livestreams",
    async ({ requestContext, query: { snapshot, atomic, confirm } }) => {
      const options = { atomic: atomic === "true", confirmed: confirm === "true" };
      const lines = longBodyStream(requestContext, options.atomic);
      return data.applyLivestreams(lines, snapshot === "true", options);
    },
    {
      roles: writers,
      parse: "none",
      query: LivestreamsQuery,
      response: { 200: LivestreamsReport },
      errors: ["empty_snapshot", "confirmation_required", "body_too_large"],
      detail: {
        operationId: "putLivestreams",
        tags: ["Channels and livestreams"],
        description:
          "Starts or updates livestreams, one on each line. The categories show them within two seconds. Invalid lines are refused; all others are stored. Unknown fields are ignored and counted. A snapshot that is interrupted ends no livestream; a livestream in a refused line with a valid `channel_id` goes on. A snapshot without a valid line is refused and changes nothing. One that would end too many livestreams without `confirm=true` is refused: its valid lines are stored (with `atomic=true` none are), and no livestream ends. The `errors` of these refusals have the first refused lines.",
        ndjson: { description: "One livestream on each line.", example: [example] },
      },
    },
  );

  app.get(
    "/admin/v1/livestreams",
    ({ requestContext }) => replyRows(requestContext, store.livestreams.page, ({ channel_id }) => channel_id),
    {
      roles: everyRole,
      response: { 200: ndjsonLines("All livestreams.", [example]) },
      detail: {
        operationId: "getLivestreams",
        tags: ["Channels and livestreams"],
        description:
          "Returns all livestreams as NDJSON by ascending channel id, in the form that Put Livestreams accepts.",
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
      response: { 204: noContent("The channel is not live.") },
      detail: {
        operationId: "endLivestream",
        tags: ["Channels and livestreams"],
        description: "Ends the livestream of a channel. It is not an error if the channel is not live.",
      },
    },
  );
}
