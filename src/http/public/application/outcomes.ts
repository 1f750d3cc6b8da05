import { Outcomes, outcomesDescription } from "../../stream/outcome-answers.ts";
import { replyStream } from "../../stream/reply-stream.ts";
import type { PublicDeps, TokenListener } from "../base.ts";

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
