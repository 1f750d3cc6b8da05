import { DomainError } from "../../domain/errors.ts";
import { second } from "../../domain/time.ts";
import { type Authenticator, needsStream } from "../http/access.ts";
import type { Caller } from "../http/context.ts";
import { EventStream, type StreamEnding, type StreamPart } from "./event-stream.ts";
import { heartbeat, type StreamPosition } from "./frames.ts";
import { StreamReader, type StreamReaderOptions, type StreamStart } from "./reader.ts";
import { type StreamOwner, type StreamSlots, tryAgainLater } from "./slots.ts";

interface EventStreamsOptions extends StreamReaderOptions {
  readonly authenticator: Pick<Authenticator, "authenticate" | "changeCount">;
  readonly slots: StreamSlots;
  /** The time after which an idle stream sends a heartbeat. */
  readonly heartbeatMs?: number;
  /** The time after which a reader that takes nothing is disconnected. */
  readonly stalledMs?: number;
}

/** The caller and starting point of a new stream. */
interface StreamRequest extends StreamStart {
  readonly caller: Caller;
  /** Verified again before each part is sent. */
  readonly token: string;
  /** Closes the connection soon, even if the client does not read. */
  cut(): void;
}

/** The number of applications whose streams are woken in one tick of the event loop; requests run between ticks. */
const wokenAtOnce = 32;
const encoder = new TextEncoder();

/**
 * All open event streams. Each holds only its position: new deliveries are read from the log when the reader has taken
 * the previous ones, so that a slow reader costs no memory.
 */
export class EventStreams {
  readonly #options: EventStreamsOptions;
  readonly #reader: StreamReader;
  readonly #open = new Map<string, Set<EventStream<StreamPosition>>>();
  readonly #timer: Timer;
  #count = 0;
  #isClosed = false;
  #changeCount = 0;
  /** Applications with new deliveries. */
  readonly #toWake = new Set<string>();

  constructor(options: EventStreamsOptions) {
    this.#options = options;
    this.#reader = new StreamReader(options);
    const { heartbeatMs = 15 * second, stalledMs = 30 * second } = options;
    const check = () => this.#check(heartbeatMs, stalledMs);
    this.#timer = setInterval(check, Math.min(second, heartbeatMs, stalledMs));
    this.#timer.unref();
  }

  /** The number of open streams. */
  get count(): number {
    return this.#count;
  }

  /**
   * Opens a stream of an application that uses the event stream. Throws `invalid_cursor` for an id of another stream,
   * `rate_limited` when the application has too many streams open, `unavailable` while the server stops.
   */
  async open(request: StreamRequest): Promise<ReadableStream<Uint8Array>> {
    const { caller, token, cut } = request;
    const { application, grant } = caller;
    const { position, frames } = await this.#reader.start(grant, request);
    if (this.#isClosed) throw new DomainError("unavailable", "The server is stopping", tryAgainLater);
    this.#options.slots.take(grant);
    const streams = this.#open.get(application.id) ?? new Set();
    const stream = new EventStream({
      position,
      opening: encoder.encode(frames),
      next: (from, isReminded) => this.#next(token, from, isReminded),
      ended: (reason) => {
        this.#ended(stream, grant, reason);
        if (reason === "stalled") cut();
      },
    });
    this.#open.set(application.id, streams.add(stream));
    this.#count++;
    return stream.readable;
  }

  /** Wakes the streams of applications with new deliveries. */
  wake(applicationIds: readonly string[]): void {
    const isWaking = this.#toWake.size > 0;
    for (const id of applicationIds) if (this.#open.has(id)) this.#toWake.add(id);
    if (!isWaking && this.#toWake.size > 0) setImmediate(() => this.#wakeSome());
  }

  /** Wakes all streams, when the applications with new deliveries are not known. */
  wakeAll(): void {
    this.wake([...this.#open.keys()]);
  }

  #wakeSome(): void {
    this.#reader.forget();
    let count = 0;
    for (const id of this.#toWake) {
      if (count++ === wokenAtOnce) break;
      this.#toWake.delete(id);
      for (const stream of this.#open.get(id) ?? []) stream.wake();
    }
    if (this.#toWake.size > 0) setImmediate(() => this.#wakeSome());
  }

  /** Ends all streams and refuses new ones. */
  close(): void {
    this.#isClosed = true;
    clearInterval(this.#timer);
    for (const stream of this.#all()) stream.end("stopping");
  }

  #all(): EventStream<StreamPosition>[] {
    return [...this.#open.values()].flatMap((streams) => [...streams]);
  }

  #ended(stream: EventStream<StreamPosition>, owner: StreamOwner, reason: StreamEnding): void {
    const { applicationId } = owner;
    const streams = this.#open.get(applicationId);
    if (!streams?.delete(stream)) return;
    if (streams.size === 0) this.#open.delete(applicationId);
    this.#count--;
    this.#options.slots.release(owner);
    this.#options.log.info("stream.closed", { application_id: applicationId, reason });
  }

  #check(heartbeatMs: number, stalledMs: number): void {
    const now = performance.now();
    const { changeCount } = this.#options.authenticator;
    // Each woken stream verifies its token again.
    if (changeCount !== this.#changeCount) this.wakeAll();
    this.#changeCount = changeCount;
    // At most a tenth at a time, so that streams opened together spread out.
    let mayRemind = Math.ceil(this.#count / 10);
    for (const stream of this.#all()) {
      const quietMs = now - stream.sentAt;
      if (!stream.isTaken && quietMs >= stalledMs) stream.end("stalled");
      else if (stream.isTaken && quietMs >= heartbeatMs && mayRemind-- > 0) stream.remind();
    }
  }

  /** Returns the part after a position; null if the stream must end. */
  async #next(
    token: string,
    from: StreamPosition,
    isReminded: boolean,
  ): Promise<StreamPart<StreamPosition> | null> {
    const before = await this.#allowed(token);
    if (!before) return null;
    const read = await this.#reader.read(before.grant, from);
    // Checked again: access may have changed during the read.
    const caller = await this.#allowed(token);
    if (!caller) return null;
    const { position, isAll } = read;
    const bytes = this.#reader.signed(read, caller.application);
    return { bytes: bytes ?? (isReminded ? encoder.encode(heartbeat) : null), position, isAll };
  }

  /** Returns the current caller; null if it may no longer read the stream. */
  async #allowed(token: string): Promise<Caller | null> {
    try {
      const caller = await this.#options.authenticator.authenticate(token);
      needsStream(caller);
      return caller;
    } catch {
      return null;
    }
  }
}
