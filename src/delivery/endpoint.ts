import { type Recipient, usesOnlyStream } from "../domain/applications.ts";
import type { AttemptResult, Claimed, DueDelivery } from "../domain/deliveries.ts";
import { afterAttempt, type Endpoint, newEndpoint } from "../domain/endpoints.ts";
import type { EndpointNotice } from "../domain/notices.ts";
import { second } from "../domain/time.ts";
import { gone, isOverloaded } from "./judge.ts";
import { Pace } from "./pace.ts";
import { DeliveryQueue, type Priority } from "./scheduler.ts";
import { maxRetryAfterMs, type OutcomeClass, type SendResult } from "./send/send.ts";

/** The least deliveries that a claim takes, if as many are due. */
const minClaim = 8;
/** The most deliveries that a claim takes. */
const maxClaim = 128;
/**
 * A claim takes no more deliveries than start within this time, unless `minClaim` is more: deliveries to slow endpoints
 * take memory from others.
 */
const claimedForSeconds = 0.25;

/**
 * More deliveries than this that are published together are a bulk. They belong to one event with many subscribers, or
 * to many events.
 */
const mostOutsideBulk = 64;
/**
 * The number of claims for which a backlog counts as new, unless a bulk began the backlog. These claims cover what is
 * published while the queue cannot take deliveries into memory for a moment. An endpoint that falls behind gets no more
 * than these claims before others.
 */
const claimsOfNewBacklog = 8;

/** Whether this many deliveries, published together, are a bulk, which has a lower priority. */
export const isBulk = (together: number): boolean => together > mostOutsideBulk;

/** What an attempt begins with. */
interface AttemptStart {
  readonly queue: EndpointQueue;
  readonly delivery: DueDelivery;
  /** The state of the application with which the attempt is signed. */
  readonly recipient: Recipient;
  /** The pace of the endpoint generation at the start. The queue may have a newer pace when the attempt ends. */
  readonly pace: Pace;
  /** The priority of the queue at the start. */
  readonly priority: Priority;
  readonly startedAt: number;
}

/** An attempt in progress. */
export class InFlightAttempt {
  readonly queue: EndpointQueue;
  readonly recipient: Recipient;
  readonly pace: Pace;
  readonly priority: Priority;
  readonly startedAt: number;
  #delivery: DueDelivery;
  /** Whether the application or the subscription has changed since the request was signed. */
  #isOutdated = false;
  /** Whether the application or the subscription may have changed, until the next look-up. */
  #isInDoubt = false;
  /** Ends the attempt unless the request is already written; null if no connection had to be made. */
  #cancel: (() => void) | null = null;

  constructor({ queue, delivery, recipient, pace, priority, startedAt }: AttemptStart) {
    this.queue = queue;
    this.recipient = recipient;
    this.pace = pace;
    this.priority = priority;
    this.startedAt = startedAt;
    this.#delivery = delivery;
  }

  get delivery(): DueDelivery {
    return this.#delivery;
  }

  /** Whether the application or the subscription may have changed, until the next look-up. */
  get isInDoubt(): boolean {
    return this.#isInDoubt;
  }

  /** Whether the request may be written: nothing that it contains has changed, and this process owns the endpoint. */
  get mayBeWritten(): boolean {
    return !this.#isOutdated && !this.#isInDoubt && !this.queue.isLost;
  }

  /** Whether the called endpoint is of a former generation: the URL has changed since, or the endpoint was enabled. */
  get isFormer(): boolean {
    return this.recipient.endpoint_generation !== this.queue.generation;
  }

  /** Notes that a connection is being made. `cancel` ends the attempt unless the request is already written. */
  connecting(cancel: () => void): void {
    this.#cancel = cancel;
  }

  /**
   * Notes that the application or the subscription has changed since the request was signed. An attempt that is still
   * connecting ends at once: until its delivery is back in the queue, later deliveries would overtake it.
   */
  outdate(): void {
    this.#isOutdated = true;
    this.#cancel?.();
  }

  /**
   * Notes that the application or the subscription may have changed. The request is not written until `settleDoubt`.
   */
  doubt(): void {
    this.#isInDoubt = true;
  }

