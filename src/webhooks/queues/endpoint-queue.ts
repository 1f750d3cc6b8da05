import type { Recipient } from "../../domain/applications.ts";
import type { AttemptResult, DueDelivery } from "../../domain/deliveries.ts";
import { type Endpoint, newEndpoint, storedPause } from "../../domain/endpoints.ts";
import { hour } from "../../domain/time.ts";
import { maxRetryAfterMs } from "../retry.ts";
import { DeliveryQueue } from "./delivery-queue.ts";
import { Pace } from "./pace.ts";
import type { Priority } from "./scheduler.ts";

/** A queue claims twice as many deliveries as may be under way, within these bounds, */
const [minClaim, maxClaim] = [8, 128];
/** and no more than start in this time: deliveries to slow endpoints take memory capacity from others. */
const claimedForSeconds = 0.25;
/** Longer timers overflow; waking up early does no harm. */
const maxTimerMs = hour;

/** More deliveries than that, published together, are a bulk: those of an event for many, or of many events. */
const mostOutsideBulk = 64;
/**
 * A backlog that begins outside of bulks is new for so many claims. They take more than what comes in the moments in which
 * nothing can be taken into memory; and an endpoint that falls behind takes no more than these before others.
 */
const claimsOfNewBacklog = 8;

/** Whether so many deliveries that were published together are a bulk, which gives way to what is for few. */
export const isBulk = (together: number): boolean => together > mostOutsideBulk;

/** An attempt under way. */
export interface UnderWay {
  delivery: DueDelivery;
  /** Something has changed since it was signed: if its request is not written yet, it is not sent. */
  isOutdated: boolean;
}

/** Everything that is sent to the endpoint of one application: its deliveries, in order, and when they may start. */
export class EndpointQueue {
  readonly deliveries = new DeliveryQueue();
  pace: Pace;
  /** null: the application does not exist any more; undefined: it has to be looked up before anything starts. */
  recipient: Recipient | null | undefined = undefined;
  /** Counts the changes of the application, so that the result of an older look-up is discarded. */
  changes = 0;
  /** null: it has to be looked up before anything starts. */
  endpoint: Endpoint | null = null;
  /** The generation of the endpoint that `pace` and `endpoint` belong to; null: not known yet. */
  generation: number | null = null;
  /** Attempts under way, those to earlier generations included. */
  readonly underWay = new Set<UnderWay>();
  /** Deliveries that are being published and have a place reserved. */
  reserved = 0;
  /** Results that are not on disk yet; they may bring a retry. */
  unrecorded = 0;
  isLookingUp = false;
  isClaiming = false;
  /** First attempts that are being written back into the store; nothing newer may overtake them. */
  returning = 0;
  /** Whether first attempts wait in the store: what is published then goes behind them. */
  hasBacklog = false;
  /** For so many claims they count as new. */
  claimsAsNew = 0;
  /** When the next retry in the store is due. */
  retryAt: number | null = null;
  /** Whether another process delivers to the endpoint now: what is under way here ends, and counts for nothing. */
  isLost = false;
  /** Whether a person has asked for something before the state of the endpoint was known. */
  #isAsked = false;
  #timer: Timer | null = null;

  /** @param concurrency how many attempts may run at once, unless the application sets it */
  constructor(
    readonly applicationId: string,
    readonly concurrency: number,
  ) {
    this.pace = new Pace({ max: concurrency });
  }

  get inFlight(): number {
    return this.underWay.size;
  }

  /** Whose turn it is where many wait: an endpoint that nothing waited for does not wait for the backlog of others. */
  get priority(): Priority {
    if (this.hasBacklog) return this.claimsAsNew > 0 ? "new" : "backlog";
    if (this.deliveries.firsts === 0) return "backlog";
    return this.deliveries.hasBulk ? "bulk" : "new";
  }

  /** Whether anything waits, in memory or in the store. */
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

  /** Whether attempts are under way, or anything of the queue is between memory and the store. */
  get isBusy(): boolean {
    return this.inFlight + this.unrecorded + this.reserved + this.returning > 0 || this.isClaiming;
  }

  /** Applies what was looked up; `recipient` is null when the application does not exist. */
  lookedUp(recipient: Recipient | null, endpoint: Endpoint | null, now: number): void {
    if (recipient) this.beginGeneration(recipient.endpoint_generation, now);
    this.takeUp(endpoint ?? this.endpointState, now);
    this.recipient = recipient;
    this.pace.max = recipient?.webhook_concurrency ?? this.concurrency;
  }

