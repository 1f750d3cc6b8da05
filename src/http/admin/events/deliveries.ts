import { Type } from "@sinclair/typebox";
import { everything } from "../../../domain/delivery-log.ts";
import { answerOf, linksTo, pageOf } from "../../answers.ts";
import { existing } from "../../errors.ts";
import { TextParameter } from "../../parameters.ts";
import {
  DeliveryId,
  deliveryList,
  exampleDelivery,
  exampleSentDelivery,
  OperatorDeliverySchema,
  OperatorSentDeliverySchema,
  shownDelivery,
  shownSentDelivery,
} from "../../public/delivery-fields.ts";
import { operators, readers } from "../access.ts";
import { exampleApplication, owned, pageOfApplication } from "../application-fields.ts";
import type { AdminDeps, AdminListener } from "../base.ts";

const OfApplication = Type.Optional(
  TextParameter({
    minLength: 1,
    maxLength: 64,
    description:
      "Returns only deliveries of this application. Without it, a filter that few deliveries match takes many requests.",
  }),
);

const operatorExample = owned(exampleApplication.id, exampleDelivery);

const Deliveries = pageOf(OperatorDeliverySchema, {
  order: "Deliveries, the newest first.",
  description: "A page of deliveries.",
  links: linksTo(
    {
      getDelivery: "Gets the first delivery with its request.",
      retryDelivery: "Sends the first delivery again.",
    },
    "/data/0/id",
  ),
  example: operatorExample,
});

const OneDelivery = answerOf(OperatorSentDeliverySchema, {
  description: "The delivery.",
  example: { ...operatorExample, request: exampleSentDelivery.request },
});

const Retried = answerOf(OperatorDeliverySchema, {
  description: "The delivery is due and will be sent now.",
  example: { ...operatorExample, status: "pending", finished_at: null },
});

/** Deliveries of all applications: list, get and retry. */
export function deliveryRoutes(app: AdminListener, { store, cursors, now }: AdminDeps): void {
  const list = deliveryList(store, cursors);
  app.get(
    "/admin/v1/deliveries",
    async ({ query }) => {
      const { application_id = null } = query;
      const { deliveries, pagination } = await list.page(query, { ...everything, application_id }, null);
      const data = deliveries.map((one) => owned(one.application_id, shownDelivery(one)));
      return pageOfApplication(store, application_id, { data, pagination, message: "OK" });
    },
    {
      roles: readers,
      query: Type.Object({ application_id: OfApplication, ...list.query }),
      response: { 200: Deliveries },
      errors: ["invalid_cursor"],
      detail: {
        operationId: "getDeliveries",
        tags: ["Deliveries"],
        summary: "List Deliveries",
        description:
          "Returns the deliveries of all applications with their attempts, the newest first. One request searches a bounded part of the log, so a page may have fewer deliveries than `limit`, or none, although `has_more` is true.",
      },
    },
  );

  app.get(
    "/admin/v1/deliveries/:id",
    async ({ params: { id } }) => {
      const found = existing(await store.deliveries.find(everything, id), "delivery");
      return owned(found.application_id, shownSentDelivery(found));
    },
    {
      roles: readers,
      params: DeliveryId,
      response: { 200: OneDelivery },
      errors: ["not_found"],
      detail: {
        operationId: "getDelivery",
        tags: ["Deliveries"],
        description:
          "Returns one delivery with its attempts and the request of the last attempt, without its signature. The body is null when it is no longer kept.",
      },
    },
  );

  app.post(
    "/admin/v1/deliveries/:id/retry",
    async ({ params: { id }, status }) => {
      const retried = await store.deliveries.retry(everything, id, now());
      return status(202, owned(retried.application_id, shownDelivery(retried)));
    },
    {
      roles: operators,
      params: DeliveryId,
      response: { 202: Retried },
      errors: ["not_found", "conflict"],
      detail: {
        operationId: "retryDelivery",
        tags: ["Deliveries"],
        description:
          "Sends a delivery again now, whatever its status, with the same `webhook-id`. Its attempts continue to be counted.",
      },
    },
  );
}
