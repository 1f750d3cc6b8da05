import { type Static, Type } from "@sinclair/typebox";
import type { Application } from "../../domain/applications.ts";
import { mostPendingOfSubscription } from "../../domain/deliveries.ts";
import { endpointStatuses, newEndpoint } from "../../domain/endpoints.ts";
import { DomainError } from "../../domain/errors.ts";
import type { Catalogue } from "../../domain/events/catalogue.ts";
import { versionRange } from "../../domain/events/event-type.ts";
import { exampleChannel, exampleUser } from "../../domain/examples.ts";
import type { Store } from "../../domain/store.ts";
import { type SubscriptionFilter, subscriptionLimits, whyNotSubscribed } from "../../domain/subscriptions.ts";
import { isoTimeOrNull } from "../../domain/time.ts";
import type { Grant } from "../../domain/tokens.ts";
import { about, Id, nullable, oneOf } from "../../domain/validation/fields.ts";
import { dataOf, listOf, noContent, pageOf } from "../http/answers.ts";
import { reply } from "../http/context.ts";
import { type Cursors, pagedList } from "../http/cursors.ts";
import { notFound } from "../http/errors.ts";
import { subscriptionBudget } from "../http/openapi.ts";
import {
  IdParameter,
  IsoTimestamp,
  ListParameter,
  named,
  optionalFields,
  otherFieldsIgnored,
  TextParameter,
  Ulid,
} from "../http/parameters.ts";
import { scopeOf } from "./deliveries.ts";
import { DisabledReason, healthOf, LastFailure, shownFailure } from "./endpoint.ts";
import type { PublicDeps, TokenListener } from "./listener.ts";

const path = "/public/v1/events/subscriptions";

const subscriptionFields = {
  id: about(Ulid, "Id of the subscription."),
  app_id: about(Ulid, "Id of the application."),
  broadcaster_user_id: nullable(Id, {
    description: "User id of the broadcaster; null for events that belong to no channel.",
  }),
  event: Type.String({ description: "Name of the event type.", examples: ["channel.followed"] }),
  version: Type.Integer({ description: "Version of the event type." }),
  method: Type.Literal("webhook", { description: "Delivery method. The only value is `webhook`." }),
  created_at: about(IsoTimestamp, "Time at which the subscription was created."),
  updated_at: about(IsoTimestamp, "Time of its last change."),
};
const SubscriptionSchema = named(
  "Subscription",
  "An application's subscription to one event type of a broadcaster.",
  subscriptionFields,
);

const itemFields = {
  name: Type.String({ description: "Name of the requested event type." }),
  version: Type.Integer({ description: "Version of the requested event type." }),
};
const SubscribedItemSchema = Type.Union(
  [
    named("SubscribedEvent", "The result for an event with a subscription.", {
      ...itemFields,
      subscription_id: about(Ulid, "Id of the subscription."),
    }),
    named("RefusedEvent", "The result for an event without a subscription.", {
      ...itemFields,
      error: Type.String({ description: "Reason why there is no subscription." }),
    }),
  ],
  { $id: "SubscriptionResult", description: "The result for one requested event." },
);

const WantedEvent = Type.Object(
  {
    name: Type.String({
      minLength: 1,
      maxLength: 100,
      description: "Name of the event type.",
      examples: ["channel.followed"],
    }),
    version: Type.Integer({
      ...versionRange,
      description: "Version of the event type.",
      examples: [1],
    }),
  },
  { $id: "WantedEvent", description: "An event to subscribe to.", ...otherFieldsIgnored },
);

