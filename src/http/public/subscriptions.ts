import { type Static, Type } from "@sinclair/typebox";
import type { Application } from "../../domain/applications.ts";
import { DomainError } from "../../domain/errors.ts";
import type { Catalogue } from "../../domain/events/catalogue.ts";
import { exampleUser } from "../../domain/examples.ts";
import { subscriptionLimits, whyNotSubscribed } from "../../domain/subscriptions.ts";
import { about, Id, nullable } from "../../domain/validation/fields.ts";
import { listOf, noContent } from "../answers.ts";
import { IsoTimestamp, named, Ulid } from "../fields.ts";
import { subscriptionBudget } from "../openapi/headers.ts";
import { ListParameter, TextParameter } from "../parameters.ts";
import { reply } from "../request-context.ts";
import type { PublicDeps, TokenListener } from "./base.ts";

const path = "/public/v1/events/subscriptions";

export const subscriptionFields = {
  id: about(Ulid, "Id of the subscription, by which it can be deleted."),
  app_id: about(Ulid, "The application that it belongs to."),
  broadcaster_user_id: nullable(Id, {
    description: "Whose channel the events are of; null where they belong to none.",
  }),
  event: Type.String({ description: "Name of the event.", examples: ["channel.followed"] }),
  version: Type.Integer({ description: "Version of the event." }),
  method: Type.Literal("webhook", { description: "Delivery method." }),
  created_at: about(IsoTimestamp, "When it was made."),
  updated_at: about(IsoTimestamp, "When it was last changed."),
};
const SubscriptionSchema = named(
  "Subscription",
  "An event type of a broadcaster that an application gets.",
  subscriptionFields,
);

const itemFields = {
  name: Type.String({ description: "Name of the event that was asked for." }),
  version: Type.Integer({ description: "Version of the event that was asked for." }),
};
const SubscribedItemSchema = Type.Union(
  [
    named("SubscribedEvent", "An event that is subscribed to.", {
      ...itemFields,
      subscription_id: about(Ulid, "Id of the subscription."),
    }),
    named("RefusedEvent", "An event that could not be subscribed to.", {
      ...itemFields,
      error: Type.String({ description: "Why there is no subscription." }),
    }),
  ],
  { $id: "SubscriptionResult", description: "What became of one requested event." },
);

const WantedEvent = Type.Object(
  {
    name: Type.String({
      minLength: 1,
      maxLength: 100,
      description: "Name of the event.",
      examples: ["channel.followed"],
    }),
    version: Type.Integer({
      minimum: 1,
      maximum: 1_000_000,
      description: "Version of the event.",
      examples: [1],
    }),
  },
  { $id: "WantedEvent", description: "An event to subscribe to.", additionalProperties: true },
);

const CreateBody = Type.Object(
  {
    events: Type.Array(WantedEvent, {
      minItems: 1,
      maxItems: subscriptionLimits.maxEvents,
      description: "The events to subscribe to.",
    }),
    method: Type.Optional(Type.Literal("webhook", { default: "webhook", description: "Delivery method." })),
    broadcaster_user_id: Type.Optional(
      nullable(Id, {
        description:
          "User id of the broadcaster: required for channel events; with a user token it is that user.",
      }),
    ),
  },
  {
    $id: "SubscriptionInput",
    description: "What to subscribe to.",
    additionalProperties: true,
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
    description: "Ids of subscriptions: repeated, or separated by commas.",
    examples: [["01KATJ1V2GQ5Z8N1F4T7Y0XW3C"]],
  }),
});

export const exampleSubscription = {
  id: "01KATJ1V2GQ5Z8N1F4T7Y0XW3C",
  app_id: "01KATHZX5M9S3E6R8B2D4F7G1H",
  broadcaster_user_id: exampleUser.id,
  event: "channel.followed",
  version: 1,
  method: "webhook",
  created_at: "2026-01-14T16:08:06.123Z",
  updated_at: "2026-01-14T16:08:06.123Z",
};

/** OpenAPI links to operations on the subscription with the id at this place of an answer. */
const subscriptionLinks = (id: string) => ({
  GetSubscription: {
    operationId: "getSubscription",
    description: "The first of them with its health.",
    parameters: { id },
  },
  GetDeliveries: {
    operationId: "getDeliveries",
    description: "What was sent for the first of them.",
    parameters: { subscription_id: id },
  },
  DeleteSubscription: {
    operationId: "deleteSubscriptions",
    description: "Deletes the first of them.",
    parameters: { id },
  },
});

const Subscriptions = listOf(SubscriptionSchema, {
  order: "All of them.",
  links: subscriptionLinks("$response.body#/data/0/id"),
  description: "The subscriptions.",
  example: exampleSubscription,
  headers: subscriptionBudget,
});

const Subscribed = listOf(SubscribedItemSchema, {
  order: "One for each event, in order.",
  name: "SubscriptionAnswer",
  links: subscriptionLinks("$response.body#/data/0/subscription_id"),
  description: "At least one of the events is subscribed to.",
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
  { store, now, catalogue }: PublicDeps,
  defaultLimit: () => number,
): void {
  const limitOf = (application: Application) => application.subscription_limit ?? defaultLimit();
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
          "Every subscription of the calling application; with a user token, those whose broadcaster is that user.",
      },
    },
  );

  app.post(
    path,
    async ({ body, caller: { application, grant, tokenHash }, set }) => {
      const broadcaster = grant.userId ?? body.broadcaster_user_id ?? null;
      const asked = body.events.map(({ name, version }) => ({ name, version }));
      const refusals = asked.map(({ name, version }) =>
        refusal(name, version, broadcaster, application, catalogue),
      );
      const wanted = asked.flatMap(({ name, version }, i) =>
        broadcaster === null || refusals[i] !== null
          ? []
          : [{ broadcaster_user_id: broadcaster, event: name, version }],
      );
      const limit = limitOf(application);
      const request = { applicationId: application.id, wanted, limit, token: tokenHash };
      const subscribed = await store.subscriptions.subscribe(request, now());
      const results = subscribed.results.values();
      const data = asked.map((item, i): Item => {
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
          "Subscribes the calling application to events of a broadcaster. There is one result for each requested event, in order; subscribing again to the same gives the subscription that exists. When no event could be subscribed to, the status is 400 and the error carries the same `data`.",
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
      response: { 204: noContent("The subscriptions do not exist (any more).") },
      detail: {
        operationId: "deleteSubscriptions",
        tags: ["Event subscriptions"],
        summary: "Delete Event Subscription",
        description:
          "Deletes subscriptions and drops their pending deliveries. An id that does not exist, or belongs to another application or, with a user token, to another broadcaster, changes nothing and is not an error.",
      },
    },
  );
}

/** The reason why an application cannot subscribe to an event, as far as it is known without the store. */
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
    return "This application has no webhook URL; set one by PATCH /public/v1/application";
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