  /** Compares with the application that was found. The attempt goes on if the application has not changed. */
  settleDoubt(recipient: Recipient | null): void {
    if (!this.#isInDoubt) return;
    if (Bun.deepEquals(this.recipient, recipient)) this.#isInDoubt = false;
    else this.outdate();
  }

  /** Notes that the subscription was removed. */
  unsubscribe(): void {
    this.#delivery = withoutSubscription(this.#delivery);
    this.outdate();
  }
}

export const withoutSubscription = (delivery: DueDelivery): DueDelivery => ({
  ...delivery,
  isSubscribed: false,
});

/**
 * What an endpoint does at a time. Each state comes before those below it.
 *
 * - `lost`: another process owns it. Final: outcomes of attempts that are still in progress are ignored.
 * - `unknown`: its application must be looked up before an attempt.
 * - `claiming`: no delivery is in memory, and some are being read from the store.
 * - `disabled`: nothing is sent until it is enabled. Its deliveries stay in the store.
 * - `blocked`: nothing is sent until `wakeAt`, after throttling or while the circuit is open. Deliveries stay in the
 *   store.
 * - `full`: as many attempts are in progress as its pace allows.
 * - `idle`: no delivery is in memory. Retries in the store may be due later.
 * - `ready`: the next attempt may begin.
 */
export type EndpointState =
  | "lost"
  | "unknown"
  | "claiming"
  | "disabled"
  | "blocked"
  | "full"
  | "idle"
  | "ready";

/** What the outcome of an attempt changes. */
export interface Learned {
  /** The state to store; null if the change is not worth a write. */
  readonly endpoint: Endpoint | null;
  readonly notice: EndpointNotice | null;
}

/** `last_success_at` of an endpoint is written at most this often. */
const successEveryMs = 5 * second;

/** Failures on this side of the connection. They must not disable an endpoint. */
const ours: ReadonlySet<OutcomeClass> = new Set(["proxy", "internal", "canceled"]);

/**
 * The state machine of one application's endpoint: deliveries in memory, notes of deliveries in the store, attempts and
 * pace. It does no I/O and has no clock. The methods are the transitions; nothing else writes the fields.
 *
 * Deliveries move between the store and memory: `reserve` and `add` for those being published, `beginClaim` to
 * `endClaim` for those that are due, `recall` and `returned` on the way back, `take` and `begin` to `noteRecorded` for
 * an attempt. Whatever is on its way keeps newer first attempts from overtaking it.
 */
export class EndpointQueue {
  readonly #deliveries = new DeliveryQueue();
  #pace: Pace;
  /** null: the application does not exist or receives nothing; undefined: it must be looked up before an attempt. */
  #recipient: Recipient | null | undefined = undefined;
  /** Counts changes of the application, so that the result of an older look-up is discarded. */
  #changes = 0;
  /** The state of the endpoint; null until it is looked up. */
  #endpoint: Endpoint | null = null;
  /** The generation of the endpoint that `#pace` and `#endpoint` belong to; null until it is known. */
  #generation: number | null = null;
  /** Attempts in progress, to earlier generations as well. */
  readonly #attempts = new Set<InFlightAttempt>();
  /** Deliveries that are being published, with memory reserved. */
  #reserved = 0;
  /** Results that are not on disk yet, which may lead to retries. */
  #unrecorded = 0;
  #isLookingUp = false;
  #isClaiming = false;
  /** First attempts that are being written back into the store. Newer deliveries must not overtake them. */
  #returning = 0;
  /** Whether first attempts wait in the store. Then newer deliveries must wait there behind them. */
  #hasBacklog = false;
  /** The number of further claims for which the backlog counts as new. */
  #claimsAsNew = 0;
  /** When the next retry in the store is due; null for none. */
  #retryAt: number | null = null;
  #isLost = false;
  /** Whether a person requested deliveries before the state of the endpoint was known. */
  #isRequested = false;

  /** @param concurrency concurrent attempts, unless the application sets another number */
  constructor(
    readonly applicationId: string,
    readonly concurrency: number,
  ) {
    this.#pace = new Pace({ max: concurrency });
  }

