/** The final states are `delivered`, `failed`, `expired` and `canceled`. */
export type DeliveryStatus = "pending" | "delivered" | "failed" | "expired" | "canceled";

/** An event as the platform publishes it. */
export interface NewEvent {
  /** The platform's id for it, or one that On Air made. */
  readonly id: string;
  readonly name: string;
  readonly version: number;
  readonly broadcaster_user_id: number;
  /** The very text that is sent. */
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
}

/** The part of an event that its deliveries send; shared by all of them. */
export interface SentEvent {
  readonly id: string;
  readonly name: string;
  readonly version: number;
  /** The very bytes that are sent, to every subscriber and on every attempt. */
  readonly body: Uint8Array;
}

/** A delivery with all that one attempt needs. */
export interface DueDelivery {
  /** The order of publishing. */
  readonly seq: number;
  /** The `webhook-id`, the same on every attempt. */
  readonly id: string;
  readonly application_id: string;
  readonly subscription_id: string;
  /** Whether its subscription still exists. */
  readonly isWanted: boolean;
  readonly sequence: number;
  /** Attempts made so far. */
  readonly attempts: number;
  /** Of these, the ones that use up none of the retry schedule: asked for by a person, or made to a former URL. */
  readonly extra_attempts: number;
  /** Where a person asked for the next attempt: when the schedule goes on behind it. null: it is the schedule's own. */
  readonly resume_at: number | null;
  readonly expires_at: number | null;
  readonly event: SentEvent;
}

/** A delivery as the event stream sends it. */
export interface StreamedDelivery
  extends Pick<DueDelivery, "seq" | "id" | "subscription_id" | "sequence" | "attempts"> {
  readonly published_at: number;
  /** With its body as text, which is read once and sent once. */
  readonly event: Omit<SentEvent, "body"> & { readonly body: string };
}

/** How long each stage of an attempt took, in milliseconds; null for one that was not needed or not reached. */
interface AttemptTimings {
  readonly dnsMs: number | null;
  readonly connectMs: number | null;
  readonly tlsMs: number | null;
  readonly firstByteMs: number | null;
}

/** One attempt as it is kept. */
export interface Attempt {
  readonly at: number;
  readonly outcome: string;
  readonly status: number | null;
  readonly duration_ms: number;
  readonly timings: AttemptTimings;
  readonly error: string | null;
  /** The first bytes of the answer. */
  readonly response: string;
}

/** What became of a delivery that the dispatcher had. */
export interface AttemptResult {
  readonly seq: number;
  /** When it was known. */
  readonly at: number;
  /** null where nothing was sent, for example because it had expired. */
  readonly attempt: Attempt | null;
  /** Attempts made so far, this one included. */
  readonly attempts: number;
  /** Of these, the ones that use up none of the retry schedule. */
  readonly extra_attempts: number;
  /** The generation of the endpoint that it was sent to, or would have been. */
  readonly generation: number;
  readonly status: DeliveryStatus;
  /** With `pending`: when to try again. */
  readonly next_attempt_at: number | null;
  /** With `pending`: `DueDelivery.resume_at` of the next attempt. */
  readonly resume_at: number | null;
}

/** How long what is finished is kept, in milliseconds from the publishing of its event. */
export interface Retention {
  readonly deliveredMs: number;
  /** Deliveries that failed, expired or were canceled. */
  readonly failedMs: number;
  /** The bodies of events, once nothing of them is pending. */
  readonly bodiesMs: number;
}

/** For so long an event is remembered at least, so that its id published again sends nothing. */
export const idempotencyMs = 7 * 24 * 3_600_000;
