import { Type } from "@sinclair/typebox";
import { dataOf, linksTo, nextPage, pageOf } from "../answers.ts";
import { existing } from "../errors.ts";
import type { Caller } from "../request-context.ts";
import type { PublicDeps, TokenListener } from "./base.ts";
import {
  DeliveryId,
  DeliverySchema,
  deliveryList,
  exampleDelivery,
  exampleSentDelivery,
  SentDeliverySchema,
  shownDelivery,
  shownSentDelivery,
} from "./delivery-fields.ts";

const path = "/public/v1/events/deliveries";

/** OpenAPI links to operations on a delivery. @param pointer the JSON pointer to its id in the response */
const deliveryLinks = (pointer: string) =>
  linksTo(
    { getDelivery: "Gets the delivery with its request.", retryDelivery: "Sends the delivery again." },
    pointer,
  );

const Deliveries = pageOf(DeliverySchema, {
  order: "Deliveries, the newest first.",
  description: "A page of deliveries.",
  links: {
    ...deliveryLinks("/data/0/id"),
    ...nextPage("getDeliveries"),
  },
  example: exampleDelivery,
});

const OneDelivery = dataOf(SentDeliverySchema, {
  description: "The delivery.",
  links: deliveryLinks("/data/id"),
  example: exampleSentDelivery,
});

const Retried = dataOf(DeliverySchema, {
  description: "The delivery is due and will be sent now.",
  links: deliveryLinks("/data/id"),
  example: { ...exampleDelivery, status: "pending", finished_at: null },
});

/** The deliveries that a caller may see: those of its application; with a user token, only of that user's events. */
export function scopeOf({ grant }: Caller) {
  return { application_id: grant.applicationId, broadcaster_user_id: grant.userId };
}

/** Deliveries: list, get and retry. */
export function deliveryRoutes(app: TokenListener, { store, now, cursors }: PublicDeps): void {
  const list = deliveryList(store, cursors);
  app.get(
    path,
    async ({ query, caller }) => {
      const { deliveries, pagination } = await list.page(query, scopeOf(caller), caller.grant);
      return { data: deliveries.map(shownDelivery), pagination, message: "OK" };
    },
    {
      scope: "events:subscribe",
      query: Type.Object(list.query),
      response: { 200: Deliveries },
      errors: ["invalid_cursor"],
      detail: {
        operationId: "getDeliveries",
        tags: ["Deliveries"],
        description:
          "Returns the deliveries of the calling application with their attempts, the newest first. With a user token, it returns only deliveries of events of that user. One request searches a bounded part of the log, so a page may have fewer deliveries than `limit`, or none, although `has_more` is true.",
      },
    },
  );

  app.get(
    `${path}/:id`,
    async ({ params: { id }, caller }) => {
      const found = existing(await store.deliveries.find(scopeOf(caller), id), "delivery");
      return { data: shownSentDelivery(found), message: "OK" };
    },
    {
      scope: "events:subscribe",
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
    `${path}/:id/retry`,
    async ({ params: { id }, caller, status }) => {
      const retried = await store.deliveries.retry(scopeOf(caller), id, now());
      return status(202, { data: shownDelivery(retried), message: "OK" });
    },
    {
      scope: "events:subscribe",
      params: DeliveryId,
      response: { 202: Retried },
      errors: ["not_found", "conflict"],
      detail: {
        operationId: "retryDelivery",
        tags: ["Deliveries"],
        description:
          "Sends a delivery again now, whatever its status, with the same `webhook-id`. Its attempts continue to be counted, and it no longer expires. If an attempt is in progress, no further one is made. If the attempt fails, the schedule of retries continues as if it had not been made. An endpoint that is paused after failures is tried at once.",
      },
    },
  );
}
