/**
 * The endpoints that this process delivers to. With several replicas, each endpoint belongs to one of them at a time.
 * With a data directory, all belong to this process.
 */
export interface Ownership {
  /** Joins the other replicas. Resolves when `deliverer` has all endpoints that are free for this process. */
  join(deliverer: Deliverer): Promise<void>;
  /**
   * Hands all endpoints over, each as soon as it has no attempt in progress. Call it after new attempts have stopped.
   */
  leave(): Promise<void>;
  /** Whether the endpoint of an application belongs to this process. */
  holds(applicationId: string): boolean;
  /** Whether attempts may start. False when the lease is over and other replicas may have taken its endpoints. */
  hasLease(): boolean;
  /** Whether this process does the work that only one replica does, such as retention. */
  leads(): boolean;
  /** Notifies the owners of endpoints. A lost notification delays them by about a second, until they read the store. */
  notify(notification: EndpointNotification): void;
}

/** A notification to the process that owns an endpoint. Replicas of other versions know these kinds. */
export type EndpointNotification =
  /** New first attempts wait for these applications. */
  | { readonly kind: "published"; readonly applications: readonly string[] }
  /** A person has asked to send a delivery again, or for a replay. */
  | { readonly kind: "asked"; readonly application: string }
  /** The application or the generation of its endpoint has changed. */
  | { readonly kind: "changed"; readonly application: string }
  /** Subscriptions of the application were removed. */
  | { readonly kind: "unsubscribed"; readonly application: string; readonly ids: readonly string[] };

/** The delivery engine, as its `Ownership` calls it. */
export interface Deliverer {
  /** Reads the pending deliveries of endpoints that this process now owns. */
  gained(isGained: (applicationId: string) => boolean): Promise<void>;
  /** Forgets endpoints that this process no longer owns. The results of their attempts in progress are ignored. */
  lost(isLost: (applicationId: string) => boolean): void;
  /** Applications with attempts in progress or unrecorded results. */
  busy(): Iterable<string>;
  /** Called when attempts may start again; see `hasLease`. */
  resumed(): void;
  /** Called with notifications for owners. Some may be of endpoints that this process does not own. */
  received(notification: EndpointNotification): void;
  /** Called when notifications may have been lost, and memory may be outdated. */
  notificationsMissed(): void;
  /** Looks for pending deliveries in the store. */
  scan(): Promise<void>;
}

/** The ownership of a process that is alone. `begin` is called before the first delivery. */
export function soleOwnership(begin: () => Promise<void>): Ownership {
  return {
    async join(deliverer) {
      await begin();
      await deliverer.gained(() => true);
    },
    async leave() {},
    holds: () => true,
    hasLease: () => true,
    leads: () => true,
    notify() {},
  };
}
