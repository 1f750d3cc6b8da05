/** The final states are `delivered`, `failed`, `expired` and `canceled`. */
export type DeliveryStatus = "pending" | "delivered" | "failed" | "expired" | "canceled";

/** An event as the platform publishes it. */
export interface NewEvent {
  /** The platform's id for it, or one that On Air made. */
  readonly id: string;
  readonly name: string;
  readonly version: number;
  readonly broadcaster_user_id: number;
  /** The very bytes that are sent, to every subscriber and on every attempt. */
  readonly body: string;
  /** Tells the same event published again from another one under the same id. */
  readonly fingerprint: Uint8Array;
  readonly published_at: number;
  /** When an undelivered message of it stops being worth sending; null: never. */
  readonly expires_at: number | null;
}

/** What publishing answers, also when the same event comes again. */
export interface PublishedEvent {
  readonly id: string;
  readonly deliveries: number;
  /** The applications that have a new delivery; empty when the event came again. */
  readonly applications: readonly string[];
}

/** A delivery with all that one attempt needs. */
export interface DueDelivery {
  /** The `webhook-id`, the same on every attempt. */
  readonly id: string;
  readonly application_id: string;
  readonly subscription_id: string;
  readonly sequence: number;
  /** Attempts made so far. */
  readonly attempts: number;
  readonly expires_at: number | null;
  readonly event: {
    readonly id: string;
    readonly name: string;
    readonly version: number;
    readonly body: string;
  };
}

/** One attempt as it is kept. */
export interface Attempt {
  readonly at: number;
  readonly outcome: string;
  readonly status: number | null;
  readonly duration_ms: number;
  readonly error: string | null;
  /** The first bytes of the answer. */
  readonly response: string;
}

/** What became of a claimed delivery. */
export interface AttemptResult {
  readonly delivery_id: string;
  /** When it was known. */
  readonly at: number;
  /** null where nothing was sent, for example because it had expired. */
  readonly attempt: Attempt | null;
  readonly status: DeliveryStatus;
  /** With `pending`: when to try again. */
  readonly next_attempt_at: number | null;
}
