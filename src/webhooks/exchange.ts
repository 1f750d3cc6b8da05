/** An attempt as an exchange of bytes: over a kept connection or a new one, and to its end in any case. */

import { Answer, type AnswerLimits } from "./answer.ts";
import { Connection, type ConnectOptions, type Timings, type User } from "./connection.ts";
import { canceled, type Failure, failureOf, proxyFailure, statusError, timedOut } from "./outcome.ts";
import type { Pool } from "./pool.ts";
import type { Target } from "./request.ts";
import { type Outcome, parseRetryAfter } from "./retry.ts";
import type { SendResult } from "./sender.ts";

/** What all attempts of a sender share. */
export interface Sending {
  readonly pool: Pool;
  readonly connect: ConnectOptions;
  readonly limits: AnswerLimits;
  readonly timeoutMs: number;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** All that have begun and not ended, the first one first. */
  readonly underWay: Set<Exchange>;
}

/** What is to be sent, and who waits for the result. */
interface Order {
  readonly target: Target;
  readonly head: string;
  readonly body: Uint8Array;
  readonly signal: AbortSignal | undefined;
  readonly done: (result: SendResult) => void;
}

const proxyAuthenticationRequired = 407;

/** Calls `done` exactly once. */
export class Exchange implements User {
  /** On the clock of `performance.now`. */
  readonly startedAt = performance.now();

  readonly #order: Order;
  readonly #sending: Sending;
  #connection: Connection | null = null;
  #reused = false;
  #repeated = false;
  #answer: Answer;
  #silent = true;
  #sentAt = this.startedAt;
  #firstByteMs: number | null = null;
  #settled = false;

  constructor(order: Order, sending: Sending) {
    this.#order = order;
    this.#sending = sending;
    this.#answer = new Answer(sending.limits);
  }

  begin(): void {
    const { target, signal } = this.#order;
    this.#sending.underWay.add(this);
    signal?.addEventListener("abort", this.cancel, { once: true });
    const kept = this.#sending.pool.take(target.origin, this.startedAt);
    if (kept === null) this.#connect();
    else this.#use(kept);
  }

  #use(kept: Connection): void {
    this.#reused = true;
    this.#connection = kept;
    kept.user = this;
    kept.write(this.#order.head, this.#order.body);
  }

  ready(): void {
    this.#sentAt = performance.now();
    this.#connection?.write(this.#order.head, this.#order.body);
  }

  received(bytes: Buffer): void {
    const answer = this.#answer;
    this.#silent = false;
    answer.feed(bytes);
    if (answer.fault !== null) this.#fail(answer.fault);
    if (answer.status === null) return;
    const now = performance.now();
    this.#firstByteMs ??= Math.round((now - this.#sentAt) * 10) / 10;
    if (answer.ended) this.#settle(now);
  }

  gone(failure: Failure): void {
    if (this.#reused && this.#silent && !this.#repeated) {
      this.#repeated = true;
      this.#connect();
    } else {
      this.#fail(failure);
    }
  }

  timeOut(): void {
    this.#fail(timedOut(this.#sending.timeoutMs, this.#connection?.stage ?? "connecting"));
  }

  readonly cancel = (): void => this.#fail(canceled);

  #connect(): void {
    this.#sending.pool.makeRoom();
    try {
      this.#connection = new Connection(this.#order.target, this.#sending.connect, this);
    } catch (error) {
      const failure = failureOf(error, "connecting");
      queueMicrotask(() => this.#fail(failure));
    }
  }

  /** Ends it for want of an answer, unless there is one whose body was being read. */
  #fail(failure: Failure): void {
    const answered = this.#answer.close();
    this.#settle(performance.now(), answered ? null : failure);
  }

  #settle(now: number, failure: Failure | null = null): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#sending.underWay.delete(this);
    this.#order.signal?.removeEventListener("abort", this.cancel);
    this.#release(now);
    const timings = this.#connection?.timings ?? noTimings;
    this.#order.done({
      ...(failure === null ? this.#outcome() : unanswered(failure)),
      durationMs: Math.round(now - this.startedAt),
      responseBody: this.#answer.text(),
      ...(this.#sending.limits.keepHeaders && { headers: this.#answer.headers }),
      timings: { ...(this.#reused && !this.#repeated ? noTimings : timings), firstByteMs: this.#firstByteMs },
      repeated: this.#repeated,
    });
  }

  /**
   * Keeps the connection or closes it. It is closed where the receiver answered without reading all of the request,
   * and after a repetition: this receiver may be one that closes without notice after every answer.
   */
  #release(now: number): void {
    const connection = this.#connection;
    if (connection === null) return;
    const { keepMs } = this.#answer;
    if (keepMs > 0 && !this.#repeated && connection.isOpen && connection.isDrained) {
      this.#sending.pool.keep(connection, keepMs, now);
    } else {
      connection.destroy();
    }
  }

  #outcome(): OutcomeAndError {
    const { status, retryAfter } = this.#answer;
    const { connect, now } = this.#sending;
    const byProxy = connect.proxy !== null && !this.#order.target.encrypted;
    if (byProxy && status === proxyAuthenticationRequired) return unanswered(proxyFailure(status));
    const error = statusError(status ?? 0);
    return {
      class: error === null ? "ok" : "status",
      status,
      retryAfterMs: retryAfter === null ? null : parseRetryAfter(retryAfter, now()),
      error,
    };
  }
}

type OutcomeAndError = Pick<SendResult, keyof Outcome | "error">;

const noTimings: Timings = { dnsMs: null, connectMs: null, tlsMs: null, firstByteMs: null };

export function unanswered(failure: Failure): OutcomeAndError {
  return { ...failure, status: null, retryAfterMs: null };
}
