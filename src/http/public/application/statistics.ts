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

const StatisticsSchema = named("ApplicationStatistics", "Deliveries of an application over time.", {
  ...spanFields,
  deliveries: Type.Array(DeliveryStep, { description: "The oldest step first." }),
  totals: DeliveryCounts,
});
const Statistics = dataOf(StatisticsSchema, {
  name: "StatisticsAnswer",
  description: "What became of deliveries over time.",
  example: exampleStatistics,
});

/** Get Statistics: what became of the deliveries of the application, over time. */
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
          "What became of the deliveries of your application, by minute or hour, some ten seconds behind. A crash of the server may leave out its last seconds; Get Deliveries is exact.",
      },
    },
  );
}
