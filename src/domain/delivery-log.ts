import type { Attempt, DeliveryStatus } from "./deliveries.ts";
import { DomainError } from "./errors.ts";

/** What a delivery was, is and became, as the answer to "was it sent?". Times are milliseconds since the epoch. */
export interface DeliveryRecord {
  readonly seq: number;
  /** The `webhook-id`. */
  readonly id: string;
  readonly application_id: string;
  readonly subscription_id: string;
  readonly event_id: string;
  readonly type: string;
  readonly version: number;
  readonly broadcaster_user_id: number;
  readonly sequence: number;
  /** A pending delivery of a subscription that is gone is `canceled`: nothing will be sent. */
  readonly status: DeliveryStatus;
  readonly published_at: number;
  /** While pending: when the next attempt is due, 0 before the first; null: it is under way. */
  readonly next_attempt_at: number | null;
  readonly expires_at: number | null;
  readonly finished_at: number | null;
  /** The first one first. */
  readonly attempts: readonly Attempt[];
}

/** A delivery with what was sent. */
export interface SentDelivery extends DeliveryRecord {
  /** null when it is no longer kept. */
  readonly body: string | null;
}

/** Whose deliveries may be seen; null stands for all. */
export interface DeliveryScope {
  readonly application_id: string | null;
  /** Only of events of this broadcaster: what a token of that user may see. */
  readonly broadcaster_user_id: number | null;
}

/** What an operator may see. */
export const everything: DeliveryScope = { application_id: null, broadcaster_user_id: null };

/** Which deliveries are asked for; null stands for all. */
export interface DeliveryFilter extends DeliveryScope {
  readonly subscription_id: string | null;
  readonly status: DeliveryStatus | null;
  readonly type: string | null;
  /** Of events published then or later, in milliseconds since the epoch. */
  readonly after: number | null;
  /** Of events published earlier than that. */
  readonly before: number | null;
}

/** A part of the log, newest first. */
export interface DeliveryPage {
  readonly deliveries: readonly DeliveryRecord[];
  /**
   * Where to go on: what follows is numbered below this; null when nothing follows. The page may have fewer deliveries
   * than asked for, even none, because one request looks only at so many.
   */
  readonly next: number | null;
}

/** What waits to be sent for a subscription, counted up to some thousands. */
export interface Backlog {
  readonly pending: number;
  /** When the event of the oldest one was published; null when nothing waits. */
  readonly oldest_pending_at: number | null;
}

/** Attempts of one delivery, those asked for by hand included. */
export const maxAttempts = 100;

export const deliveryPages = { maxResults: 100, defaultResults: 25 } as const;

/** Nothing can be sent to the application. */
export function noReceiver(): DomainError {
  return new DomainError(
    "conflict",
    "The application is disabled, has no webhook URL, or uses only the event stream, which can be read once more",
  );
}
