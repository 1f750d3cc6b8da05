import { type Static, Type } from "@sinclair/typebox";
import { exampleChannel, exampleUser } from "../../domain/examples.ts";
import type { Store } from "../../domain/store.ts";
import type { SubscriptionFilter } from "../../domain/subscriptions.ts";
import type { Grant } from "../../domain/tokens.ts";
import { nullable } from "../../domain/validation/fields.ts";
import { pageOf } from "../http/answers.ts";
import { type Cursors, pagedList } from "../http/cursors.ts";
import { IdParameter, named, TextParameter } from "../http/parameters.ts";
import type { PublicDeps, TokenListener } from "./listener.ts";
import { exampleSubscription, subscriptionFields } from "./subscriptions.ts";

/*
 * Subscriptions in pages, with the names of their broadcasters. The admin API uses the same schemas and list.
 */

const NamedSubscriptionSchema = named(
  "NamedSubscription",
  "A subscription with the names of its broadcaster and channel.",
  {
    ...subscriptionFields,
    username: nullable(Type.String(), { description: "Username of the broadcaster; null if there is none." }),
    channel_slug: nullable(Type.String(), {
      description: "Slug of the broadcaster's channel; null if there is none.",
    }),
    channel_name: nullable(Type.String(), {
      description: "Name of the broadcaster's channel; null if there is none.",
    }),
  },
);

const exampleNamedSubscription: Static<typeof NamedSubscriptionSchema> = {
  ...exampleSubscription,
  method: "webhook",
  username: exampleUser.username,
  channel_slug: exampleChannel.slug,
  channel_name: exampleChannel.name,
};

export const NamedSubscriptionPage = pageOf(NamedSubscriptionSchema, {
  order: "Subscriptions, the oldest first.",
  description: "A page of subscriptions.",
  example: exampleNamedSubscription,
});

/** The paged list of subscriptions: the parameters of its query, and a method that reads the requested page. */
export function namedSubscriptionList(store: Pick<Store, "subscriptions">, cursors: Cursors) {
  const list = pagedList("subscriptions", cursors);
  return {
    query: list.query.properties,
    page: (filter: SubscriptionFilter, query: Static<typeof list.query>, grant: Grant | null) =>
      list.page(query, {
        read: (after: string | null, limit) => store.subscriptions.page(filter, after ?? "", limit),
        positionOf: ({ id }) => id,
        shown: (one) => one,
        grant,
      }),
  };
}

/** The filters of a list of subscriptions. */
export const subscriptionFilters = {
  broadcaster_user_id: Type.Optional(IdParameter("broadcaster", exampleUser.id)),
  channel: Type.Optional(
    TextParameter({
      minLength: 1,
      maxLength: 200,
      description: "Returns only subscriptions of the broadcaster whose channel has this slug.",
      examples: [exampleChannel.slug],
    }),
  ),
  event: Type.Optional(
    TextParameter({
      minLength: 1,
      maxLength: 100,
      description: "Returns only subscriptions to this event type.",
      examples: ["channel.followed"],
    }),
  ),
};

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
