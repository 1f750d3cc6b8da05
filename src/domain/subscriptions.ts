/** The subscription of an application to one event type of one broadcaster. */
export interface Subscription {
  readonly id: string;
  readonly app_id: string;
  /** null for events without a channel. */
  readonly broadcaster_user_id: number | null;
  readonly event: string;
  readonly version: number;
  readonly method: "webhook";
  readonly created_at: string;
  readonly updated_at: string;
}

/** A subscription with the names of its channel, for people. */
export interface NamedSubscription extends Subscription {
  /** null for events without a channel. */
  readonly username: string | null;
  /** null when the broadcaster has no channel. */
  readonly channel_slug: string | null;
  readonly channel_name: string | null;
}

/** The filter of a list; null matches all. */
export interface SubscriptionFilter {
  readonly app_id: string | null;
  readonly broadcaster_user_id: number | null;
  /** The slug of a channel of the broadcaster. */
  readonly channel: string | null;
  readonly event: string | null;
}

/** An event to subscribe to. An application has at most one subscription to each. */
export interface WantedEvent {
  readonly broadcaster_user_id: number;
  readonly event: string;
  readonly version: number;
}

export const subscriptionLimits = { maxEvents: 50, maxIds: 50, defaultPerApplication: 10_000 } as const;

/** Reasons why an event cannot be subscribed to. */
export const whyNotSubscribed = {
  unknownEvent: "There is no event with this name; GET /public/v1/events/types lists them",
  unknownBroadcaster: (id: number) => `broadcaster_user_id ${id} is not a known user`,
  limitReached: (limit: number) =>
    `The limit of ${limit} subscriptions of this application is reached; delete some first`,
} as const;
