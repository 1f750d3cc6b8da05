import type {
  NamedSubscription,
  Subscription,
  SubscriptionFilter,
  SubscriptionKey,
} from "../domain/subscriptions.ts";

/** Which application gets which events of which broadcaster. */
export interface SubscriptionStore {
  /**
   * Gives what exists or creates it, one result per key; `limit` is the most that the application may have. `token`:
   * the hash of the access token that allows it; where that has ended, this rejects with `invalid_token`. Of a registered
   * event type that was removed, whatever the caller knew, nothing is created.
   */
  subscribe(
    keys: readonly SubscriptionKey[],
    limit: number,
    now: number,
    token?: Uint8Array | null,
  ): Promise<SubscribeResult[]>;
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
