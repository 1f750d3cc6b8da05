import { Type } from "@sinclair/typebox";
import type { PublicDeps, TokenListener } from "../base.ts";
import {
  NamedSubscriptionPage,
  namedSubscriptionList,
  subscriptionFilters,
} from "./named-subscription-fields.ts";

/** List Subscriptions: the application's subscriptions in pages, with names. */
export function namedSubscriptionRoutes(app: TokenListener, { store, cursors }: PublicDeps): void {
  const list = namedSubscriptionList(store, cursors);
  app.get(
    "/public/v1/application/subscriptions",
    ({ query, caller: { application, grant } }) => {
      const { broadcaster_user_id = null, channel = null, event = null } = query;
      const filter = { app_id: application.id, broadcaster_user_id, channel, event };
      return list.page(filter, query, grant);
    },
    {
      application: "reads subscriptions",
      query: Type.Object({ ...subscriptionFilters, ...list.query }),
      response: { 200: NamedSubscriptionPage },
      errors: ["invalid_cursor"],
      detail: {
        operationId: "listSubscriptions",
        tags: ["Application"],
        description:
          "Returns the subscriptions of the calling application in pages, with the names of broadcaster and channel. Get Event Subscriptions returns all of them at once, without names.",
      },
    },
  );
}