const CreateBody = Type.Object(
  {
    events: Type.Array(WantedEvent, {
      minItems: 1,
      maxItems: subscriptionLimits.maxEvents,
      description: "The events to subscribe to.",
    }),
    method: Type.Optional(
      Type.Literal("webhook", {
        default: "webhook",
        description: "Delivery method; `webhook` is the only one.",
      }),
    ),
    broadcaster_user_id: Type.Optional(
      nullable(Id, {
        description:
          "User id of the broadcaster. Required for channel events, except with a user token, which always stands for its user.",
      }),
    ),
  },
  {
    $id: "SubscriptionInput",
    description: "The events to subscribe to, and their broadcaster.",
    ...otherFieldsIgnored,
    examples: [
      {
        events: [{ name: "channel.followed", version: 1 }],
        method: "webhook",
        broadcaster_user_id: exampleUser.id,
      },
    ],
  },
);

const DeleteQuery = Type.Object({
  id: ListParameter({
    items: TextParameter({ maxLength: 64 }),
    minItems: 1,
    maxItems: subscriptionLimits.maxIds,
    description: "Ids of the subscriptions: a repeated parameter, or values separated by commas.",
    examples: [["01KATJ1V2GQ5Z8N1F4T7Y0XW3C"]],
  }),
});

const exampleSubscription = {
  id: "01KATJ1V2GQ5Z8N1F4T7Y0XW3C",
  app_id: "01KATHZX5M9S3E6R8B2D4F7G1H",
  broadcaster_user_id: exampleUser.id,
  event: "channel.followed",
  version: 1,
  method: "webhook",
  created_at: "2026-01-14T16:08:06.123Z",
  updated_at: "2026-01-14T16:08:06.123Z",
};

/** OpenAPI links to operations on a subscription. @param id the runtime expression of its id */
const subscriptionLinks = (id: string) => ({
  GetSubscription: {
    operationId: "getSubscription",
    description: "Gets the first subscription with its health.",
    parameters: { id },
  },
  GetDeliveries: {
    operationId: "getDeliveries",
    description: "Gets the deliveries of the first subscription.",
    parameters: { subscription_id: id },
  },
  DeleteSubscription: {
    operationId: "deleteSubscriptions",
    description: "Deletes the first subscription.",
    parameters: { id },
  },
});

const Subscriptions = listOf(SubscriptionSchema, {
  order: "All subscriptions.",
  links: subscriptionLinks("$response.body#/data/0/id"),
  description: "The subscriptions.",
  example: exampleSubscription,
  headers: subscriptionBudget,
});

const Subscribed = listOf(SubscribedItemSchema, {
  order: "One result for each requested event, in the order of the request.",
  name: "SubscriptionAnswer",
  links: subscriptionLinks("$response.body#/data/0/subscription_id"),
  description: "At least one of the events has a subscription.",
  example: { name: "channel.followed", version: 1, subscription_id: exampleSubscription.id },
  headers: subscriptionBudget,
});

const [listStart, comma, listEnd] = ['{"data":[', ",", '],"message":"OK"}'].map((text) =>
  Buffer.from(text),
) as [Buffer, Buffer, Buffer];

type Item = Static<typeof SubscribedItemSchema>;

