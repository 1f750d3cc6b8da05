import type { AttemptResult, DueDelivery, StreamedDelivery } from "../domain/deliveries.ts";
import type {
  Backlog,
  DeliveryFilter,
  DeliveryPage,
  DeliveryRecord,
  DeliveryScope,
  SentDelivery,
} from "../domain/delivery-log.ts";
import type { Endpoint } from "../domain/endpoints.ts";
import type { NewNotice } from "../domain/operations/notices.ts";

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
  /** The next deliveries for the event stream of an application, in order, starting after the number `after`. */
  streamed(applicationId: string, after: number, userId: number | null): Promise<StreamedDeliveries>;
  /** Ends all claims of an earlier process. For a process that is alone, before it delivers. */
  releaseAll(): Promise<void>;
  /** Applications that have deliveries to claim, each with the time at which the earliest is due. */
  pending(): Promise<{ application_id: string; due_at: number }[]>;
  /** Makes retries that are due after `latest` due at `now`: a clock that was far ahead had scheduled them. */
  makeFarRetriesDue(now: number, latest: number): Promise<void>;
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
   */
  record(
    results: readonly AttemptResult[],
    endpoints: readonly Endpoint[],
    notices?: readonly NewNotice[],
  ): Promise<void>;
  /** Makes events that are already published visible to other connections of this process. */
  settle(): Promise<void>;
  /**
   * Deliveries numbered below `below` (null for the first page), newest first. One call reads a bounded part of the
   * log.
   */
  page(filter: DeliveryFilter, below: number | null, limit: number): Promise<DeliveryPage>;
  find(scope: DeliveryScope, id: string): Promise<SentDelivery | null>;
  backlog(applicationId: string, subscriptionId: string): Promise<Backlog>;
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
