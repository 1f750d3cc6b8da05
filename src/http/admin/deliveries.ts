import { Type } from "@sinclair/typebox";
import type { DeliveryRecord } from "../../domain/delivery-log.ts";
import { invalidFields } from "../../domain/errors.ts";
import type { Store } from "../../store/store.ts";
import { type Cursors, Pagination } from "../cursors.ts";
import { replyJson } from "../exchange.ts";
import { unknownDelivery } from "../public/deliveries.ts";
import {
  DeliveryId,
  DeliveryQuery,
  exampleDelivery,
  exampleSentDelivery,
  OperatorDeliverySchema,
  OperatorSentDeliverySchema,
  readDeliveryQuery,
  shownDelivery,
  shownSentDelivery,
} from "../public/delivery-fields.ts";
import { answer, Message } from "../public/reference.ts";
import { readParam, readQuery } from "../query.ts";
import { exampleApplication } from "./application-fields.ts";
import type { AdminListener } from "./base.ts";
import { adminOperation, closed, linksTo } from "./reference.ts";

const path = "/admin/v1/deliveries";
const tag = "Deliveries";

const applicationFilter = {
  application_id: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 64,
      description:
        "Only of this application. Without it all are looked through, which takes many requests for what is rare.",
    }),
  ),
};
const ApplicationFilter = Type.Object(applicationFilter);
const OperatorQuery = Type.Object({ ...applicationFilter, ...DeliveryQuery.properties });

/** What an operator may see: everything. */
export const everything = { application_id: null, broadcaster_user_id: null };

const owned = <T extends { id: string }>(
  { application_id }: Pick<DeliveryRecord, "application_id">,
  shown: T,
) => {
  const { id, ...rest } = shown;
  return { id, app_id: application_id, ...rest };
};
const { id, ...example } = exampleDelivery;
const operatorExample = { id, app_id: exampleApplication.id, ...example };

export interface DeliveryRouteOptions {
  readonly store: Store;
  readonly cursors: Cursors;
  readonly now: () => number;
}

/** Deliveries of all applications: list, get and retry. */
export function deliveryRoutes(app: AdminListener, { store, cursors, now }: DeliveryRouteOptions): void {
  app.get(
    path,
    async ({ exchange, request }) => {
      const { application_id = null } = readQuery(request.url, ApplicationFilter);
      const scope = { ...everything, application_id };
      const { filter, below, limit, cursorAfter } = readDeliveryQuery(request.url, scope, cursors);
      const page = await store.deliveries.page(filter, below, limit);
      // What was sent to an application that is deleted now can still be told.
      const isEmpty = page.deliveries.length === 0 && page.next === null;
      if (isEmpty && application_id !== null && !(await store.applications.find(application_id))) {
        const message = "is not an application";
        throw invalidFields([{ in: "query", field: "application_id", message }]);
      }
      const pagination = { cursor: cursorAfter(page), has_more: page.next !== null };
      const data = page.deliveries.map((one) => owned(one, shownDelivery(one)));
      return replyJson(exchange, 200, { data, pagination, message: "OK" });
    },
    adminOperation({
      id: "getDeliveries",
      tag,
      summary: "List Deliveries",
      description:
        "What was sent to whom, newest first, each delivery with its attempts. One request looks only at a part of a long log: a page may have fewer deliveries than `limit`, even none, and still `has_more`.",
      query: OperatorQuery,
      answers: {
        200: answer("A page of deliveries.", {
          schema: Type.Object(
            {
              data: Type.Array(OperatorDeliverySchema, { description: "The newest first." }),
              pagination: Pagination,
              message: Message,
            },
            { $id: "DeliveryPage", description: "A page of deliveries.", ...closed },
          ),
          example: {
            data: [operatorExample],
            pagination: { cursor: "", has_more: false },
            message: "OK",
          },
          links: linksTo(
            {
              getDelivery: "The first of them with what was sent.",
              retryDelivery: "Sends the first of them again.",
            },
            "/data/0/id",
          ),
        }),
      },
      errors: ["invalid_cursor"],
    }),
  );

  app.get(
    `${path}/:id`,
    async ({ exchange, params }) => {
      const found = await store.deliveries.find(everything, readDeliveryId(params.id));
      if (!found) throw unknownDelivery();
      return replyJson(exchange, 200, owned(found, shownSentDelivery(found)));
    },
    adminOperation({
      id: "getDelivery",
      tag,
      summary: "Get Delivery",
      description:
        "One delivery with its attempts and the request as it was sent last, without its signature. The body is shown as long as it is kept.",
      params: DeliveryId,
      answers: {
        200: answer("The delivery.", {
          schema: OperatorSentDeliverySchema,
          example: { ...operatorExample, request: exampleSentDelivery.request },
        }),
      },
      errors: ["not_found"],
    }),
  );

  app.post(
    `${path}/:id/retry`,
    async ({ exchange, params }) => {
      const retried = await store.deliveries.retry(everything, readDeliveryId(params.id), now());
      return replyJson(exchange, 202, owned(retried, shownDelivery(retried)));
    },
    adminOperation({
      id: "retryDelivery",
      tag,
      summary: "Retry Delivery",
      description:
        "Sends a delivery again now, whatever became of it, with the same `webhook-id`; attempts go on counting.",
      params: DeliveryId,
      answers: {
        202: answer("It is about to be sent.", {
          schema: OperatorDeliverySchema,
          example: { ...operatorExample, status: "pending", finished_at: null },
        }),
      },
      errors: ["not_found", "conflict"],
    }),
  );
}

const readDeliveryId = (text: string) => readParam("id", text, DeliveryId.properties.id);
