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
