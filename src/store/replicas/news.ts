/** What a replica hears of the others: what it has in memory of them is to be read again. */
export type ReplicaNews =
  /** An application, or a token: what callers may do. */
  | { readonly kind: "callers" }
  | { readonly kind: "categories" | "livestreams"; readonly ids: readonly number[] }
  /** Channels, or users whose pictures they show. */
  | { readonly kind: "channels" }
  | { readonly kind: "event_types" }
  | { readonly kind: "operator_keys" }
  /** These applications have something new on their event stream. */
  | { readonly kind: "streamed"; readonly applications: readonly string[] }
  /** What was taken from rate limits elsewhere. */
  | { readonly kind: "taken"; readonly shares: readonly Share[] }
  /** Another replica has open streams, and is to be sent changes for a while. */
  | { readonly kind: "watching" }
  /** Something of these topics has changed; of deliveries, those of these applications (null: of any). */
  | {
      readonly kind: "changed";
      readonly topics: readonly string[];
      readonly applications: readonly string[] | null;
    }
  /** Everything until `at`, in milliseconds since the epoch, was heard. */
  | { readonly kind: "current"; readonly at: number }
  /** Nothing is heard from now on, until `current` is. */
  | { readonly kind: "away" }
  /** Something may be lost: anything may have changed. */
  | { readonly kind: "missed" };

/** Requests that were taken from the bucket of a key with this limit. */
export type Share = readonly [key: string, limit: number, count: number];

/** Messages that replicas send themselves; triggers of the store send all others. */
export type SentNews = Extract<ReplicaNews, { kind: "streamed" | "taken" | "watching" | "changed" }>;

/** The connection to the other replicas. A process that is alone hears nothing. */
export interface ReplicaNewsLink {
  /** Calls `listener` from now on; once with `missed` as soon as news are heard. */
  onNews(listener: (news: ReplicaNews) => void): void;
  /** Sends a message to all other replicas soon. It is tried again when that fails, except for shares. */
  broadcast(news: SentNews): void;
}

export const noReplicas: ReplicaNewsLink = { onNews() {}, broadcast() {} };
