import type { Static } from "@sinclair/typebox";
import type { EventType } from "./event-type.ts";
import { exampleBroadcaster, exampleViewer } from "./example-people.ts";
import { SubscriptionPeriod } from "./subscription-period.ts";

export type ChannelSubscriptionNew = Static<typeof SubscriptionPeriod>;

export const channelSubscriptionNew: EventType<typeof SubscriptionPeriod> = {
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
};