/** Event subscriptions: list, create and delete. */
export function subscriptionRoutes(
  app: TokenListener,
  { store, now, catalogue, defaultSubscriptionLimit }: PublicDeps,
): void {
  const limitOf = ({ subscription_limit }: Application) => subscription_limit ?? defaultSubscriptionLimit();
  const budget = (application: Application, used: number) => ({
    "onair-subscriptions-used": String(used),
    "onair-subscriptions-limit": String(limitOf(application)),
  });

  app.get(
    path,
    async ({ caller: { application, grant }, requestContext }) => {
      const { slices, used } = await store.subscriptions.list(application.id, grant.userId);
      const parts = slices.flatMap((slice, i) => (i === 0 ? [slice] : [comma, slice]));
      const body = Buffer.concat([listStart, ...parts, listEnd]);
      return reply(requestContext, 200, body, budget(application, used));
    },
    {
      scope: "events:subscribe",
      response: { 200: Subscriptions },
      detail: {
        operationId: "getSubscriptions",
        tags: ["Event subscriptions"],
        summary: "Get Event Subscriptions",
        description:
          "Returns all subscriptions of the calling application. With a user token, it returns only those whose broadcaster is that user.",
      },
    },
  );

  app.post(
    path,
    async ({ body, caller: { application, grant, tokenHash }, set }) => {
      const broadcaster = grant.userId ?? body.broadcaster_user_id ?? null;
      const requested = body.events.map(({ name, version }) => ({ name, version }));
      const refusals = requested.map(({ name, version }) =>
        refusal(name, version, broadcaster, application, catalogue),
      );
      const wanted = requested.flatMap(({ name, version }, i) =>
        broadcaster === null || refusals[i] !== null
          ? []
          : [{ broadcaster_user_id: broadcaster, event: name, version }],
      );
      const limit = limitOf(application);
      const request = { applicationId: application.id, wanted, limit, token: tokenHash };
      const subscribed = await store.subscriptions.subscribe(request, now());
      const results = subscribed.results.values();
      const data = requested.map((item, i): Item => {
        const error = refusals[i];
        if (error) return { ...item, error };
        const result = results.next().value;
        if (!result) throw new Error("The store gave fewer results than keys");
        return "id" in result ? { ...item, subscription_id: result.id } : { ...item, error: result.error };
      });
      Object.assign(set.headers, budget(application, subscribed.used));
      if (!data.some((item) => "subscription_id" in item)) throw allFailed(data);
      return { data, message: "OK" };
    },
    {
      scope: "events:subscribe",
      body: CreateBody,
      response: { 200: Subscribed },
      errors: ["subscription_failed"],
      detail: {
        operationId: "createSubscriptions",
        tags: ["Event subscriptions"],
        summary: "Create Event Subscription",
        description:
          "Subscribes the calling application to events of a broadcaster. The response has one result for each requested event, in the order of the request. Subscribing again returns the existing subscription. If there is no subscription for any of the events, the status is 400, and the error has the same `data`.",
      },
    },
  );

  app.delete(
    path,
    async ({ query: { id }, caller: { application, grant }, status }) => {
      await store.subscriptions.remove(application.id, id, now(), grant.userId);
      return status(204, undefined);
    },
    {
      scope: "events:subscribe",
      query: DeleteQuery,
      response: { 204: noContent("The subscriptions no longer exist.") },
      detail: {
        operationId: "deleteSubscriptions",
        tags: ["Event subscriptions"],
        summary: "Delete Event Subscription",
        description:
          "Deletes subscriptions and cancels their pending deliveries. Ids that do not exist are ignored, as are ids of another application and, with a user token, of another broadcaster.",
      },
    },
  );
}

/** Returns the reason why an application cannot subscribe to an event, or null. Checks nothing that needs the store. */
function refusal(
  name: string,
  version: number,
  broadcaster: number | null,
  application: Application,
  catalogue: Catalogue,
): string | null {
  if (!catalogue.find(name, version)) {
    return catalogue.has(name) ? `Event ${name} has no version ${version}` : whyNotSubscribed.unknownEvent;
  }
  if (broadcaster === null) return `Event ${name} belongs to a channel: broadcaster_user_id is required`;
  if (application.webhook_url === null && application.delivery === "webhook")
    return "This application has no webhook URL; set one with PATCH /public/v1/application";
  return null;
}

function allFailed(data: readonly Item[]): DomainError {
  const problems = data.map((item) => ("error" in item ? item.error : ""));
  const errors = problems.map((message, i) => ({ in: "body" as const, field: `events[${i}]`, message }));
  return new DomainError("subscription_failed", problems[0] ?? "Nothing was subscribed to", {
    errors,
    data,
  });
}

const SubscriptionId = Type.Object({
  id: TextParameter({
    maxLength: 64,
    description: "Id of the subscription.",
    examples: [exampleSubscription.id],
  }),
});

