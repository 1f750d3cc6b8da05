import type {
  NamedSubscription,
  Subscription,
  SubscriptionFilter,
  WantedEvent,
} from "../domain/subscriptions.ts";

/** Which application gets which events of which broadcaster. */
export interface SubscriptionStore {
  /**
   * Gives what exists or creates it. Of a registered event type that was removed, whatever the caller knew, nothing is
   * created. Where the token has ended, this rejects with `invalid_token`.
   */
  subscribe(request: SubscribeRequest, now: number): Promise<SubscribeResults>;
  /** In the order in which they were made. */
  ofApplication(applicationId: string): Promise<Subscription[]>;
  /** The same, or of these the ones with this broadcaster, as they were at one moment, ready to be sent. */
  list(applicationId: string, broadcasterId: number | null): Promise<SubscriptionList>;
  /** With its `sequence`, the number of deliveries made for it so far. */
  find(applicationId: string, id: string): Promise<(Subscription & { readonly sequence: number }) | null>;
  count(applicationId: string): Promise<number>;
  /** By ascending id, those behind `after`; "" begins. */
  page(filter: SubscriptionFilter, after: string, limit: number): Promise<NamedSubscription[]>;
  /**
   * Unknown ids and those of other applications change nothing; with a user, neither do those with another
   * broadcaster. Deliveries that can be claimed are canceled. Gives the ids of those that were removed.
   */
  remove(
    applicationId: string,
    ids: readonly string[],
    now: number,
    userId?: number | null,
  ): Promise<string[]>;
}

/** What an application asks for. */
export interface SubscribeRequest {
  readonly applicationId: string;
  readonly wanted: readonly WantedEvent[];
  /** The most subscriptions that it may have. */
  readonly limit: number;
  /** The hash of the access token that allows it; none where no token is stored. */
  readonly token?: Uint8Array | null;
}

/** What came of it. */
export interface SubscribeResults {
  /** One for each that was wanted, in order. */
  readonly results: readonly SubscribeResult[];
  /** How many the application has now. */
  readonly used: number;
}

/** A subscription that was asked for: its id, or why there is none. */
export type SubscribeResult = { readonly id: string } | { readonly error: string };

/** The subscriptions of an application: as JSON, because an application may have very many. */
export interface SubscriptionList {
  /** In order: of each slice, `Subscription`s with commas between them. */
  readonly slices: readonly Uint8Array[];
  /** How many the application has, of all broadcasters. */
  readonly used: number;
}

/** Subscriptions of an application that were removed. */
export interface RemovedSubscriptions {
  readonly application_id: string;
  readonly ids: readonly string[];
}
