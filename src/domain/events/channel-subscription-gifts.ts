import { Type } from "@sinclair/typebox";
import { about, closed, Timestamp } from "../validation/fields.ts";
import { eventType } from "./event-type.ts";
import { exampleBroadcaster, exampleSecondViewer, exampleViewer } from "./example-people.ts";
import { Person, PossiblyAnonymousPerson } from "./person.ts";

export const channelSubscriptionGifts = eventType({
  name: "channel.subscription.gifts",
  version: 1,
  description: "A user, who may stay anonymous, gave subscriptions to a channel to others.",
  payload: closed({
    broadcaster: about(Person, "The owner of the channel."),
    gifter: about(PossiblyAnonymousPerson, "The user who gave the subscriptions."),
    giftees: Type.Array(Person, {
      minItems: 1,
      maxItems: 1000,
      description: "The users who received a subscription.",
    }),
    created_at: about(Timestamp, "When the subscriptions were given."),
    expires_at: about(Timestamp, "When the subscriptions end."),
  }),
  example: {
    broadcaster: exampleBroadcaster,
    gifter: exampleViewer,
    giftees: [exampleSecondViewer],
    created_at: "2026-01-14T16:08:06Z",
    expires_at: "2026-02-14T16:08:06Z",
  },
  timeToLiveMs: null,
});
