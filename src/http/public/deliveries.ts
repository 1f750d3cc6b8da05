import { Type } from "@sinclair/typebox";
import { dataOf, linksTo, nextPage, pageOf } from "../answers.ts";
import type { Caller } from "../caller.ts";
import type { Cursors } from "../cursors.ts";
import { existing } from "../errors.ts";
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

/** OpenAPI links to operations on the delivery with the id at this place of an answer. */
const deliveryLinks = (place: string) =>
  linksTo(
    { getDelivery: "The delivery with what was sent.", retryDelivery: "Sends the delivery again." },
    place,
  );

const Deliveries = pageOf(DeliverySchema, {
  order: "The newest first.",
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
  description: "It is about to be sent.",
  links: deliveryLinks("/data/id"),
  example: { ...exampleDelivery, status: "pending", finished_at: null },
});

/**
 * The deliveries that a caller may see: those of its application, and with a user token only those of events of that
 * user.
 */
export function scopeOf({ grant }: Caller) {
  return { application_id: grant.applicationId, broadcaster_user_id: grant.userId };
}

/** Deliveries: list, get and retry. */
export function deliveryRoutes(app: TokenListener, { store, now }: PublicDeps, cursors: Cursors): void {
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
          "What was sent to the webhook of the calling application, newest first, each delivery with its attempts; with a user token, what was sent of events of that user. One request looks only at a part of a long log: a page may have fewer deliveries than `limit`, even none, and still `has_more`.",
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
          "One delivery with its attempts and the request as it was sent last, without its signature. The body is shown as long as it is kept.",
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
          "Sends a delivery again now, whatever became of it, with the same `webhook-id`; attempts go on counting, and it does not expire any more. One that is being sent is left to that attempt. If it fails, the schedule of retries goes on as if it had not been made. An endpoint that is held up after failures is tried at once.",
      },
    },
  );
}
