import { Type } from "@sinclair/typebox";
import { DomainError } from "../../domain/errors.ts";
import { type Cursors, Pagination } from "../cursors.ts";
import { type Exchange, replyJson } from "../exchange.ts";
import { readParam } from "../query.ts";
import type { PublicDeps, PublicListener } from "./base.ts";
import {
  DeliveryId,
  DeliveryQuery,
  DeliverySchema,
  exampleDelivery,
  exampleSentDelivery,
  readDeliveryQuery,
  SentDeliverySchema,
  shownDelivery,
  shownSentDelivery,
} from "./delivery-fields.ts";
import { answer, Message, operation } from "./reference.ts";

const closed = { additionalProperties: false };
const path = "/public/v1/events/deliveries";
const tag = "Deliveries";

/** Whose deliveries a caller may see: of its application, and with a user token only of events of that user. */
export function scopeOf({ grant }: Exchange) {
  if (!grant) throw new Error("This route is open to everyone");
  return { application_id: grant.applicationId, broadcaster_user_id: grant.userId };
}

export const unknownDelivery = () => new DomainError("not_found", "There is no delivery with this id");

/** What can be done with the delivery whose id is at this place of an answer. */
const linksTo = (id: string) => ({
  GetDelivery: {
    operationId: "getDelivery",
    description: "The delivery with what was sent.",
    parameters: { id },
  },
  RetryDelivery: {
    operationId: "retryDelivery",
    description: "Sends the delivery again.",
    parameters: { id },
  },
});

/** "Was it sent?": list, get and retry deliveries. */
export function deliveryRoutes(app: PublicListener, { store, now }: PublicDeps, cursors: Cursors): void {
  app.get(
    path,
    async ({ exchange, request }) => {
      const { filter, below, limit, cursorAfter } = readDeliveryQuery(
        request.url,
        scopeOf(exchange),
        cursors,
      );
      const page = await store.deliveries.page(filter, below, limit);
      const pagination = { cursor: cursorAfter(page), has_more: page.next !== null };
      const data = page.deliveries.map(shownDelivery);
      return replyJson(exchange, 200, { data, pagination, message: "OK" });
    },
    operation({
      id: "getDeliveries",
      tag,
      summary: "Get Deliveries",
      description:
        "What was sent to the webhook of the calling application, newest first, each delivery with its attempts; with a user token, what was sent of events of that user. One request looks only at a part of a long log: a page may have fewer deliveries than `limit`, even none, and still `has_more`.",
      access: "events:subscribe",
      query: DeliveryQuery,
      answers: {
        200: answer("A page of deliveries.", {
          schema: Type.Object(
            {
              data: Type.Array(DeliverySchema, { description: "The newest first." }),
              pagination: Pagination,
              message: Message,
            },
            { $id: "DeliveryPage", description: "A page of deliveries.", ...closed },
          ),
          example: {
            data: [exampleDelivery],
            pagination: { cursor: "", has_more: false },
            message: "OK",
          },
          links: {
            ...linksTo("$response.body#/data/0/id"),
            NextPage: {
              operationId: "getDeliveries",
              description: "The page behind this one.",
              parameters: { cursor: "$response.body#/pagination/cursor" },
            },
          },
        }),
      },
      errors: ["invalid_cursor"],
    }),
  );

  app.get(
    `${path}/:id`,
    async ({ exchange, params }) => {
      const id = readParam("id", params.id, DeliveryId.properties.id);
      const found = await store.deliveries.find(scopeOf(exchange), id);
      if (!found) throw unknownDelivery();
      return replyJson(exchange, 200, { data: shownSentDelivery(found), message: "OK" });
    },
    operation({
      id: "getDelivery",
      tag,
      summary: "Get Delivery",
      description:
        "One delivery with its attempts and the request as it was sent last, without its signature. The body is shown as long as it is kept.",
      access: "events:subscribe",
      params: DeliveryId,
      answers: {
        200: answer("The delivery.", {
          schema: Type.Object(
            { data: SentDeliverySchema, message: Message },
            { $id: "SentDeliveryAnswer", description: "One delivery.", ...closed },
          ),
          example: { data: exampleSentDelivery, message: "OK" },
          links: linksTo("$response.body#/data/id"),
        }),
      },
      errors: ["not_found"],
    }),
  );

  app.post(
    `${path}/:id/retry`,
    async ({ exchange, params }) => {
      const id = readParam("id", params.id, DeliveryId.properties.id);
      const retried = await store.deliveries.retry(scopeOf(exchange), id, now());
      return replyJson(exchange, 202, { data: shownDelivery(retried), message: "OK" });
    },
    operation({
      id: "retryDelivery",
      tag,
      summary: "Retry Delivery",
      description:
        "Sends a delivery again now, whatever became of it, with the same `webhook-id`; attempts go on counting, and it does not expire any more. One that is being sent is left to that attempt. If it fails, the schedule of retries goes on as if it had not been made. An endpoint that is held up after failures is tried at once.",
      access: "events:subscribe",
      params: DeliveryId,
      answers: {
        202: answer("It is about to be sent.", {
          schema: Type.Object(
            { data: DeliverySchema, message: Message },
            { $id: "DeliveryAnswer", description: "The delivery as it is now.", ...closed },
          ),
          links: linksTo("$response.body#/data/id"),
          example: {
            data: { ...exampleDelivery, status: "pending", finished_at: null },
            message: "OK",
          },
        }),
      },
      errors: ["not_found", "conflict"],
    }),
  );
}
