import type { Static } from "@sinclair/typebox";
import type { EventType } from "./event-type.ts";
import { exampleBroadcaster, exampleViewer } from "./example-people.ts";
import { SubscriptionPeriod } from "./subscription-period.ts";

export type ChannelSubscriptionRenewal = Static<typeof SubscriptionPeriod>;

export const channelSubscriptionRenewal: EventType<typeof SubscriptionPeriod> = {
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
};
