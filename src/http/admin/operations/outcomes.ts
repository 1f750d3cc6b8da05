import { Type } from "@sinclair/typebox";
import { hasBearer } from "../../auth.ts";
import type { OperatorSessions } from "../../pages/operator-sessions.ts";
import { Outcomes, outcomesDescription } from "../../public/application/outcomes.ts";
import { replyStream } from "../../stream/reply-stream.ts";
import { readers } from "../access.ts";
import { ApplicationIdParameter } from "../application-fields.ts";
import type { AdminDeps, AdminListener } from "../base.ts";

/** Watch Deliveries: a stream of the results of deliveries. */
export function outcomeRoute(
  app: AdminListener,
  { outcomes, operatorKeys, sessions }: AdminDeps & { readonly sessions: Pick<OperatorSessions, "keyOf"> },
): void {
  app.get(
    "/admin/v1/outcomes",
    ({ query: { application_id = null }, requestContext }) => {
      const { operatorKey, request } = requestContext;
      const isSession = !hasBearer(request);
      const isAllowed = async () => {
        const key = isSession ? await sessions.keyOf(request) : operatorKeys.byId(operatorKey?.id ?? "");
        return key !== null && readers.includes(key.role);
      };
      return replyStream(requestContext, (cut) =>
        outcomes.open({ applicationId: application_id, topics: "all", isAllowed, cut }),
      );
    },
    {
      roles: readers,
      query: Type.Object({ application_id: Type.Optional(ApplicationIdParameter) }),
      response: { 200: Outcomes },
      detail: {
        operationId: "watchDeliveries",
        tags: ["Operations"],
        description: `Streams the results of the deliveries of all applications, or of one, ${outcomesDescription} An event \`changed\` also names further data: \`audit\`, \`backups\`, \`findings\`, \`keys\`, \`ranking\`, \`settings\`, \`users\` and others.`,
      },
    },
  );
}
