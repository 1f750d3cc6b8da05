import { type Static, Type } from "@sinclair/typebox";
import { closed, Timestamp } from "../fields.ts";
import type { EventType } from "./event-type.ts";
import { exampleBroadcaster, exampleSecondViewer, exampleViewer } from "./example-people.ts";
import { Person, PossiblyAnonymousPerson } from "./person.ts";

const payload = closed({
  broadcaster: Person,
  gifter: PossiblyAnonymousPerson,
  giftees: Type.Array(Person, { minItems: 1, maxItems: 1000 }),
  created_at: Timestamp,
  expires_at: Timestamp,
});

export type ChannelSubscriptionGifts = Static<typeof payload>;

export const channelSubscriptionGifts: EventType<typeof payload> = {
  name: "channel.subscription.gifts",
  version: 1,
  description: "Somebody, who may stay anonymous, gave subscriptions to a channel to others.",
  payload,
  example: {
    broadcaster: exampleBroadcaster,
    gifter: exampleViewer,
    giftees: [exampleSecondViewer],
    created_at: "2026-01-14T16:08:06Z",
    expires_at: "2026-02-14T16:08:06Z",
  },
  timeToLiveMs: null,
};
