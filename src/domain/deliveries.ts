import type { Application } from "./applications.ts";
import type { DisabledReason, Endpoint } from "./endpoints.ts";
import { DomainError } from "./errors.ts";
import type { NewNotice } from "./notices.ts";

/** The states of a delivery; all but `pending` are final. */
export const deliveryStatuses = ["pending", "delivered", "failed", "expired", "canceled"] as const;
export type DeliveryStatus = (typeof deliveryStatuses)[number];

/**
 * Filters by status. `missed`: failed, expired or canceled, of a subscription that still exists. `failing`: attempted
 * without success, and pending, failed or expired.
 */
export const statusFilters = [...deliveryStatuses, "missed", "failing"] as const;
export type StatusFilter = (typeof statusFilters)[number];

/** Returns the statuses that a filter selects. */
export function statusesIn(filter: StatusFilter): readonly DeliveryStatus[] {
  if (filter === "missed") return ["failed", "expired", "canceled"];
  return filter === "failing" ? ["pending", "failed", "expired"] : [filter];
}

/** An event as the platform publishes it. */
export interface NewEvent {
  /** The platform's id, or a generated id. */
  readonly id: string;
  readonly name: string;
  readonly version: number;
  readonly broadcaster_user_id: number;
  /** The exact text that is sent. */
  readonly body: string;
  /** Distinguishes a repeated event from another event with the same id. */
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
  /** Whether the spans of the trace are exported. */
  readonly isSampled: boolean;
}

/** The result of publishing, also of a repeated event. */
export interface PublishedEvent {
  readonly id: string;
  readonly deliveries: number;
}

