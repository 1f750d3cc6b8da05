import { Type } from "@sinclair/typebox";
import { pageOf } from "../../answers.ts";
import type { Cursors } from "../../cursors.ts";
import { pagedList } from "../../paging.ts";
import type { PublicDeps, TokenListener } from "../base.ts";
import {
  exampleNamedSubscription,
  NamedSubscriptionSchema,
  subscriptionFilters,
} from "./named-subscription-fields.ts";

const NamedSubscriptionPage = pageOf(NamedSubscriptionSchema, {
  order: "The oldest first.",
  name: "NamedSubscriptionPage",
  description: "A page of subscriptions.",
  example: exampleNamedSubscription,
});

/** List Subscriptions: those of the application in pages, by the names of channels. */
export function namedSubscriptionRoutes(app: TokenListener, { store }: PublicDeps, cursors: Cursors): void {
  const list = pagedList("subscriptions", cursors);
  app.get(
    "/public/v1/application/subscriptions",
    ({
      query: { broadcaster_user_id = null, channel = null, event = null, ...query },
      caller: { application },
    }) => {
      const filter = { app_id: application.id, broadcaster_user_id, channel, event };
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
      application: "reads subscriptions",
      query: Type.Object({ ...subscriptionFilters, ...list.query.properties }),
      response: { 200: NamedSubscriptionPage },
      errors: ["invalid_cursor"],
      detail: {
        operationId: "listSubscriptions",
        tags: ["Application"],
        description:
          "The subscriptions of your application in pages, each with the names of broadcaster and channel. Get Event Subscriptions gives all of them at once, without names.",
      },
    },
  );
}