  // States

  state(now: number): EndpointState {
    if (this.#isLost) return "lost";
    if (this.#recipient === undefined) return "unknown";
    if (this.#isClaiming && this.#deliveries.length === 0) return "claiming";
    if (this.#isDisabled) return "disabled";
    if (this.#pace.resumeAt > now) return "blocked";
    if (this.#pace.inFlight >= this.#pace.limit) return "full";
    return this.#deliveries.length === 0 ? "idle" : "ready";
  }

  get isLost(): boolean {
    return this.#isLost;
  }

  get recipient(): Recipient | null | undefined {
    return this.#recipient;
  }

  get generation(): number | null {
    return this.#generation;
  }

  /** The state of the endpoint; the initial state if none is known. */
  get endpoint(): Endpoint {
    return this.#endpoint ?? newEndpoint(this.applicationId, this.#generation ?? 0);
  }

  /** Attempts in progress, to earlier generations as well. */
  get attempts(): Iterable<InFlightAttempt> {
    return this.#attempts;
  }

  /** The number of deliveries that are in memory, or being published into it. */
  get queued(): number {
    return this.#deliveries.length + this.#reserved;
  }

  /** The scheduling priority, so that an endpoint without a backlog does not wait for the backlogs of others. */
  get priority(): Priority {
    if (this.#hasBacklog) return this.#claimsAsNew > 0 ? "new" : "backlog";
    if (this.#deliveries.firsts === 0) return "backlog";
    return this.#deliveries.hasBulk ? "bulk" : "new";
  }

  /** Whether deliveries wait in memory or in the store. */
  get hasMore(): boolean {
    return this.#deliveries.length > 0 || this.#hasBacklog || this.#retryAt !== null;
  }

  /** Whether the queue holds no state that cannot be read from the store again. */
  get isForgettable(): boolean {
    if (this.hasMore || this.isReading || this.#isDisabled) return false;
    return this.#attempts.size + this.#unrecorded + this.#reserved === 0;
  }

  /** Whether attempts are in progress, or anything of the queue is between memory and the store. */
  get isBusy(): boolean {
    const underWay = this.#attempts.size + this.#unrecorded + this.#reserved + this.#returning;
    return underWay > 0 || this.#isClaiming;
  }

  /** Whether the state of the endpoint or its deliveries are being read from the store. */
  get isReading(): boolean {
    return this.#isLookingUp || this.#isClaiming;
  }

  get #isDisabled(): boolean {
    return this.#recipient !== null && (this.#endpoint?.disabled_at ?? null) !== null;
  }

  /**
   * Whether sending is suspended: disabled or blocked, also while the application is being looked up. Then deliveries
   * stay in the store.
   */
  isSuspended(now: number): boolean {
    return this.#isDisabled || this.#pace.resumeAt > now;
  }

  /** Whether a delivery that is published now may go directly into memory: no older delivery waits in the store. */
  canTake(now: number): boolean {
    if (this.#hasBacklog || this.#isClaiming || this.#returning > 0) return false;
    return !this.#pace.isOpen && !this.isSuspended(now);
  }

  /** Whether to claim deliveries from the store now. */
  needsClaim(now: number): boolean {
    if (this.#isLost || this.#recipient === undefined || this.isSuspended(now)) return false;
    if (this.#isClaiming || this.#returning > 0 || this.#reserved > 0) return false;
    const few = this.claimSize / 4;
    if (this.#hasBacklog) return this.#deliveries.length < few;
    return this.#retryAt !== null && this.#retryAt <= now && this.#deliveries.retries < few;
  }

  /** The number of deliveries of one claim. */
  get claimSize(): number {
    const soon = Math.min(2 * this.#pace.limit, Math.ceil(this.#pace.perSecond * claimedForSeconds));
    return Math.min(maxClaim, Math.max(minClaim, soon));
  }

  /** The number of further claims for which the backlog counts as new; 0 for an old backlog and for retries. */
  get claimsAsNew(): number {
    return this.#hasBacklog ? this.#claimsAsNew : 0;
  }

  /** Whether the endpoint's attempts take half of the connections. @param free the number of free connections */
  exceedsShare(free: number): boolean {
    return this.#pace.inFlight > 0 && this.#attempts.size * 2 >= free;
  }

  /** The time at which the queue has something to do, unless something happens earlier; null for never. */
  wakeAt(): number | null {
    if (this.#isDisabled || this.#isLost) return null;
    if (this.#deliveries.length > 0 || this.#hasBacklog) return this.#pace.resumeAt;
    return this.#retryAt === null ? null : Math.max(this.#retryAt, this.#pace.resumeAt);
  }

  // The application and its endpoint

  /** Begins a look-up. Returns a number to pass to `lookedUp`; null if a look-up is in progress. */
  beginLookUp(): number | null {
    if (this.#isLookingUp) return null;
    this.#isLookingUp = true;
    return this.#changes;
  }

  /**
   * Applies the result of a look-up, unless the application has changed since it began; then another look-up is needed.
   * `recipient` is null if the application does not exist or receives nothing.
   */
  lookedUp(begun: number, recipient: Recipient | null, endpoint: Endpoint | null, now: number): void {
    if (this.#changes !== begun) return;
    if (recipient) this.#beginGeneration(recipient.endpoint_generation, now);
    this.#restore(endpoint ?? this.endpoint, now);
    this.#recipient = recipient;
    this.#pace.max = recipient?.webhook_concurrency ?? this.concurrency;
    for (const attempt of this.#attempts) attempt.settleDoubt(recipient);
  }

  /** Ends a look-up, whether it has found a result or failed. */
  endLookUp(): void {
    this.#isLookingUp = false;
  }

  /**
   * Takes the stored state of the endpoint, unless a state of the same generation is known. An endpoint that was
   * failing or blocked begins with one attempt, after the end of the pause.
   */
  restore(endpoint: Endpoint, now: number): void {
    this.#beginGeneration(endpoint.generation, now);
    this.#restore(endpoint, now);
  }

  #restore(endpoint: Endpoint, now: number): void {
    if (this.#endpoint) return;
    this.#endpoint = endpoint;
    // Bounded, because a clock that was far ahead may have set the time.
    const pausedUntil = this.#isRequested ? 0 : Math.min(endpoint.paused_until ?? 0, now + maxRetryAfterMs);
    this.#isRequested = false;
    if (endpoint.failing_since === null && pausedUntil <= now) return;
    this.#pace = new Pace({ max: this.#pace.max, first: 1, pausedUntil });
  }

  /**
   * Notes that the application has changed. Requests that are not written yet are signed again, or not sent.
   *
   * @param generation the generation of its endpoint; null if it is not known
   * @returns whether a new generation of the endpoint has begun
   */
  applicationChanged(generation: number | null, now: number): boolean {
    for (const attempt of this.#attempts) attempt.outdate();
    this.#invalidate();
    return generation !== null && this.#beginGeneration(generation, now);
  }

  /**
   * Notes that the application or its subscriptions may have changed. A request that still connects goes on if the
   * look-up finds no change: this is called repeatedly while notifications are lost, in less time than some endpoints
   * take to connect.
   */
  applicationMayHaveChanged(): void {
    for (const attempt of this.#attempts) attempt.doubt();
    this.#invalidate();
  }

  /**
   * Notes that deliveries were stored for the application. If the queue knows it as one that gets no webhooks, that is
   * outdated, and the application is looked up again.
   */
  receivesWebhooks(): void {
    const recipient = this.#recipient;
    if (recipient === null || (recipient && usesOnlyStream(recipient))) this.#invalidate();
  }

  #invalidate(): void {
    this.#changes++;
    this.#recipient = undefined;
  }

  /** Notes that the endpoint was enabled, which began a generation. */
  enabled(generation: number, now: number): void {
    this.#invalidate();
    this.#beginGeneration(generation, now);
    // `#beginGeneration` does this only for a queue that already had a generation.
    this.scheduleRetry(now);
  }

  /**
   * Sets the generation of the endpoint. A generation that follows another begins without the state of the former one:
   * with one attempt at a time, not counting attempts in progress to the former one. Returns whether it follows
   * another.
   */
  #beginGeneration(generation: number, now: number): boolean {
    if (this.#generation !== null && generation <= this.#generation) return false;
    const isNewer = this.#generation !== null;
    this.#generation = generation;
    if (!isNewer) return false;
    this.#endpoint = null;
    this.#pace = new Pace({ max: this.#pace.max, first: 1 });
    this.scheduleRetry(now);
    return true;
  }

  /**
   * Ends a pause or the wait of an open circuit, because a person requested deliveries, which are due. If the
   * stored state is not read yet, the pause in it is ignored later.
   */
  sendNow(now: number): void {
    if (!this.#endpoint) this.#isRequested = true;
    this.#pace.resume(now);
    this.scheduleRetry(now);
  }

  /** Gives the endpoint up, because another process owns it. Returns the deliveries that were in memory. */
  lose(): DueDelivery[] {
    this.#isLost = true;
    return this.#deliveries.clear();
  }

  /** Shifts all times, because the clock was moved by `ms`. Returns the state to store; null if no time is stored. */
  shiftClock(ms: number): Endpoint | null {
    this.#pace.shift(ms);
    if (!this.#endpoint) return null;
    const shifted = (at: number | null) => (at === null ? null : at + ms);
    const { revision, failing_since, paused_until, resumes_at } = this.#endpoint;
    const times = {
      failing_since: shifted(failing_since),
      paused_until: shifted(paused_until),
      resumes_at: shifted(resumes_at),
    };
    this.#endpoint = { ...this.#endpoint, ...times, revision: revision + 1 };
    return times.failing_since || times.paused_until ? this.#endpoint : null;
  }

  // Deliveries between the store and memory

  /** Reserves memory for a delivery that is being published. */
  reserve(): void {
    this.#reserved++;
  }

  /** Ends a reservation. If the delivery was stored, `add` follows in the same step. */
  endReservation(): void {
    this.#reserved--;
  }

  /** Adds a delivery behind those in memory. */
  add(delivery: DueDelivery, isBulk = false): void {
    this.#deliveries.push(delivery, isBulk);
  }

  /** Notes that a first attempt stays in the store; `together` is the number of deliveries published with it. */
  noteLeftInStore(together: number): void {
    this.#addBacklog(isBulk(together) ? 0 : claimsOfNewBacklog);
  }

  /** Notes that deliveries were found in the store; `dueAt` is 0 for first attempts. */
  noteFound(dueAt: number): void {
    if (dueAt === 0 && !this.#hasBacklog) this.#addBacklog(0);
    this.scheduleRetry(dueAt);
  }

  /** Notes that a retry in the store is due at this time. */
  scheduleRetry(at: number): void {
    this.#retryAt = Math.min(at, this.#retryAt ?? at);
  }

  /**
   * Notes that first attempts wait in the store. The backlog counts as new for `asNew` claims, or for fewer if an older
   * backlog has fewer left.
   */
  #addBacklog(asNew: number): void {
    this.#claimsAsNew = this.#hasBacklog ? Math.min(this.#claimsAsNew, asNew) : asNew;
    this.#hasBacklog = true;
  }

  /** Begins a claim. Notes of what waits in the store are reset, so that notes made during the claim are kept. */
  beginClaim(): void {
    this.#isClaiming = true;
    this.#hasBacklog = false;
    this.#retryAt = null;
  }

  /**
   * Notes what a claim has left in the store. Before the claim, the backlog counted as new for `asNew` claims. `left`
   * is null if the claim has failed.
   */
  claimed(asNew: number, left: Pick<Claimed, "hasBacklog" | "retryAt"> | null): void {
    if (left === null || left.hasBacklog) this.#addBacklog(Math.max(0, asNew - 1));
    if (left !== null && left.retryAt !== null) this.scheduleRetry(left.retryAt);
  }

  /** Ends a claim, after its deliveries were added. */
  endClaim(): void {
    this.#isClaiming = false;
  }

  /** Removes all deliveries from memory, to be written back into the store, and `returned` one by one. */
  recall(): DueDelivery[] {
    const deliveries = this.#deliveries.clear();
    this.#unrecorded += deliveries.length;
    for (const { attempts } of deliveries) if (attempts === 0) this.#returning++;
    return deliveries;
  }

  /** Notes that a recalled delivery is in the store again, due `at` if it is a retry. */
  returned({ attempts }: DueDelivery, at: number): void {
    this.#unrecorded--;
    if (attempts > 0) this.scheduleRetry(at);
    else {
      this.#returning--;
      this.#addBacklog(0);
    }
  }

  /** Marks the deliveries of removed subscriptions, in memory and in attempts that are in progress. */
  unsubscribe(removed: ReadonlySet<string>): void {
    if (this.#deliveries.length > 0)
      this.#deliveries.change((delivery) =>
        removed.has(delivery.subscription_id) ? withoutSubscription(delivery) : delivery,
      );
    for (const attempt of this.#attempts)
      if (removed.has(attempt.delivery.subscription_id)) attempt.unsubscribe();
  }

  // Attempts

  /** Removes and returns the next delivery. */
  take(): DueDelivery | undefined {
    return this.#deliveries.shift();
  }

  /** Begins an attempt, of the priority that the queue had before it was taken. */
  begin(delivery: DueDelivery, recipient: Recipient, priority: Priority, startedAt: number): InFlightAttempt {
    const pace = this.#pace;
    pace.inFlight++;
    const attempt = new InFlightAttempt({ queue: this, delivery, recipient, pace, priority, startedAt });
    this.#attempts.add(attempt);
    return attempt;
  }

  /** Ends an attempt. `expectResult` and `learn` follow in the same step, unless the request was not written. */
  end(attempt: InFlightAttempt): void {
    attempt.pace.inFlight--;
    this.#attempts.delete(attempt);
  }

  /** Notes that a result is being recorded. `noteRecorded` follows when it is on disk. */
  expectResult(): void {
    this.#unrecorded++;
  }

  /** Notes that the result of an attempt is on disk. */
  noteRecorded({ generation, next_attempt_at }: AttemptResult, now: number): void {
    this.#unrecorded--;
    // The store makes the retry of an earlier generation due at once.
    if (generation !== this.#generation) this.scheduleRetry(now);
    else if (next_attempt_at !== null) this.scheduleRetry(next_attempt_at);
  }

  /**
   * Adapts pace and state to the outcome of an attempt that ended at `at`. Returns null for an outcome that does not
   * count, because the endpoint is lost or has a newer generation: an outcome belongs to the URL that was called.
   *
   * @param random from 0 to 1, for the jitter
   */
  learn(attempt: InFlightAttempt, sent: SendResult, at: number, random: number): Learned | null {
    if (this.#isLost || attempt.isFormer) return null;
    const { class: outcome, status, error, retryAfterMs } = sent;
    const { startedAt } = attempt;
    const isSuccess = outcome === "ok";
    this.#pace.learn({ startedAt, at, isSuccess, isThrottled: isOverloaded(status), retryAfterMs, random });
    if (ours.has(outcome)) return { endpoint: null, notice: null };
    const before = this.endpoint;
    const pausedUntil = this.#pace.pausedUntil > at ? this.#pace.pausedUntil : null;
    const isGone = status === gone;
    const resumesAt = this.#pace.resumeAt > at ? this.#pace.resumeAt : null;
    const ended = { at, isSuccess, isGone, status, error, outcome, pausedUntil, resumesAt };
    const { endpoint, notice } = afterAttempt(before, ended);
    const isStored = isWorthKeeping(before, endpoint);
    this.#endpoint = isStored ? endpoint : { ...endpoint, last_success_at: before.last_success_at };
    return { endpoint: isStored ? endpoint : null, notice };
  }
}

/** Whether to write the new state. Successes of a healthy endpoint are written at intervals. */
function isWorthKeeping(before: Endpoint, after: Endpoint): boolean {
  if (after.failing_since !== null || before.failing_since !== null) return true;
  // The absolute difference, because the clock may have been set back.
  return Math.abs((after.last_success_at ?? 0) - (before.last_success_at ?? 0)) >= successEveryMs;
}