/** Stores events with their deliveries, and starts to send them. */
export interface PublishToEngine {
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
  /** Whether the delivery's subscription still exists. */
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

/** What is kept of a failed attempt that was answered, for the receiver's developer. */
export interface FailedExchange {
  /** The `webhook-signature` of the request. */
  readonly signature: string;
  /** Headers of the response by lower-case name, without confidential values, bounded. */
  readonly headers: Readonly<Record<string, string>>;
}

/** A stored attempt. */
export interface Attempt {
  /** The endpoint generation that was called, which names the URL; see `urlOf`. */
  readonly generation: number;
  readonly at: number;
  readonly outcome: string;
  readonly status: number | null;
  readonly duration_ms: number;
  readonly timings: AttemptTimings;
  readonly error: string | null;
  /** The first bytes of the response. */
  readonly response: string;
  /** null for a success, and when no response arrived. */
  readonly exchange: FailedExchange | null;
}

/** The result of a delivery's attempt. */
export interface AttemptResult {
  readonly seq: number;
  /** When the result was known. */
  readonly at: number;
  /** null when nothing was sent, for example because the delivery had expired. */
  readonly attempt: Attempt | null;
  /** Attempts so far, including this attempt. */
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
  /** null when the broadcaster is no longer a user. */
  readonly broadcaster_username: string | null;
  readonly sequence: number;
  /** A pending delivery of a deleted subscription is shown as `canceled`. */
  readonly status: DeliveryStatus;
  readonly published_at: number;
  /** While pending: the time of the next attempt, 0 before the first; null while an attempt is in progress. */
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
  readonly status: StatusFilter | null;
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

/** The count of a subscription's pending deliveries stops here. */
export const mostPendingOfSubscription = 5_000;

/** The count of an application's pending deliveries stops here. */
export const mostPendingOfApplication = 5_000;

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

/**
 * Reserves a slot in memory for a new delivery of an application. Returns false if the delivery must stay in the store.
 * With `isBehind`, the store may have earlier deliveries that this process does not know.
 */
export type ReserveSlot = (applicationId: string, isBehind?: boolean) => boolean;

/** Published events and their fan-out to subscriptions. */
export interface EventStore {
  /**
   * Stores the event with one delivery per subscription. An event that was published before with the same id gets the
   * same result, and nothing is stored. Rejects with `conflict` when the id is that of another event, and with
   * `invalid_parameter` when the broadcaster does not exist.
   *
   * @param reserveSlot called for each delivery that is to be sent; those with a slot are returned as `taken`, all
   * others wait for `claim`
   */
  publish(event: NewEvent, reserveSlot: ReserveSlot): Promise<StoredEvent>;
  /** Stores all of these events, or rejects with `BatchRefused` and stores none. */
  publishAll(events: readonly NewEvent[], reserveSlot: ReserveSlot): Promise<StoredEvents>;
  /** An event by its id; null when it is unknown, or older than `idempotencyMs` and no longer stored. */
  find(id: string): Promise<FoundEvent | null>;
}

/** What is known of an event without its deliveries. */
export interface FoundEvent
  extends Pick<NewEvent, "id" | "name" | "version" | "broadcaster_user_id" | "published_at"> {
  /** The place of the event in the numbers of deliveries: its deliveries have this number or higher numbers. */
  readonly first_delivery: number;
}

/** The maximum number of shards of a stream. */
export const mostStreamShards = 64;

/**
 * One of `count` shards of a stream, numbered from 1. It has the events of the broadcasters whose id, divided by
 * `count`, leaves the remainder `number - 1`. The first shard also has the events without a broadcaster.
 */
export interface StreamShard {
  readonly number: number;
  readonly count: number;
}

/** The events of a stream. */
export interface StreamScope {
  readonly applicationId: string;
  /** The broadcaster whose events it has; null for those of all. */
  readonly userId: number | null;
  /** null for a stream that is not divided. */
  readonly shard: StreamShard | null;
}

/** A published event with its new deliveries. */
export interface StoredEvent extends PublishedEvent {
  /** The deliveries that have a slot in memory, in order. */
  readonly taken: readonly DueDelivery[];
  /** Ids of applications with new deliveries on their event stream. */
  readonly streamed: readonly string[];
  /** Applications that are subscribed to the event, and whose filter it does not match. */
  readonly filtered: readonly FilteredEvent[];
}

/** An event that makes no delivery for an application, because it does not match the application's filter. */
export interface FilteredEvent {
  readonly application_id: string;
  /** The name of the event type. */
  readonly type: string;
}

/** Events that were published together. */
export interface StoredEvents extends Pick<StoredEvent, "taken" | "streamed" | "filtered"> {
  readonly published: readonly PublishedEvent[];
}

/** Results and states of endpoints that could not be stored yet. The notices about these endpoints were not stored. */
export interface LockedRecords {
  readonly seqs: ReadonlySet<number>;
  readonly applicationIds: ReadonlySet<string>;
}

/**
 * Deliveries: the queue of each application, and the log of what was sent. Deliveries are numbered (`seq`) in the order
 * in which their events were published.
 */
export interface DeliveryStore {
  /** The highest number given so far; 0 before the first. */
  last(): Promise<number>;
  /** The number of the last delivery whose event was published before `time`. */
  lastBefore(time: number): Promise<number>;
  /** When the event of the last stored delivery up to `seq` was published; null when none of these is stored. */
  publishedUpTo(seq: number): Promise<number | null>;
  /** The highest number of a delivery of the application that retention has removed; 0 when there is none. */
  lastRemoved(applicationId: string): Promise<number>;
  /** The next deliveries of a stream, in order, starting after the number `after`. */
  streamed(scope: StreamScope, after: number): Promise<StreamedDeliveries>;
  /** Ends all claims of an earlier process. For a process that is alone, before it delivers. */
  releaseAll(): Promise<void>;
  /** Applications that have deliveries to claim, each with the time at which the earliest is due. */
  pending(): Promise<{ application_id: string; due_at: number }[]>;
  /**
   * Makes some of the retries that are due after `latest` due at `now`: a clock that was far ahead had scheduled them.
   * Those that other transactions hold stay. Resolves to true when it found none.
   */
  makeFarRetriesDue(now: number, latest: number): Promise<boolean>;
  /**
   * Claims due deliveries of an application: first attempts in the order of publishing, then retries. A claim lasts
   * until the delivery is recorded or released, or until the process restarts.
   */
  claim(applicationId: string, now: number, limit: number): Promise<Claimed>;
  /** Ends the claims of these deliveries. They can be claimed again. */
  release(seqs: readonly number[]): Promise<void>;
  /**
   * Stores the results of attempts. A delivery that was canceled during its attempt becomes `delivered` if the receiver
   * accepted it, else it stays canceled; the attempt is stored in both cases. A retry that was scheduled in an earlier
   * generation of its endpoint is due at once. The states of endpoints are stored too, with the notices about them,
   * unless their generation is over. A notice that is already stored changes nothing.
   *
   * @param locked called before it resolves, with what was not stored because other transactions hold the rows
   */
  record(
    results: readonly AttemptResult[],
    endpoints: readonly Endpoint[],
    notices?: readonly NewNotice[],
    locked?: (found: LockedRecords) => void,
  ): Promise<void>;
  /**
   * Deliveries numbered below `below` (null for the first page), newest first. One call reads a bounded part of the
   * log.
   */
  page(filter: DeliveryFilter, below: number | null, limit: number): Promise<DeliveryPage>;
  find(scope: DeliveryScope, id: string): Promise<SentDelivery | null>;
  backlog(applicationId: string, subscriptionId: string): Promise<Backlog>;
  /** The number of pending deliveries of an application, up to `mostPendingOfApplication`. */
  pendingOf(applicationId: string): Promise<number>;
  /** The backlog of all applications together. Counts at most `mostPendingCounted` deliveries. */
  backlogOfAll(): Promise<Backlog>;
  /**
   * Makes a delivery due at `now`, whatever its status. It no longer expires, and the extra attempt uses up nothing of
   * its retry schedule. Rejects with `not_found`, and with `conflict` when it cannot be sent.
   */
  retry(scope: DeliveryScope, id: string, now: number): Promise<DeliveryRecord>;
}

/** A part of the event stream of an application. */
interface StreamedDeliveries {
  readonly deliveries: readonly StreamedDelivery[];
  /** How many further deliveries have lost their body to retention. */
  readonly lost: number;
  /** The part is complete up to this number. */
  readonly upTo: number;
  /** Whether the stream ended there. */
  readonly isAll: boolean;
}

/** The deliveries that were claimed for an application. */
export interface Claimed {
  readonly due: DueDelivery[];
  /** Whether more first attempts are waiting. */
  readonly hasBacklog: boolean;
  /** When the first retry that was not claimed is due, in milliseconds since the epoch; null when there is none. */
  readonly retryAt: number | null;
}

/** Removes old data, in small steps. */
export interface RetentionStore {
  /** Removes some of the data that is older than `retention`. Resolves to true when nothing is left to remove. */
  prune(retention: Retention, now: number): Promise<boolean>;
  /**
   * Removes some finished deliveries while the data is nearly as large as `maxBytes` (null for no limit): first the
   * delivered ones, oldest first, then all others. Resolves to true when there is nothing to remove. Also sets the size
   * at which publishing is refused. Does nothing on PostgreSQL.
   */
  trim(maxBytes: number | null): Promise<boolean>;
  /**
   * Returns some free space of the file to the file system, if the database can. Resolves to true when none is left.
   */
  shrink(): Promise<boolean>;
}
