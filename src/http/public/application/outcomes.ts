import { Outcomes, outcomesDescription } from "../../stream/outcome-answers.ts";
import type { OutcomeStreams } from "../../stream/outcome-streams.ts";
import { replyStream } from "../../stream/reply-stream.ts";
import type { PublicDeps, TokenListener } from "../base.ts";

/** Watch Deliveries: what becomes of the deliveries of the application, while it happens. */
export function outcomeRoute(
  app: TokenListener,
  { access }: PublicDeps,
  streams: Pick<OutcomeStreams, "open">,
): void {
  app.get(
    "/public/v1/application/outcomes",
    ({ caller, requestContext }) => {
      const isAllowed = () => access.authenticator.isInForce(caller);
      const applicationId = caller.application.id;
      return replyStream(requestContext, (cut) =>
        streams.open({ applicationId, topics: ["minute", "event-types"], isAllowed, cut }),
      );
    },
    {
      application: "reads",
      response: { 200: Outcomes },
      detail: {
        operationId: "watchOwnDeliveries",
        tags: ["Application"],
        summary: "Watch Deliveries",
        description: `What becomes of the deliveries of your application, ${outcomesDescription}`,
      },
    },
  );
}
