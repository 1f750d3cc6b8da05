import { Type } from "@sinclair/typebox";
import { dataOf } from "../../answers.ts";
import { replyLargeJson } from "../../content.ts";
import { named } from "../../fields.ts";
import type { PublicDeps, TokenListener } from "../base.ts";
import {
  DeliveryCounts,
  DeliveryStep,
  defaultRange,
  deliveryStatistics,
  exampleStatistics,
  RangeParameter,
  spanFields,
  spanOf,
} from "./statistic-fields.ts";

const StatisticsSchema = named(
  "ApplicationStatistics",
  "Deliveries of an application by result, over time.",
  {
    ...spanFields,
    deliveries: Type.Array(DeliveryStep, { description: "Steps, the oldest first." }),
    totals: DeliveryCounts,
  },
);
const Statistics = dataOf(StatisticsSchema, {
  name: "StatisticsAnswer",
  description: "The statistics.",
  example: exampleStatistics,
});

/** Get Statistics: the application's deliveries by result, over time. */
export function statisticRoutes(app: TokenListener, { store, now }: PublicDeps): void {
  app.get(
    "/public/v1/application/statistics",
    async ({ query: { range = defaultRange }, caller: { application }, requestContext }) => {
      const span = spanOf(range, now());
      const counted = await deliveryStatistics(store, span, application.id);
      return replyLargeJson(requestContext, { data: { ...span.shown, ...counted }, message: "OK" });
    },
    {
      application: "reads",
      query: Type.Object({ range: RangeParameter }),
      response: { 200: Statistics },
      detail: {
        operationId: "getOwnStatistics",
        tags: ["Application"],
        summary: "Get Statistics",
        description:
          "Returns the number of the calling application's deliveries by result, for each minute or hour. The counts are about ten seconds behind, and a crash of the server may lose those of its last seconds. Get Deliveries is exact.",
      },
    },
  );
}
