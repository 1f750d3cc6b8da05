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

/** Deliveries: the queue of each application, and the log of what was sent. */
export interface DeliveryStore {
  /** The highest number given so far, 0 before the first. */
  last(): Promise<number>;
  /** The number of the last delivery of events published before a time. */
  lastBefore(time: number): Promise<number>;
  /** When the event of the last delivery up to a number was published; null where none of these is kept. */
  publishedUpTo(seq: number): Promise<number | null>;
  /** The highest number of a delivery of an application that is no longer kept, 0 where there is none. */
  lastRemoved(applicationId: string): Promise<number>;
  /** What an application is to get on its event stream behind a number, in order; some at a time. */
  streamed(applicationId: string, after: number, userId: number | null): Promise<StreamedDeliveries>;
  /** To be called before a process delivers that is alone: the claims of an earlier one end, and its deliveries can be claimed. */
  releaseAll(): Promise<void>;
  /** Applications with deliveries to claim and when the earliest of each is due. */
  pending(): Promise<{ application_id: string; due_at: number }[]>;
  /** Retries that are due behind `latest` are due at `now`: a clock that was far ahead gave them their time. */
  bringBack(now: number, latest: number): Promise<void>;
  /**
   * Deliveries of an application that are due, first attempts in the order of publishing before retries, each
   * claimed once until it is recorded, released, or the process restarts.
   */
  claim(applicationId: string, now: number, limit: number): Promise<Claimed>;
  /** Ends the claim of these deliveries: they can be claimed again. */
  release(seqs: readonly number[]): Promise<void>;
  /**
   * A delivery that was canceled while its attempt was under way is `delivered` where the receiver took it, else stays
   * canceled; its attempt is kept. What is to be tried again and belongs to an earlier generation of its endpoint is due
   * at once. Endpoints are kept with it, unless their generation is
   * over; so are the notices about them, of which one that is kept already changes nothing.
   */
  record(
    results: readonly AttemptResult[],
    endpoints: readonly Endpoint[],
    notices?: readonly NewNotice[],
  ): Promise<void>;
  /** What was published before is then found by reads of other connections of this process, too. */
  settle(): Promise<void>;
  /** Newest first, those numbered below `below`; null begins. One call looks only at so much of the log. */
  page(filter: DeliveryFilter, below: number | null, limit: number): Promise<DeliveryPage>;
  find(scope: DeliveryScope, id: string): Promise<SentDelivery | null>;
  backlog(applicationId: string, subscriptionId: string): Promise<Backlog>;
  /** Of all applications together; exact up to half a million, beyond which no more are looked at. */
  backlogOfAll(): Promise<Backlog>;
  /**
   * Makes a delivery due at `now`, whatever became of it before; it does not expire any more, and its retry schedule
   * goes on as if this attempt were not made. Rejects with `not_found`, and with `conflict` where it cannot be sent.
   */
  retry(scope: DeliveryScope, id: string, now: number): Promise<DeliveryRecord>;
}

/** A part of what is on the event stream of an application. */
interface StreamedDeliveries {
  readonly deliveries: readonly StreamedDelivery[];
  /** So many more have a body that is no longer kept. */
  readonly lost: number;
  /** The number up to which these are all. */
  readonly upTo: number;
  /** Whether there was nothing behind it. */
  readonly isAll: boolean;
}

/** What was claimed for an application. */
export interface Claimed {
  readonly due: DueDelivery[];
  /** Whether more first attempts are waiting. */
  readonly hasBacklog: boolean;
  /** When the first retry that was not claimed is due, in milliseconds since the epoch; null where there is none. */
  readonly retryAt: number | null;
}
