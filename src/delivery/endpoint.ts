import type { Recipient } from "../domain/applications.ts";
import type { AttemptResult, DueDelivery } from "../domain/deliveries.ts";
import { type Endpoint, newEndpoint } from "../domain/endpoints.ts";
import { hour } from "../domain/time.ts";
import { systemTimers, type Timers } from "../runtime/timers.ts";
import { Pace } from "./pace.ts";
import type { Priority } from "./queue.ts";
import { maxRetryAfterMs } from "./retry.ts";

/** When both kinds wait, a retry starts after this many first attempts. */
const firstsPerRetry = 3;

/**
 * The deliveries to one endpoint that wait in memory. First attempts keep their order. They do not wait for all retries
 * that are due, which may be thousands after an outage: when both wait, every fourth delivery is a retry.
 */
export class DeliveryQueue {
  #firsts: DueDelivery[] = [];
  #retries: DueDelivery[] = [];
  #firstsInARow = 0;
  /** The number of first attempts up to the last one that belongs to a bulk, inclusive. */
  #upToBulk = 0;

  get length(): number {
    return this.#firsts.length + this.#retries.length;
  }

  get firsts(): number {
    return this.#firsts.length;
  }

  get retries(): number {
    return this.#retries.length;
  }

  /** Whether a first attempt that belongs to a bulk waits. */
  get hasBulk(): boolean {
    return this.#upToBulk > 0;
  }

