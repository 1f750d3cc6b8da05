import { Type } from "@sinclair/typebox";
import { about, closed, Timestamp } from "../validation/fields.ts";
import { eventType } from "./event-type.ts";
import { exampleBroadcaster, exampleViewer } from "./example-people.ts";
import { Person } from "./person.ts";

/** The payload of a new or renewed subscription. */
const SubscriptionPeriod = closed({
  broadcaster: about(Person, "The owner of the channel."),
  subscriber: about(Person, "The user who subscribed."),
  duration: Type.Integer({
    minimum: 1,
    maximum: 1200,
    description: "Number of months for which the user has subscribed.",
  }),
  created_at: about(Timestamp, "When this period began."),
  expires_at: about(Timestamp, "When this period ends."),
});

export const channelSubscriptionNew = eventType({
  name: "channel.subscription.new",
  version: 1,
  description: "A user subscribed to a channel for the first time.",
  payload: SubscriptionPeriod,
  example: {
    broadcaster: exampleBroadcaster,
    subscriber: exampleViewer,
    duration: 1,
    created_at: "2026-01-14T16:08:06Z",
    expires_at: "2026-02-14T16:08:06Z",
  },
  timeToLiveMs: null,
});

export const channelSubscriptionRenewal = eventType({
  name: "channel.subscription.renewal",
  version: 1,
  description: "A user's subscription to a channel was renewed.",
  payload: SubscriptionPeriod,
  example: {
    broadcaster: exampleBroadcaster,
    subscriber: exampleViewer,
    duration: 7,
    created_at: "2026-01-14T16:08:06Z",
    expires_at: "2026-02-14T16:08:06Z",
  },
  timeToLiveMs: null,
});
