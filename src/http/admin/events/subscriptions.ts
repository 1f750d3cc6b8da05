import { Type } from "@sinclair/typebox";
import {
  NamedSubscriptionPage,
  namedSubscriptionList,
  subscriptionFilters,
} from "../../public/application/subscriptions.ts";
import { readers } from "../access.ts";
import { ApplicationIdParameter, pageOfApplication } from "../application-fields.ts";
import type { AdminDeps, AdminListener } from "../base.ts";

/** List Subscriptions, of an application or to events of a channel. */
export function subscriptionRoutes(app: AdminListener, { store, cursors }: AdminDeps): void {
  const list = namedSubscriptionList(store, cursors);
  app.get(
    "/admin/v1/subscriptions",
    async ({ query }) => {
      const {
        application_id: app_id = null,
        broadcaster_user_id = null,
        channel = null,
        event = null,
      } = query;
      const filter = { app_id, broadcaster_user_id, channel, event };
      return pageOfApplication(store, app_id, await list.page(filter, query, null));
    },
    {
      roles: readers,
      query: Type.Object({
        application_id: Type.Optional(ApplicationIdParameter),
        ...subscriptionFilters,
        ...list.query,
      }),
      response: { 200: NamedSubscriptionPage },
      errors: ["invalid_cursor"],
      detail: {
        operationId: "getSubscriptions",
        tags: ["Deliveries"],
        summary: "List Subscriptions",
        description:
          "Returns the subscriptions of all applications with the names of broadcaster and channel. They can be filtered by application and by channel, named by its slug or the id of its broadcaster.",
      },
    },
  );
}