const HealthSchema = named("SubscriptionHealth", "A subscription with its health.", {
  ...subscriptionFields,
  status: oneOf(endpointStatuses, {
    description:
      "Status of the endpoint. `failing`: no attempt has succeeded since a failure. `disabled`: nothing is sent.",
  }),
  disabled_reason: nullable(DisabledReason, {
    description: "Why the endpoint is disabled; null if it is not.",
  }),
  pending: Type.Integer({
    description: `Number of pending deliveries; ${mostPendingOfSubscription} means ${mostPendingOfSubscription} or more.`,
  }),
  oldest_pending_at: nullable(IsoTimestamp, {
    description: "Time at which the oldest of them was published; null if none is pending.",
  }),
  last_success_at: nullable(IsoTimestamp, {
    description: "Last success of the endpoint, for any subscription, accurate to 5 seconds; null if none.",
  }),
  last_failure: nullable(LastFailure, {
    description: "Last failed attempt of the endpoint, for any subscription; null if none has failed.",
  }),
  sequence: Type.Integer({
    description: "Last `Onair-Sequence`: the number of deliveries of the subscription so far.",
  }),
});

const Subscription = dataOf(HealthSchema, {
  description: "The subscription.",
  example: {
    ...exampleSubscription,
    status: "failing",
    disabled_reason: null,
    pending: 3,
    oldest_pending_at: "2026-01-14T16:08:06.123Z",
    last_success_at: "2026-01-14T16:01:12.000Z",
    last_failure: { at: "2026-01-14T16:08:11.402Z", status: 503, error: "The answer was 503." },
    sequence: 42,
  },
});

/** Get Event Subscription. */
export function subscriptionHealthRoute(app: TokenListener, { store }: PublicDeps): void {
  app.get(
    "/public/v1/events/subscriptions/:id",
    async ({ params: { id }, caller }) => {
      const { application } = caller;
      const { application_id, broadcaster_user_id } = scopeOf(caller);
      const found = await store.subscriptions.find(application_id, id);
      const isVisible = broadcaster_user_id === null || found?.broadcaster_user_id === broadcaster_user_id;
      if (!found || !isVisible) throw notFound("subscription");
      const endpoint = (await store.endpoints.find(application_id)) ?? newEndpoint(application_id);
      const { pending, oldest_pending_at } = await store.deliveries.backlog(application_id, id);
      const { sequence, ...record } = found;
      const data = {
        ...record,
        ...healthOf(endpoint, application),
        pending,
        oldest_pending_at: isoTimeOrNull(oldest_pending_at),
        last_success_at: isoTimeOrNull(endpoint.last_success_at),
        last_failure: shownFailure(endpoint),
        sequence,
      };
      return { data, message: "OK" };
    },
    {
      scope: "events:subscribe",
      params: SubscriptionId,
      response: { 200: Subscription },
      errors: ["not_found"],
      detail: {
        operationId: "getSubscription",
        tags: ["Event subscriptions"],
        summary: "Get Event Subscription",
        description:
          "Returns one subscription with the state of its endpoint, its pending deliveries, and the last success and failure.",
      },
    },
  );
}

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
        toJson: (subscription) => subscription,
        grant,
      }),
  };
}

/** The filters of a list of subscriptions. */
export const subscriptionFilters = optionalFields({
  broadcaster_user_id: IdParameter("broadcaster", exampleUser.id),
  channel: TextParameter({
    minLength: 1,
    maxLength: 200,
    description: "Returns only subscriptions of the broadcaster whose channel has this slug.",
    examples: [exampleChannel.slug],
  }),
  event: TextParameter({
    minLength: 1,
    maxLength: 100,
    description: "Returns only subscriptions to this event type.",
    examples: ["channel.followed"],
  }),
});

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
      detail: {
        operationId: "listSubscriptions",
        tags: ["Application"],
        description:
          "Returns the subscriptions of the calling application in pages, with the names of broadcaster and channel. Get Event Subscriptions returns all of them at once, without names.",
      },
    },
  );
}
