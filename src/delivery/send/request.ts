import { parseRetryAfter } from "../retry.ts";
import { Connection, type ConnectionOwner, type ConnectOptions } from "./connection.ts";
import type { Pool } from "./pool.ts";
import type { Destination } from "./request-head.ts";
import { type ResponseLimits, ResponseParser } from "./response.ts";
import {
  canceled,
  failureOf,
  noTimings,
  type PassedStage,
  proxyFailure,
  type SendFailure,
  type SendOutcome,
  type SendResult,
  statusError,
  timedOut,
  unanswered,
} from "./result.ts";

/** The request of one attempt: uses an idle connection or a new one, and always ends with a result. */

/** Dependencies and state that all requests of a sender share. */
export interface SenderContext {
  readonly pool: Pool;
  readonly connect: ConnectOptions;
  readonly limits: ResponseLimits;
  readonly timeoutMs: number;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Requests that have begun and not ended. */
  readonly inFlight: Set<OutgoingRequest>;
}

interface OutgoingRequestOptions {
  readonly destination: Destination;
  readonly head: string;
  readonly body: Uint8Array;
  readonly mayBeSent: (() => boolean) | undefined;
  readonly connecting: ((cancel: () => void) => void) | undefined;
  readonly watch: ((stage: PassedStage, atMs: number) => void) | undefined;
  readonly signal: AbortSignal | undefined;
  readonly done: (result: SendResult) => void;
}

const proxyAuthenticationRequired = 407;

const tenths = (ms: number): number => Math.round(ms * 10) / 10;

/** A request in progress. Calls `done` exactly once. */
export class OutgoingRequest implements ConnectionOwner {
  readonly #startedAt = performance.now();
  readonly #timer: Timer;
  readonly #options: OutgoingRequestOptions;
  readonly #context: SenderContext;
  readonly #response: ResponseParser;
  #connection: Connection | null = null;
  #isReused = false;
  #isRepeated = false;
  #isSilent = true;
  #isSettled = false;
  #isWritten = false;
  #sentAt = this.#startedAt;
  #firstByteMs: number | null = null;

  constructor(options: OutgoingRequestOptions, context: SenderContext) {
    this.#options = options;
    this.#context = context;
    this.#response = new ResponseParser(context.limits);
    // The timer need not keep the process alive: the socket does.
    this.#timer = setTimeout(() => this.#timeOut(), context.timeoutMs).unref();
  }

  begin(): void {
    const { destination, signal, connecting } = this.#options;
    this.#context.inFlight.add(this);
    signal?.addEventListener("abort", this.cancel, { once: true });
    const kept = this.#context.pool.take(destination.origin, this.#startedAt);
    if (kept === null) {
      connecting?.(this.#cancelUnwritten);
      this.#connect();
    } else this.#use(kept);
  }

  ready(): void {
    if (this.#options.mayBeSent?.() === false) {
      this.cancel();
      return;
    }
    this.#sentAt = performance.now();
    this.#isWritten = true;
    this.#connection?.write(this.#options.head, this.#options.body);
    this.passed("sent");
  }

  passed(stage: PassedStage): void {
    this.#options.watch?.(stage, tenths(performance.now() - this.#startedAt));
  }

  received(bytes: Buffer): void {
    const response = this.#response;
    this.#isSilent = false;
    response.feed(bytes);
    if (response.fault !== null) this.#fail(response.fault);
    if (response.status === null) return;
    const now = performance.now();
    if (this.#firstByteMs === null) {
      this.#firstByteMs = tenths(now - this.#sentAt);
      this.passed("firstByteMs");
    }
    if (response.ended) this.#settle(now);
  }

  gone(failure: SendFailure): void {
    if (this.#isReused && this.#isSilent && !this.#isRepeated) {
      this.#isRepeated = true;
      this.#connect();
    } else {
      this.#fail(failure);
    }
  }

  #timeOut(): void {
    this.#fail(timedOut(this.#context.timeoutMs, this.#connection?.stage ?? "connecting"));
  }

  readonly cancel = (): void => this.#fail(canceled);

  readonly #cancelUnwritten = (): void => {
    if (!this.#isWritten) this.cancel();
  };

  #use(kept: Connection): void {
    this.#isReused = true;
    this.#connection = kept;
    kept.owner = this;
    kept.write(this.#options.head, this.#options.body);
  }

  #connect(): void {
    this.#context.pool.evictIfFull();
    try {
      this.#connection = new Connection(this.#options.destination, this.#context.connect, this);
    } catch (error) {
      const failure = failureOf(error, "connecting");
      queueMicrotask(() => this.#fail(failure));
    }
  }

  /** Ends the request. A status that has arrived still counts; then only the body is incomplete. */
  #fail(failure: SendFailure): void {
    const isAnswered = this.#response.close();
    this.#settle(performance.now(), isAnswered ? null : failure);
  }

  #settle(now: number, failure: SendFailure | null = null): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    clearTimeout(this.#timer);
    this.#context.inFlight.delete(this);
    this.#options.signal?.removeEventListener("abort", this.cancel);
    this.#release(now);
    const hasConnected = !this.#isReused || this.#isRepeated;
    const timings = (hasConnected ? this.#connection?.timings : null) ?? noTimings;
    this.#options.done({
      ...(failure === null ? this.#outcome() : unanswered(failure)),
      durationMs: Math.round(now - this.#startedAt),
      responseBody: this.#response.text(),
      ...(this.#context.limits.keepHeaders && { headers: this.#response.headers }),
      timings: { ...timings, firstByteMs: this.#firstByteMs },
      repeated: this.#isRepeated,
    });
  }

  /**
   * Keeps the connection or closes it. It is closed if the receiver answered before it read all of the request, and
   * after a repetition, because some receivers close without notice after every answer.
   */
  #release(now: number): void {
    const connection = this.#connection;
    if (connection === null) return;
    const { keepMs } = this.#response;
    if (keepMs > 0 && !this.#isRepeated && connection.isOpen && connection.isDrained) {
      this.#context.pool.keep(connection, keepMs, now);
    } else {
      connection.destroy();
    }
  }

  #outcome(): SendOutcome {
    const { status, retryAfter } = this.#response;
    const { connect, now } = this.#context;
    const isReadByProxy = connect.proxy !== null && !this.#options.destination.encrypted;
    if (isReadByProxy && status === proxyAuthenticationRequired) return unanswered(proxyFailure(status));
    const error = statusError(status ?? 0);
    return {
      class: error === null ? "ok" : "status",
      status,
      retryAfterMs: retryAfter === null ? null : parseRetryAfter(retryAfter, now()),
      error,
    };
  }
}
