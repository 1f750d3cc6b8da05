import type { Application } from "./applications.ts";
import type { Attempt, DeliveryStatus } from "./deliveries.ts";
import type { DisabledReason } from "./endpoints.ts";
import { DomainError } from "./errors.ts";

/** The log entry of a delivery. Times are milliseconds since the epoch. */
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
  /** A pending delivery of a deleted subscription is shown as `canceled`. */
  readonly status: DeliveryStatus;
  readonly published_at: number;
  /** While pending: the time of the next attempt, 0 before the first; null while one is in progress. */
  readonly next_attempt_at: number | null;
  readonly expires_at: number | null;
  readonly finished_at: number | null;
  /** In order of time. */
  readonly attempts: readonly Attempt[];
}

/** A delivery with its request. */
export interface SentDelivery extends DeliveryRecord {
  /** null when it is no longer stored. */
  readonly body: string | null;
}

/** The deliveries that a caller may see; null means all. */
export interface DeliveryScope {
  readonly application_id: string | null;
  /** Only events of this broadcaster: the scope of that user's token. */
  readonly broadcaster_user_id: number | null;
}

/** The scope of an operator: all deliveries. */
export const everything: DeliveryScope = { application_id: null, broadcaster_user_id: null };

/** The filter of a list; null means all. */
export interface DeliveryFilter extends DeliveryScope {
  readonly subscription_id: string | null;
  readonly event_id: string | null;
  readonly status: DeliveryStatus | null;
  readonly type: string | null;
  /** Events published at this time or later, in milliseconds since the epoch. */
  readonly after: number | null;
  /** Events published before this time. */
  readonly before: number | null;
}

/** A page of the log, newest first. */
export interface DeliveryPage {
  readonly deliveries: readonly DeliveryRecord[];
  /**
   * The upper bound of the next page's sequence numbers; null when this page is the last. A page may be shorter than
   * the limit, even empty, because one request reads a bounded part of the log.
   */
  readonly next: number | null;
}

/** The pending deliveries of a subscription, counted up to a limit. */
export interface Backlog {
  readonly pending: number;
  /** When the oldest pending event was published; null when nothing is pending. */
  readonly oldest_pending_at: number | null;
}

/** The count of pending deliveries of all applications stops here. */
export const mostPendingCounted = 500_000;

/** The most attempts of one delivery, including those requested by people. */
export const maxAttempts = 100;

export const deliveryPages = { maxResults: 100, defaultResults: 25 } as const;

/** The error when the application has no receiver, with what to do about it. */
export function noReceiver({ disabled, delivery }: Pick<Application, "disabled" | "delivery">): DomainError {
  const uncalled =
    delivery === "stream"
      ? "The application receives its events only on the event stream, which can be read again; to use webhooks, set delivery to webhook or both with PATCH /public/v1/application"
      : "The application has no webhook URL; set one with PATCH /public/v1/application";
  return new DomainError("conflict", disabled ? "The application is disabled" : uncalled);
}

/** The error when the endpoint is disabled. */
export function disabledReceiver(reason: DisabledReason): DomainError {
  const why = reason === "gone" ? "it answered 410" : "it failed for too long";
  return new DomainError(
    "conflict",
    `The endpoint is disabled because ${why}; nothing is sent until it is enabled again`,
  );
}
