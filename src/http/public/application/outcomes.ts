import { eventStream } from "../../answers.ts";
import { replyStream } from "../../stream/reply-stream.ts";
import { frame, opening } from "../../stream/stream-frames.ts";
import type { PublicDeps, TokenListener } from "../base.ts";

const exampleOutcome = {
  delivery_id: "01KEYN2Q9HAVJ4W6C0B9RZ5T1M",
  subscription_id: "01KATJ1V2GQ5Z8N1F4T7Y0XW3C",
  application_id: "01KATHZX5M9S3E6R8B2D4F7G1H",
  type: "channel.followed",
  at: "2026-01-14T16:08:06.312Z",
  status: "delivered",
  attempt: 1,
  outcome: "ok",
  http_status: 204,
  duration_ms: 38,
  error: null,
};

export const Outcomes = eventStream(
  "The stream.",
  opening + frame("outcomes", { outcomes: [exampleOutcome], left_out: 0 }),
);

export const outcomesDescription =
  "as [server-sent events](https://html.spec.whatwg.org/multipage/server-sent-events.html), as they happen. It is meant for live views: it may omit results. `data` of an event `outcomes` has `outcomes`, each with the status of its delivery (`pending`: it will be retried), and `left_out`, the number of omitted results. An event has at most 20 results, and there are at most five events per second. A slow reader misses more. Earlier results are not sent; they are in the list of deliveries. `data` of an event `changed` names the other data that has changed, separated by spaces: `applications` (settings, secrets or the endpoint), `subscriptions`, `notices`, `statistics`, `event-types`, `minute` (a minute of the statistics has ended), and `deliveries` (another server that shares the database has sent some, within the last seconds).";

/** Watch Deliveries: a stream of the results of the application's deliveries. */
export function outcomeRoute(app: TokenListener, { access, outcomes }: PublicDeps): void {
  app.get(
    "/public/v1/application/outcomes",
    ({ caller, requestContext }) => {
      const isAllowed = () => access.authenticator.isInForce(caller);
      const applicationId = caller.application.id;
      return replyStream(requestContext, (cut) =>
        outcomes.open({ applicationId, topics: ["minute", "event-types"], isAllowed, cut }),
      );
    },
    {
      application: "reads",
      response: { 200: Outcomes },
      detail: {
        operationId: "watchOwnDeliveries",
        tags: ["Application"],
        summary: "Watch Deliveries",
        description: `Streams the results of the calling application's deliveries ${outcomesDescription}`,
      },
    },
  );
}
