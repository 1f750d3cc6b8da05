import { Type } from "@sinclair/typebox";
import { pageOf } from "../../answers.ts";
import { pagedList } from "../../paging.ts";
import {
  exampleNamedSubscription,
  NamedSubscriptionSchema,
  subscriptionFilters,
} from "../../public/application/named-subscription-fields.ts";
import { readers } from "../access.ts";
import { ApplicationIdParameter } from "../application-fields.ts";
import type { AdminDeps, AdminListener } from "../base.ts";

const NamedSubscriptionPage = pageOf(NamedSubscriptionSchema, {
  order: "The oldest first.",
  name: "NamedSubscriptionPage",
  description: "A page of subscriptions.",
  example: exampleNamedSubscription,
});

/** List Subscriptions: of an application, or who follows a channel. */
export function subscriptionRoutes(app: AdminListener, { store, cursors }: AdminDeps): void {
  const list = pagedList("subscriptions", cursors);
  app.get(
    "/admin/v1/subscriptions",
    ({
      query: {
        application_id: app_id = null,
        broadcaster_user_id = null,
        channel = null,
        event = null,
        ...query
      },
    }) => {
      const filter = { app_id, broadcaster_user_id, channel, event };
      const read = (after: string | null, limit: number) =>
        store.subscriptions.page(filter, after ?? "", limit);
      return list.page(query, {
        read,
        positionOf: ({ id }) => id,
        shown: (one) => one,
        filter: JSON.stringify(filter),
      });
    },
    {
      roles: readers,
      query: Type.Object({
        application_id: Type.Optional(ApplicationIdParameter),
        ...subscriptionFilters,
        ...list.query.properties,
      }),
      response: { 200: NamedSubscriptionPage },
      errors: ["invalid_cursor"],
      detail: {
        operationId: "getSubscriptions",
        tags: ["Deliveries"],
        summary: "List Subscriptions",
        description:
          "Subscriptions of all applications, each with the names of broadcaster and channel: those of one application, or who follows a channel, named by its slug or the id of its broadcaster.",
      },
    },
  );
}
