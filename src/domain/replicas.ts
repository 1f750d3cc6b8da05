/** A notification from other replicas. Cached data that it concerns must be read again. */
export type ReplicaNotification =
  /** An application or a token has changed, and so what its callers may do. */
  | { readonly kind: "callers" }
  | { readonly kind: "categories" | "livestreams"; readonly ids: readonly number[] }
  /** Channels have changed, or users whose pictures they show. */
  | { readonly kind: "channels" }
  | { readonly kind: "event_types" }
  | { readonly kind: "operator_keys" }
  /** These applications have new deliveries on their event stream. */
  | { readonly kind: "streamed"; readonly applications: readonly string[] }
  /** Requests that other replicas have counted against rate limits. */
  | { readonly kind: "taken"; readonly shares: readonly Share[] }
  /** Another replica has open streams of changes, and needs `changed` for a while. */
  | { readonly kind: "watching" }
  /** Data of these topics has changed. Changes of deliveries concern these applications, or (null) any. */
  | {
      readonly kind: "changed";
      readonly topics: readonly string[];
      readonly applications: readonly string[] | null;
    }
  /** All notifications until `at`, in milliseconds since the epoch, were received. */
  | { readonly kind: "current"; readonly at: number }
  /** The connection is lost: no notification is received until the next `current`. */
  | { readonly kind: "away" }
  /** Notifications may have been lost: anything may have changed. */
  | { readonly kind: "missed" };

/** Requests counted against the rate limit of a key. */
export type Share = readonly [key: string, limit: number, count: number];

/** Notifications that replicas send themselves. Triggers of the database send those about changed rows. */
export type Broadcast = Extract<ReplicaNotification, { kind: "streamed" | "taken" | "watching" | "changed" }>;

/** The connection to the other replicas. A process that is alone receives nothing. */
export interface ReplicaLink {
  /** Calls `listener` with each notification from now on. The first is `missed`, once the connection receives. */
  onNotification(listener: (notification: ReplicaNotification) => void): void;
  /** Sends a notification to all other replicas soon. It is sent again when that fails, except for shares. */
  broadcast(notification: Broadcast): void;
}

export const noReplicas: ReplicaLink = { onNotification() {}, broadcast() {} };

export interface Shares {
  readonly replicas: number;
  readonly shards: number;
}

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
  /** The numbers of live replicas, and of the shards of endpoints of this process; null without replicas. */
  shares(): Shares | null;
  /** Notifies the owners of endpoints. A lost notification delays them by about a second, until they read the store. */
  notify(notification: EndpointNotification): void;
}

/** A notification to the process that owns an endpoint. */
export type EndpointNotification =
  /** New first attempts wait for these applications. */
  | { readonly kind: "published"; readonly applications: readonly string[] }
  /** A person has asked to send a delivery again, or for a replay. */
  | { readonly kind: "requested"; readonly application: string }
  /** The application or the generation of its endpoint has changed. */
  | { readonly kind: "changed"; readonly application: string }
  /** Subscriptions of the application were removed. */
  | { readonly kind: "unsubscribed"; readonly application: string; readonly ids: readonly string[] };

/** The delivery engine, as its `Ownership` calls it. */
export interface Deliverer {
  /**
   * Reads the pending deliveries of endpoints that this process now owns. Until this has succeeded with a function, no
   * event is taken into memory: after a failure, call it again with the same one.
   */
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
  const isGained = () => true;
  return {
    async join(deliverer) {
      await begin();
      await deliverer.gained(isGained);
    },
    async leave() {},
    holds: () => true,
    hasLease: () => true,
    leads: () => true,
    shares: () => null,
    notify() {},
  };
}

/**
 * Snapshots of the order of categories, so that a cursor can continue at another replica. A data directory stores none.
 */
export interface OrderStore {
  /** Stores the snapshot taken at `takenAt`, or extends the life of a known snapshot. */
  keep(takenAt: number, content: Uint8Array, now: number): Promise<void>;
  find(takenAt: number): Promise<Uint8Array | null>;
  /** Removes snapshots last kept before a time. Resolves to true when none of them is left. */
  prune(before: number): Promise<boolean>;
}

/** Stores nothing: a process that is alone has its snapshots in memory. */
export const noOrders: OrderStore = {
  async keep() {},
  find: async () => null,
  prune: async () => true,
};
