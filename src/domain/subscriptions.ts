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
interface NamedSubscription extends Subscription {
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

/** Subscriptions of applications to the events of a broadcaster. */
export interface SubscriptionStore {
  /**
   * Returns the wanted subscriptions, and creates those that are missing. Checks again that each event type is still
   * registered. Rejects with `invalid_token` when the token was revoked.
   */
  subscribe(request: SubscribeRequest, now: number): Promise<SubscribeResults>;
  /** All subscriptions of an application, oldest first. */
  ofApplication(applicationId: string): Promise<Subscription[]>;
  /** A consistent snapshot of an application's subscriptions, or of those with this broadcaster, as JSON. */
  list(applicationId: string, broadcasterId: number | null): Promise<SubscriptionList>;
  /** A subscription with its `sequence`, the number of deliveries made for it so far. */
  find(applicationId: string, id: string): Promise<(Subscription & { readonly sequence: number }) | null>;
  count(applicationId: string): Promise<number>;
  /** The number of subscriptions to events of each of these users; users without a subscription have no row. */
  counts(
    broadcasters: readonly number[],
  ): Promise<{ readonly broadcaster_user_id: number | null; readonly count: number }[]>;
  /** The next subscriptions by ascending id, starting after `after` ("" for the first page). */
  page(filter: SubscriptionFilter, after: string, limit: number): Promise<NamedSubscription[]>;
  /**
   * Removes subscriptions and cancels their deliveries that wait in the store. Ignores unknown ids, ids of other
   * applications and, with a user, ids with another broadcaster. Resolves to the removed ids.
   */
  remove(
    applicationId: string,
    ids: readonly string[],
    now: number,
    userId?: number | null,
  ): Promise<string[]>;
}

/** A request to create subscriptions. */
export interface SubscribeRequest {
  readonly applicationId: string;
  readonly wanted: readonly WantedEvent[];
  /** The most subscriptions that the application may have. */
  readonly limit: number;
  /** Hash of the access token of the request, which must still exist; absent for a request without a stored token. */
  readonly token?: Uint8Array | null;
}

export interface SubscribeResults {
  /** One for each wanted event, in order. */
  readonly results: readonly SubscribeResult[];
  /** How many subscriptions the application now has. */
  readonly used: number;
}

/** The id of a wanted subscription, or why there is none. */
export type SubscribeResult = { readonly id: string } | { readonly error: string };

/** Subscriptions of an application as JSON, because there may be very many. */
export interface SubscriptionList {
  /** Slices in order. Each contains `Subscription`s separated by commas. */
  readonly slices: readonly Uint8Array[];
  /** How many subscriptions the application has, with any broadcaster. */
  readonly used: number;
}

export interface RemovedSubscriptions {
  readonly application_id: string;
  readonly ids: readonly string[];
}
