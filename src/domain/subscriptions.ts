/** A standing wish of an application for one event type of one broadcaster. */
export interface Subscription {
  readonly id: string;
  readonly app_id: string;
  /** null for events that belong to no channel. */
  readonly broadcaster_user_id: number | null;
  readonly event: string;
  readonly version: number;
  readonly method: "webhook";
  readonly created_at: string;
  readonly updated_at: string;
}

/** What a subscription is identified by: subscribing to the same again gives the one that exists. */
export interface SubscriptionKey {
  readonly app_id: string;
  readonly broadcaster_user_id: number | null;
  readonly event: string;
  readonly version: number;
}

export const subscriptionLimits = { maxEvents: 50, maxIds: 50, defaultPerApplication: 10_000 } as const;