  push(delivery: DueDelivery, isBulk = false): void {
    const isFirst = delivery.attempts === 0;
    (isFirst ? this.#firsts : this.#retries).push(delivery);
    if (isFirst && isBulk) this.#upToBulk = this.#firsts.length;
  }

  /** Removes and returns the next delivery. */
  shift(): DueDelivery | undefined {
    const isRetryDue = this.#firstsInARow >= firstsPerRetry && this.#retries.length > 0;
    if (this.#firsts.length === 0 || isRetryDue) {
      this.#firstsInARow = 0;
      return this.#retries.shift();
    }
    this.#firstsInARow++;
    this.#upToBulk = Math.max(0, this.#upToBulk - 1);
    return this.#firsts.shift();
  }

  /** All deliveries, first attempts first. */
  items(): DueDelivery[] {
    return [...this.#firsts, ...this.#retries];
  }

  /** Removes and returns all deliveries. */
  clear(): DueDelivery[] {
    const all = this.items();
    this.#firsts = [];
    this.#retries = [];
    this.#upToBulk = 0;
    return all;
  }

  /** Replaces each delivery by the result of `change`, which must not change the number of attempts. */
  change(change: (delivery: DueDelivery) => DueDelivery): void {
    this.#firsts = this.#firsts.map(change);
    this.#retries = this.#retries.map(change);
  }
}

/** The bounds of a claim. Within them it takes twice as many deliveries as may be in progress, */
const [minClaim, maxClaim] = [8, 128];
/** but no more than start within this time, because deliveries to slow endpoints take memory from others. */
const claimedForSeconds = 0.25;
/** The longest timer: a longer one would overflow. Waking up early does no harm. */
const maxTimerMs = hour;

/** Published together, more deliveries than this are a bulk: of one event with many subscribers, or of many events. */
const mostOutsideBulk = 64;
/**
 * The number of claims for which a backlog counts as new, unless a bulk began it. They cover what is published while
 * the queue cannot take deliveries into memory for a moment. An endpoint that falls behind gets no more than these
 * before others.
 */
const claimsOfNewBacklog = 8;

/** Whether this many deliveries, published together, are a bulk, which has a lower priority. */
export const isBulk = (together: number): boolean => together > mostOutsideBulk;

/** An attempt in progress. */
export interface InFlightAttempt {
  delivery: DueDelivery;
  /** The state of the application with which it was signed. */
  readonly recipient: Recipient;
  /** Whether application or subscription have changed since it was signed. Then the request must not be written. */
  isOutdated: boolean;
  /** Whether either may have changed, until the next look-up. Meanwhile the request must not be written. */
  mayBeOutdated: boolean;
  /** Ends the attempt unless its request is already written; null if no connection is being made. */
  cancel: (() => void) | null;
}

/**
 * Notes that something has changed since an attempt was signed. If it is still connecting, it ends at once: until it is
 * back in the queue, deliveries that are published later would overtake it.
 */
export function outdate(attempt: InFlightAttempt): void {
  attempt.isOutdated = true;
  attempt.cancel?.();
}

/** The queue of one application's endpoint: its deliveries in memory, notes of those in the store, and its pace. */
export class EndpointQueue {
  readonly deliveries = new DeliveryQueue();
  pace: Pace;
  /** null: the application does not exist or receives nothing; undefined: it must be looked up before an attempt. */
  recipient: Recipient | null | undefined = undefined;
  /** Counts changes of the application, so that the result of an older look-up is discarded. */
  changes = 0;
  /** The state of the endpoint; null until it is looked up. */
  endpoint: Endpoint | null = null;
  /** The generation of the endpoint that `pace` and `endpoint` belong to; null until it is known. */
  generation: number | null = null;
  /** Attempts in progress, to earlier generations as well. */
  readonly attemptsInFlight = new Set<InFlightAttempt>();
  /** Deliveries that are being published, with memory reserved. */
  reserved = 0;
  /** Results that are not on disk yet, which may lead to retries. */
  unrecorded = 0;
  isLookingUp = false;
  isClaiming = false;
  /** First attempts that are being written back into the store. Newer deliveries must not overtake them. */
  returning = 0;
  /** Whether first attempts wait in the store. Then newer deliveries must wait there behind them. */
  hasBacklog = false;
  /** The number of further claims for which the backlog counts as new. */
  claimsAsNew = 0;
  /** When the next retry in the store is due; null for none. */
  retryAt: number | null = null;
  /**
   * Whether another process owns the endpoint now. Outcomes of attempts that are still in progress here are ignored.
   */
  isLost = false;
  /** Whether a user requested deliveries before the state of the endpoint was known. */
  #isRequested = false;
  #cancelTimer: (() => void) | null = null;

  /** @param concurrency concurrent attempts, unless the application sets another number */
  constructor(
    readonly applicationId: string,
    readonly concurrency: number,
    readonly timers: Timers = systemTimers,
  ) {
    this.pace = new Pace({ max: concurrency });
  }

  get inFlight(): number {
    return this.attemptsInFlight.size;
  }

  /** The scheduling priority, so that an endpoint without a backlog does not wait for the backlogs of others. */
  get priority(): Priority {
    if (this.hasBacklog) return this.claimsAsNew > 0 ? "new" : "backlog";
    if (this.deliveries.firsts === 0) return "backlog";
    return this.deliveries.hasBulk ? "bulk" : "new";
  }

  /** Whether deliveries wait in memory or in the store. */
  get hasMore(): boolean {
    return this.deliveries.length > 0 || this.hasBacklog || this.retryAt !== null;
  }

  get isDisabled(): boolean {
    return this.recipient !== null && (this.endpoint?.disabled_at ?? null) !== null;
  }

  /** Whether the queue holds no state that cannot be read from the store again. */
  get isIdle(): boolean {
    if (this.hasMore || this.isClaiming || this.isLookingUp || this.isDisabled) return false;
    return this.inFlight + this.unrecorded + this.reserved === 0;
  }

  /** Whether attempts are in progress, or anything of the queue is between memory and the store. */
  get isBusy(): boolean {
    return this.inFlight + this.unrecorded + this.reserved + this.returning > 0 || this.isClaiming;
  }

  /** Applies the result of a look-up; `recipient` is null if the application does not exist or receives nothing. */
  applyLookUp(recipient: Recipient | null, endpoint: Endpoint | null, now: number): void {
    if (recipient) this.beginGeneration(recipient.endpoint_generation, now);
    this.restore(endpoint ?? this.endpointState, now);
    this.recipient = recipient;
    this.pace.max = recipient?.webhook_concurrency ?? this.concurrency;
    for (const one of this.attemptsInFlight) {
      if (!one.mayBeOutdated) continue;
      if (Bun.deepEquals(one.recipient, recipient)) one.mayBeOutdated = false;
      else outdate(one);
    }
  }

  /**
   * Takes the stored state of the endpoint, unless a state is known. An endpoint that was failing or paused begins with
   * one attempt, after the end of its pause.
   */
  restore(endpoint: Endpoint, now: number): void {
    if (this.endpoint) return;
    this.endpoint = endpoint;
    // Bounded, because a clock that was far ahead may have set the time.
    const pausedUntil = this.#isRequested ? 0 : Math.min(endpoint.paused_until ?? 0, now + maxRetryAfterMs);
    this.#isRequested = false;
    if (endpoint.failing_since === null && pausedUntil <= now) return;
    this.pace = new Pace({ max: this.pace.max, first: 1, pausedUntil });
  }

  /** Lifts pause and open circuit, because a user requested deliveries; a stored pause, too, if it is not read yet. */
  resume(now: number): void {
    if (!this.endpoint) this.#isRequested = true;
    this.pace.resume(now);
  }

  /** The state of the endpoint; the initial state if none is known. */
  get endpointState(): Endpoint {
    return this.endpoint ?? newEndpoint(this.applicationId, this.generation ?? 0);
  }

  /** Whether a delivery that is published now may go directly into memory: no older one waits in the store. */
  canTake(now: number): boolean {
    if (this.isDisabled || this.hasBacklog || this.isClaiming || this.returning > 0) return false;
    return !this.pace.isOpen && this.pace.resumeAt <= now;
  }

  /** Notes that a first attempt stays in the store; `together` is the number of deliveries published with it. */
  noteLeftInStore(together: number): void {
    this.addBacklog(isBulk(together) ? 0 : claimsOfNewBacklog);
  }

  /**
   * Notes that first attempts wait in the store, as new for `asNew` claims, or fewer if an older backlog has fewer
   * left.
   */
  addBacklog(asNew: number): void {
    this.claimsAsNew = this.hasBacklog ? Math.min(this.claimsAsNew, asNew) : asNew;
    this.hasBacklog = true;
  }

  /** Whether sending is suspended: disabled, paused, or the circuit is open. Then deliveries stay in the store. */
  isHeldUp(now: number): boolean {
    return this.isDisabled || this.pace.resumeAt > now;
  }

  /** Whether to claim deliveries from the store now. */
  needsClaim(now: number): boolean {
    if (this.isClaiming || this.returning > 0 || this.reserved > 0 || this.isHeldUp(now)) return false;
    const few = this.claimSize / 4;
    if (this.hasBacklog) return this.deliveries.length < few;
    return this.retryAt !== null && this.retryAt <= now && this.deliveries.retries < few;
  }

  /** The number of deliveries of one claim. */
  get claimSize(): number {
    const soon = Math.min(2 * this.pace.limit, Math.ceil(this.pace.perSecond * claimedForSeconds));
    return Math.min(maxClaim, Math.max(minClaim, soon));
  }

  /** Whether an attempt may begin now. */
  mayStart(now: number): boolean {
    return this.recipient !== undefined && !this.isDisabled && this.pace.canStart(now);
  }

  /** Notes that a retry in the store is due at this time. */
  scheduleRetry(at: number): void {
    this.retryAt = Math.min(at, this.retryAt ?? at);
  }

  /** Notes that the result of an attempt is on disk. */
  noteRecorded({ generation, next_attempt_at }: AttemptResult, now: number): void {
    this.unrecorded--;
    // The store makes the retry of an earlier generation due at once.
    if (generation !== this.generation) this.scheduleRetry(now);
    else if (next_attempt_at !== null) this.scheduleRetry(next_attempt_at);
  }

  /** The time at which the queue has something to do, unless something happens earlier; null for never. */
  wakeAt(): number | null {
    if (this.isDisabled) return null;
    if (this.deliveries.length > 0 || this.hasBacklog) return this.pace.resumeAt;
    return this.retryAt === null ? null : Math.max(this.retryAt, this.pace.resumeAt);
  }

  /** Calls `wake` after `inMs`, in place of an earlier timer. Sets no timer for a time that has passed. */
  setTimer(wake: (() => void) | null, inMs = 0): void {
    this.#cancelTimer?.();
    this.#cancelTimer = wake && inMs > 0 ? this.timers.after(Math.min(inMs, maxTimerMs), wake) : null;
  }

  /** Notes that the application has changed. Requests that are not written yet are signed again, or not sent. */
  applicationChanged(): void {
    for (const one of this.attemptsInFlight) outdate(one);
    this.invalidate();
  }

  /**
   * Notes that the application or its subscriptions may have changed. A request that still connects goes on if the
   * look-up finds no change: this is called repeatedly while notifications are lost, in less time than some endpoints
   * take to connect.
   */
  applicationMayHaveChanged(): void {
    for (const one of this.attemptsInFlight) one.mayBeOutdated = true;
    this.invalidate();
  }

  /** Has the application looked up again before an attempt begins, because it may have changed. */
  invalidate(): void {
    this.changes++;
    this.recipient = undefined;
  }

  /**
   * Sets the generation of the endpoint. One that follows another begins without its state: with one attempt at a time,
   * not counting attempts that are in progress to the former one. Returns whether it follows another.
   */
  beginGeneration(generation: number, now: number): boolean {
    if (this.generation !== null && generation <= this.generation) return false;
    const isNewer = this.generation !== null;
    this.generation = generation;
    if (!isNewer) return false;
    this.endpoint = null;
    this.pace = new Pace({ max: this.pace.max, first: 1 });
    this.scheduleRetry(now);
    return true;
  }

  /** Shifts all times, because the clock was moved by `ms`. */
  shiftClock(ms: number): void {
    this.pace.shift(ms);
    const { endpoint } = this;
    if (!endpoint) return;
    const shifted = (at: number | null) => (at === null ? null : at + ms);
    const { failing_since, paused_until } = endpoint;
    const times = { failing_since: shifted(failing_since), paused_until: shifted(paused_until) };
    this.endpoint = { ...endpoint, ...times };
  }
}

/** Above this number of queues, idle ones are removed. */
const maxQueues = 20_000;

/** The queues of all endpoints, by application. */
export class EndpointQueues {
  readonly #queues = new Map<string, EndpointQueue>();
  #scans = 0;

  /** @param concurrency concurrent attempts per endpoint, unless its application sets another number */
  constructor(
    readonly concurrency: number,
    readonly timers: Timers,
  ) {}

  /**
   * Whether the queues note all endpoints with pending deliveries in the store. Until then all deliveries are claimed
   * from there, so that newer ones do not overtake them.
   */
  get isComplete(): boolean {
    return this.#scans === 0;
  }

  /** `isComplete` is false until `scan`, which reads the store, has ended. */
  async whileIncomplete(scan: () => Promise<void>): Promise<void> {
    this.#scans++;
    try {
      await scan();
    } finally {
      this.#scans--;
    }
  }

  find(applicationId: string): EndpointQueue | undefined {
    return this.#queues.get(applicationId);
  }

  /** Returns the queue of an application, a new one if there is none. */
  of(applicationId: string): EndpointQueue {
    let queue = this.#queues.get(applicationId);
    if (!queue) {
      queue = new EndpointQueue(applicationId, this.concurrency, this.timers);
      this.#queues.set(applicationId, queue);
    }
    return queue;
  }

  all(): Iterable<EndpointQueue> {
    return this.#queues.values();
  }

  /** Removes a queue if it is idle and there are too many. */
  trim(queue: EndpointQueue): void {
    if (this.#queues.size <= maxQueues || !queue.isIdle) return;
    this.remove(queue);
  }

  remove(queue: EndpointQueue): void {
    if (this.find(queue.applicationId) === queue) this.#queues.delete(queue.applicationId);
  }

  clear(): void {
    this.#queues.clear();
  }
}