  /**
   * Takes up the state that the store has, where none is known yet. An endpoint that was failing, or had asked to be left
   * alone, is sent one delivery to begin with, when that time is over.
   */
  takeUp(endpoint: Endpoint, now: number): void {
    if (this.endpoint) return;
    this.endpoint = endpoint;
    // A clock that was far ahead may have given it its time.
    const pausedUntil = this.#isAsked ? 0 : Math.min(storedPause(endpoint), now + maxRetryAfterMs);
    this.#isAsked = false;
    if (endpoint.failing_since === null && pausedUntil <= now) return;
    this.pace = new Pace({ max: this.pace.max, first: 1, pausedUntil });
  }

  /** A person has asked for something: what holds the endpoint up is lifted, also what the store has of it. */
  resume(now: number): void {
    if (!this.endpoint) this.#isAsked = true;
    this.pace.resume(now);
  }

  /** The state of the endpoint; the initial one where none is known. */
  get endpointState(): Endpoint {
    return this.endpoint ?? newEndpoint(this.applicationId, this.generation ?? 0);
  }

  /** Whether a delivery that is published now may go into memory directly: nothing waits before it in the store. */
  canTake(now: number): boolean {
    if (this.isDisabled || this.hasBacklog || this.isClaiming || this.returning > 0) return false;
    return !this.pace.isOpen && this.pace.resumeAt <= now;
  }

  /** First attempts were left in the store, together with so many in all. */
  leftInStore(together: number): void {
    this.addBacklog(isBulk(together) ? 0 : claimsOfNewBacklog);
  }

  /** First attempts wait in the store, which are new for so many claims: no longer than what waits before them. */
  addBacklog(asNew: number): void {
    this.claimsAsNew = this.hasBacklog ? Math.min(this.claimsAsNew, asNew) : asNew;
    this.hasBacklog = true;
  }

  /** Whether nothing may be sent for now: then deliveries stay in the store. */
  isHeldUp(now: number): boolean {
    return this.isDisabled || this.pace.resumeAt > now;
  }

  needsClaim(now: number): boolean {
    if (this.isClaiming || this.returning > 0 || this.reserved > 0 || this.isHeldUp(now)) return false;
    const few = this.claimSize / 4;
    if (this.hasBacklog) return this.deliveries.length < few;
    return this.retryAt !== null && this.retryAt <= now && this.deliveries.retries < few;
  }

  /** How many deliveries one claim takes from the store. */
  get claimSize(): number {
    const soon = Math.min(2 * this.pace.limit, Math.ceil(this.pace.perSecond * claimedForSeconds));
    return Math.min(maxClaim, Math.max(minClaim, soon));
  }

  mayStart(now: number): boolean {
    return this.recipient !== undefined && !this.isDisabled && this.pace.canStart(now);
  }

  /** A retry in the store is due at this time. */
  retryBy(at: number): void {
    this.retryAt = Math.min(at, this.retryAt ?? at);
  }

  /** The result of an attempt is on disk. */
  recorded({ generation, next_attempt_at }: AttemptResult, now: number): void {
    this.unrecorded--;
    // Where a newer generation has begun meanwhile, the retry is due at once.
    if (generation !== this.generation) this.retryBy(now);
    else if (next_attempt_at !== null) this.retryBy(next_attempt_at);
  }

  /** When there will be something to do, if nothing happens before; null: never. */
  wakeAt(): number | null {
    if (this.isDisabled) return null;
    if (this.deliveries.length > 0 || this.hasBacklog) return this.pace.resumeAt;
    return this.retryAt === null ? null : Math.max(this.retryAt, this.pace.resumeAt);
  }

  /** Calls `wake` in `inMs`, in place of an earlier timer; sets none for a time that has passed. */
  setTimer(wake: (() => void) | null, inMs = 0): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = wake && inMs > 0 ? setTimeout(wake, Math.min(inMs, maxTimerMs)) : null;
  }

  /** The application has changed: what was not written yet is signed anew, or not sent. */
  edited(): void {
    for (const one of this.underWay) one.isOutdated = true;
    this.invalidate();
  }

  /** The application may have changed and is looked up again before anything starts. */
  invalidate(): void {
    this.changes++;
    this.recipient = undefined;
  }

  /**
   * The endpoint has this generation. A newer one than before starts without the earlier state: it begins with one
   * attempt at a time, and attempts under way to the former one do not count. Returns whether it is a newer one.
   */
  beginGeneration(generation: number, now: number): boolean {
    if (this.generation !== null && generation <= this.generation) return false;
    const isNewer = this.generation !== null;
    this.generation = generation;
    if (!isNewer) return false;
    this.endpoint = null;
    this.pace = new Pace({ max: this.pace.max, first: 1 });
    this.retryBy(now);
    return true;
  }

  /** The clock was moved by `ms`. */
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
