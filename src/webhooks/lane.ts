import type { Recipient } from "../domain/applications.ts";
import type { Endpoint } from "../domain/endpoints.ts";
import { hour } from "../domain/time.ts";
import { Pace } from "./pace.ts";
import { Queue } from "./queue.ts";

/** A lane claims twice as many as it may have under way, within these bounds, */
const [leastClaimed, mostClaimed] = [8, 128];
/** and no more than leave in this time: what waits in memory for slow endpoints is room that others lack. */
const claimedForSeconds = 0.25;
/** Timers beyond this overflow; waking up early does no harm. */
const longestTimerMs = hour;

/** Everything that goes to the endpoint of one application, in its order. */
export class Lane {
  readonly queue = new Queue();
  pace: Pace;
  /** null: it does not exist any more; undefined: it has to be looked up before anything starts. */
  recipient: Recipient | null | undefined = undefined;
  /** Counts up whenever the application changes, so that an older look-up is not taken for the newest. */
  changes = 0;
  /** null: it has to be looked up before anything starts. */
  endpoint: Endpoint | null = null;
  /** The endpoint's, which `pace` and `endpoint` are of; null: not known yet. */
  generation: number | null = null;
  /** Attempts under way, those of earlier generations included. */
  inFlight = 0;
  /** Deliveries that were taken and are not in the queue yet. */
  arriving = 0;
  /** Results that are not on disk yet, and will say when to go on. */
  unrecorded = 0;
  isLookingUp = false;
  isClaiming = false;
  /** First attempts on their way back into the store, which nothing newer may overtake. */
  returning = 0;
  /** Whether first attempts are waiting in the store: what is published must then go behind them. */
  isBehind = false;
  /** When the next retry is due that is in the store. */
  retryAt: number | null = null;
  #timer: Timer | null = null;

  /** @param concurrency how many attempts may run at once, unless the application says so itself */
  constructor(
    readonly applicationId: string,
    readonly concurrency: number,
  ) {
    this.pace = new Pace({ max: concurrency });
  }

  get isDisabled(): boolean {
    return this.recipient !== null && (this.endpoint?.disabled_at ?? null) !== null;
  }

  /** Whether nothing is known that would be lost with it. */
  get isIdle(): boolean {
    const waits = this.isBehind || this.isClaiming || this.retryAt !== null || this.queue.length > 0;
    if (waits || this.isLookingUp || this.isDisabled) return false;
    return this.inFlight + this.unrecorded + this.arriving === 0;
  }

  /** Takes in what was looked up of the application. */
  reach(recipient: Recipient | null): void {
    this.recipient = recipient;
    this.pace.max = recipient?.webhook_concurrency ?? this.concurrency;
  }

  /** Whether what is published now may be started without going through the store. */
  isUpToDate(now: number): boolean {
    if (this.isDisabled || this.isBehind || this.isClaiming || this.returning > 0) return false;
    return !this.pace.isOpen && this.pace.resumeAt <= now;
  }

  /** Whether nothing may be sent for now: then nothing is kept in memory. */
  isHeldUp(now: number): boolean {
    return this.isDisabled || this.pace.resumeAt > now;
  }

  needsClaim(now: number): boolean {
    if (this.isClaiming || this.returning > 0 || this.arriving > 0 || this.isHeldUp(now)) return false;
    const few = this.claimSize / 4;
    if (this.isBehind) return this.queue.length < few;
    return this.retryAt !== null && this.retryAt <= now && this.queue.retries < few;
  }

  /** How many it claims from the store at once. */
  get claimSize(): number {
    const soon = Math.min(2 * this.pace.limit, Math.ceil(this.pace.perSecond * claimedForSeconds));
    return Math.min(mostClaimed, Math.max(leastClaimed, soon));
  }

  mayStart(now: number): boolean {
    return this.recipient !== undefined && !this.isDisabled && this.pace.canStart(now);
  }

  /** A retry in the store is due then. */
  retryBy(at: number): void {
    this.retryAt = Math.min(at, this.retryAt ?? at);
  }

  /** When there will be something to do, if nothing happens before; null: never. */
  wakeAt(): number | null {
    if (this.isDisabled) return null;
    if (this.queue.length > 0 || this.isBehind) return this.pace.resumeAt;
    return this.retryAt === null ? null : Math.max(this.retryAt, this.pace.resumeAt);
  }

  /** Calls `wake` in `inMs`, instead of what was set before; not at all where that has passed. */
  setTimer(wake: (() => void) | null, inMs = 0): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = wake && inMs > 0 ? setTimeout(wake, Math.min(inMs, longestTimerMs)) : null;
  }

  /** What is known of the application is out of date, and is looked up before anything starts. */
  forget(): void {
    this.changes++;
    this.recipient = undefined;
  }

  /**
   * The endpoint is of this generation. Of a newer one than before nothing is known: it is tried anew, slowly at first,
   * and what is under way to the former one does not count. Whether it is a newer one.
   */
  begin(generation: number, now: number): boolean {
    if (this.generation !== null && generation <= this.generation) return false;
    const isNewer = this.generation !== null;
    this.generation = generation;
    if (!isNewer) return false;
    this.endpoint = null;
    this.pace = new Pace({ max: this.pace.max, first: 1 });
    this.retryBy(now);
    return true;
  }

  /** The clock was moved by so much. */
  shift(ms: number): void {
    this.pace.shift(ms);
    const { endpoint } = this;
    if (endpoint?.failing_since) {
      this.endpoint = { ...endpoint, failing_since: endpoint.failing_since + ms };
    }
  }
}
