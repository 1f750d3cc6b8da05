import { checkWebhookUrl, guardedLookup, proxyOf, type Resolve } from "./address.ts";
import {
  Connection,
  type ConnectionOwner,
  type ConnectOptions,
  commonLines,
  type Destination,
  destinationOf,
  Pool,
  requestHead,
} from "./connection.ts";
import { type ResponseLimits, ResponseParser } from "./response.ts";
import {
  canceled,
  failureOf,
  invalidHeaders,
  noTimings,
  type PassedStage,
  parseRetryAfter,
  proxyFailure,
  type SendFailure,
  type SendOutcome,
  type SendResult,
  statusError,
  timedOut,
  unanswered,
  unsent,
} from "./result.ts";

/**
 * The sender of webhooks. Other folders import only this module and `address.ts`. A sender makes one request per
 * attempt:
 *
 * - The status decides. It must arrive within a time limit, which includes resolving, connecting, TLS and sending. A
 *   2xx is a success. A redirect is not followed and is a failure like any other status.
 * - The body of an answer is read only to be shown. If it is endless, slow, cut off or malformed, the status still
 *   counts, because another request would be a repetition. Reading stops at a size limit and at the time limit; then
 *   the connection is closed.
 * - A receiver may close an idle connection at the moment of its next use. If a reused connection breaks before the
 *   first byte of an answer, the request is sent once more at once, on a new connection, within the same time limit. If
 *   the receiver has got both requests, it recognises the `webhook-id`.
 */

export type { OutcomeClass, PassedStage, ResponseHeaders, SendResult } from "./result.ts";
export { maxRetryAfterMs, outcomeClasses, unsent } from "./result.ts";

/** The time limit of an attempt. */
export const attemptTimeoutMs = 15_000;

/** The most bytes of an answer's body that are read. */
const maxReadBytes = 16_384;

/** The most bytes of an answer's body that are kept. */
export const keptBytes = 1_024;

/** The most URLs whose destination is cached. */
const maxDestinations = 10_000;

export interface SenderOptions {
  /** Whether http URLs and addresses that are not public may be called. */
  readonly allowPrivate: boolean;
  /** The value of `User-Agent`. */
  readonly userAgent: string;
  /** The time limit of an attempt; by default `attemptTimeoutMs`. */
  readonly timeoutMs?: number | undefined;
  /** The most bytes of an answer's body in the result; by default 1 KiB. */
  readonly keepBytes?: number;
  /** Whether the result has the headers of the answer: always, or those of a failure. By default it has none. */
  readonly keepHeaders?: ResponseLimits["keepHeaders"];
  /** Resolves names; by default `resolveBySystem`. */
  readonly resolve?: Resolve | undefined;
  /**
   * The URL (http or https) of a proxy for all attempts. https receivers are reached by CONNECT, and their certificates
   * are checked as without a proxy. The proxy's own address is not checked. The proxy resolves names, so it must refuse
   * addresses that are not public. Literal addresses and names that are local by definition are refused here in any
   * case.
   */
  readonly proxy?: string | undefined;
  /** Certificates (PEM) to trust instead of the well-known authorities. */
  readonly ca?: string | undefined;
  /** The maximum number of connections, including idle connections. */
  readonly connections: number;
  /** Returns milliseconds since the epoch, to read a date in `Retry-After`. */
  readonly now: () => number;
}

export interface SendRequest {
  readonly url: string;
  /**
   * Headers besides `Accept`, `Host`, `Content-Length`, `User-Agent` and `Content-Type: application/json`, which must
   * not be among them. A value must have no control character, and only characters of Latin-1.
   */
  readonly headers: Readonly<Record<string, string>>;
  /** Must not change until the attempt has ended. */
  readonly body: Uint8Array;
  /** Called just before the request is written, perhaps long after `send`. If false, the attempt ends as `canceled`. */
  readonly mayBeSent?: () => boolean;
  /**
   * Called if a connection has to be made. `cancel` ends the attempt as `canceled` unless the request is already
   * written.
   */
  readonly connecting?: (cancel: () => void) => void;
  /** Called after each completed stage, with the milliseconds since the attempt began. Must not throw. */
  readonly watch?: ((stage: PassedStage, atMs: number) => void) | undefined;
}

export interface Sender {
  /** Makes one attempt. Never rejects; `signal` ends the attempt as `canceled`. */
  send(request: SendRequest, signal?: AbortSignal): Promise<SendResult>;
  /** Ends attempts in progress as `canceled` and closes all connections. Later attempts are canceled at once. */
  close(): void;
}

/**
 * Creates a sender. The caller bounds the number of concurrent attempts.
 *
 * @throws TypeError if the proxy or the user agent is invalid
 */
export function createSender(options: SenderOptions): Sender {
  const { allowPrivate, timeoutMs = attemptTimeoutMs, keepBytes = keptBytes, keepHeaders } = options;
  const proxy = options.proxy === undefined ? null : proxyOf(options.proxy);
  const inFlight = new Set<OutgoingRequest>();
  const context: SenderContext = {
    pool: new Pool({ capacity: options.connections, inUse: () => inFlight.size }),
    connect: { lookup: guardedLookup({ allowPrivate }, options.resolve), ca: options.ca, proxy },
    limits: { maxBodyBytes: maxReadBytes, keepBytes, keepHeaders },
    timeoutMs,
    now: options.now,
    inFlight,
  };
  const common = commonLines(options.userAgent);
  let closed = false;

  // Cached, because checking and parsing a URL is a considerable part of the cost of an attempt.
  const destinations = new Map<string, Destination>();

  /** Returns the destination of a URL, or the reason why it may not be called. */
  function destinationFor(url: string): Destination | string {
    const known = destinations.get(url);
    if (known !== undefined) return known;
    const checked = checkWebhookUrl(url, { allowPrivate });
    if (!checked.ok) return checked.reason;
    const destination = destinationOf(checked.url, common, proxy);
    if (destinations.size >= maxDestinations) destinations.clear();
    destinations.set(url, destination);
    return destination;
  }

  return {
    async send({ url, headers, body, mayBeSent, connecting, watch }, signal) {
      const destination = destinationFor(url);
      if (typeof destination === "string") return unsent({ class: "blocked", error: destination });
      if (closed || signal?.aborted === true || mayBeSent?.() === false) return unsent(canceled);
      const head = requestHead(destination, headers, body.length);
      if (head === null) return unsent(invalidHeaders);
      const { promise, resolve: done } = Promise.withResolvers<SendResult>();
      const requestOptions = { destination, head, body, mayBeSent, connecting, watch, signal, done };
      new OutgoingRequest(requestOptions, context).begin();
      return promise;
    },
    close() {
      closed = true;
      for (const request of [...inFlight]) request.cancel();
      context.pool.close();
    },
  };
}

/** Dependencies and state that all requests of a sender share. */
interface SenderContext {
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

/**
 * The request of one attempt, over an idle connection or a new one. It always ends with a result: `done` is called
 * exactly once.
 */
class OutgoingRequest implements ConnectionOwner {
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
