import { type Static, Type } from "@sinclair/typebox";
import { exampleChannel, exampleUser } from "../../../domain/examples.ts";
import { nullable } from "../../../domain/validation/fields.ts";
import { named } from "../../fields.ts";
import { IdParameter, TextParameter } from "../../parameters.ts";
import { exampleSubscription, subscriptionFields } from "../subscriptions.ts";

/*
 * Schemas of subscriptions with whose channel they are of, for the public and the admin API.
 */

export const NamedSubscriptionSchema = named(
  "NamedSubscription",
  "A subscription with whose channel it is of, for people.",
  {
    ...subscriptionFields,
    username: nullable(Type.String(), { description: "Of the broadcaster; null where there is none." }),
    channel_slug: nullable(Type.String(), {
      description: "Of the broadcaster's channel; null: it has none.",
    }),
    channel_name: nullable(Type.String(), {
      description: "Of the broadcaster's channel; null: it has none.",
    }),
  },
);

export const exampleNamedSubscription: Static<typeof NamedSubscriptionSchema> = {
  ...exampleSubscription,
  method: "webhook",
  username: exampleUser.username,
  channel_slug: exampleChannel.slug,
  channel_name: exampleChannel.name,
};

/** Parameters that limit a list of subscriptions. */
export const subscriptionFilters = {
  broadcaster_user_id: Type.Optional(IdParameter("broadcaster", exampleUser.id)),
  channel: Type.Optional(
    TextParameter({
      minLength: 1,
      maxLength: 200,
      description: "Of the broadcaster whose channel has this slug.",
      examples: [exampleChannel.slug],
    }),
  ),
  event: Type.Optional(
    TextParameter({
      minLength: 1,
      maxLength: 100,
      description: "To this event.",
      examples: ["channel.followed"],
    }),
  ),
};
