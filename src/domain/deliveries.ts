/** All but `pending` are final. */
export const deliveryStatuses = ["pending", "delivered", "failed", "expired", "canceled"] as const;
export type DeliveryStatus = (typeof deliveryStatuses)[number];

/** An event as the platform publishes it. */
export interface NewEvent {
  /** The platform's id, or a generated one. */
  readonly id: string;
  readonly name: string;
  readonly version: number;
  readonly broadcaster_user_id: number;
  /** The exact text that is sent. */
  readonly body: string;
  /** Distinguishes a repeated event from another one with the same id. */
  readonly fingerprint: Uint8Array;
  readonly published_at: number;
  /** When its undelivered messages expire; null for never. */
  readonly expires_at: number | null;
  /** The span of its publishing, while it is traced; not stored. */
  readonly trace?: TraceContext;
}

/** The position of a span in a trace, as W3C Trace Context defines it. */
export interface TraceContext {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** 16 hexadecimal digits. */
  readonly spanId: string;
  /** Whether its spans are exported. */
  readonly isSampled: boolean;
}

/** The result of publishing, also of a repeated event. */
export interface PublishedEvent {
  readonly id: string;
  readonly deliveries: number;
}

/** Stores events with their deliveries, and starts to send them. */
export interface EventSink {
  publish(event: NewEvent): Promise<PublishedEvent>;
  /** Publishes all events, or none and rejects with `BatchRefused`. */
  publishAll(events: readonly NewEvent[]): Promise<readonly PublishedEvent[]>;
}

/** The part of an event that its deliveries share. */
export interface SentEvent {
  readonly id: string;
  readonly name: string;
  readonly version: number;
  /** The exact bytes that every subscriber gets on every attempt. Empty if the database has lost them. */
  readonly body: Uint8Array;
}

/** A delivery with all data for one attempt. */
export interface DueDelivery {
  /** Position in the order of publishing. */
  readonly seq: number;
  /** The `webhook-id`, the same on every attempt. */
  readonly id: string;
  readonly application_id: string;
  readonly subscription_id: string;
  /** Whether its subscription still exists. */
  readonly isSubscribed: boolean;
  readonly sequence: number;
  /** Attempts made so far. */
  readonly attempts: number;
  /** Attempts outside the retry schedule: requested by a person, or sent to a former URL. */
  readonly extra_attempts: number;
  /** If a person requested the next attempt, the time of the scheduled attempt after it; else null. */
  readonly resume_at: number | null;
  readonly expires_at: number | null;
  readonly event: SentEvent;
}

/** A delivery as the event stream sends it. */
export interface StreamedDelivery
  extends Pick<DueDelivery, "seq" | "id" | "subscription_id" | "sequence" | "attempts"> {
  readonly published_at: number;
  /** The body is text, because it is read and sent only once. */
  readonly event: Omit<SentEvent, "body"> & { readonly body: string };
}

/** Duration of each stage of an attempt in milliseconds; null for a skipped or unreached stage. */
interface AttemptTimings {
  readonly dnsMs: number | null;
  readonly connectMs: number | null;
  readonly tlsMs: number | null;
  readonly firstByteMs: number | null;
}

/** A stored attempt. */
export interface Attempt {
  readonly at: number;
  readonly outcome: string;
  readonly status: number | null;
  readonly duration_ms: number;
  readonly timings: AttemptTimings;
  readonly error: string | null;
  /** The first bytes of the response. */
  readonly response: string;
}

/** The result of a delivery's attempt. */
export interface AttemptResult {
  readonly seq: number;
  /** When the result was known. */
  readonly at: number;
  /** null when nothing was sent, for example because the delivery had expired. */
  readonly attempt: Attempt | null;
  /** Attempts so far, including this one. */
  readonly attempts: number;
  /** Attempts outside the retry schedule. */
  readonly extra_attempts: number;
  /** The endpoint generation of the attempt. */
  readonly generation: number;
  readonly status: DeliveryStatus;
  /** With `pending`: the time of the next attempt. */
  readonly next_attempt_at: number | null;
  /** With `pending`: `DueDelivery.resume_at` of the next attempt. */
  readonly resume_at: number | null;
}

/** How long finished deliveries and their data are kept, in milliseconds from the publishing of the event. */
export interface Retention {
  readonly deliveredMs: number;
  /** Deliveries that failed, expired or were canceled. */
  readonly failedMs: number;
  /** The bodies of events without pending deliveries. */
  readonly bodiesMs: number;
  /** By event type; replaces the three periods above. */
  readonly byType?: Readonly<Record<string, number>>;
}

/** How long event ids are kept at least, so that a repeated event sends nothing. */
export const idempotencyMs = 7 * 24 * 3_600_000;
