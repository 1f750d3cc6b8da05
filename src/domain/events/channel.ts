import { Type } from "@sinclair/typebox";
import { about, Count, closed, Key, Timestamp, text } from "../validation/fields.ts";
import { eventType } from "./event-type.ts";
import {
  exampleBroadcaster,
  exampleSecondViewer,
  exampleViewer,
  NamedPerson,
  Person,
  PossiblyAnonymousPerson,
  withoutIdentity,
} from "./people.ts";

export const channelFollowed = eventType({
  name: "channel.followed",
  version: 1,
  description: "A user started to follow a channel.",
  payload: closed({
    broadcaster: about(Person, "The owner of the channel."),
    follower: about(Person, "The user who follows the channel."),
  }),
  example: { broadcaster: exampleBroadcaster, follower: exampleViewer },
  timeToLiveMs: null,
});

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

export const channelRewardRedemptionUpdated = eventType({
  name: "channel.reward.redemption.updated",
  version: 1,
  description: "A channel reward was redeemed, or its redemption was accepted or rejected.",
  payload: closed({
    id: about(Key, "Id of the redemption."),
    user_input: text(2000, { description: 'Text entered by the redeemer; "" if the reward asks for none.' }),
    status: Type.Union([Type.Literal("pending"), Type.Literal("accepted"), Type.Literal("rejected")], {
      description: "State of the redemption.",
    }),
    redeemed_at: about(Timestamp, "When the reward was redeemed."),
    reward: closed(
      {
        id: about(Key, "Id of the reward."),
        title: text(200, { description: "Title of the reward." }),
        cost: about(Count, "Price of the reward in channel points."),
        description: text(2000, { description: "Description of the reward." }),
      },
      { description: "The redeemed reward." },
    ),
    redeemer: about(NamedPerson, "The user who redeemed the reward."),
    broadcaster: about(NamedPerson, "The owner of the channel."),
  }),
  example: {
    id: "01KEYN2Q9GZ4T7RFDX6M8V3BHC",
    user_input: "The one with the trumpet, please",
    status: "accepted",
    redeemed_at: "2026-01-14T16:08:06.412Z",
    reward: {
      id: "01KEYMZ5W1C8PNA2J4S0YQ7TKE",
      title: "Choose the next song",
      cost: 1500,
      description: "Name a song and it plays after this round.",
    },
    redeemer: withoutIdentity(exampleViewer),
    broadcaster: withoutIdentity(exampleBroadcaster),
  },
  timeToLiveMs: null,
});
