/**
 * Makes one HTTP request per attempt. What counts:
 *
 * - The status decides. It must arrive within the time allowed, which runs from the call of `send`
 *   over resolving, connecting, TLS and sending. A 2xx is a success. A redirect is not followed and
 *   is a failure like any other status.
 * - The body of an answer is only read to be shown. If it is endless, slow, broken off or malformed,
 *   the status stands: the receiver has answered, and to send again would be a repetition. Reading
 *   stops at a size and at the end of the time allowed; then the connection is closed.
 * - The receiver may close a kept connection at the very moment that it is used again. If one breaks
 *   before any byte of an answer, the request is made once more, at once, on a new connection and
 *   within the same time. Should the receiver have got it after all, the same `webhook-id` tells.
 */

import { checkWebhookUrl, guardedLookup, type Resolve } from "./address.ts";
import type { AnswerHeaders } from "./answer-headers.ts";
import type { Timings } from "./connection.ts";
import { Exchange, type Sending, unanswered } from "./exchange.ts";
import { canceled, type Failure, invalidHeaders } from "./outcome.ts";
import { Pool } from "./pool.ts";
import { proxyOf } from "./proxy.ts";
import { commonLines, requestHead, type Target, targetOf } from "./request.ts";
import type { Outcome } from "./retry.ts";

/** The time allowed for an attempt in total. */
export const attemptTimeoutMs = 15_000;

/** What is kept of an answer's body. */
export const keptBytes = 1_024;

/** URLs that are remembered as checked. */
const maxTargets = 10_000;

export interface SenderOptions {
  /** Whether http URLs, and addresses that are not public, may be called. */
  readonly allowPrivate: boolean;
  /** The value of `User-Agent`. */
  readonly userAgent: string;
  /** The time allowed for an attempt in total: `attemptTimeoutMs` unless given. */
  readonly timeoutMs?: number | undefined;
  /** How much of an answer's body is read at most: 16 KiB unless given. */
  readonly maxResponseBytes?: number;
  /** How much of that is handed back at most: 1 KiB unless given. */
  readonly keepBytes?: number;
  /** Whether the headers of answers are handed back: not unless given. */
  readonly keepHeaders?: boolean;
  /** Instead of the system's resolver. */
  readonly resolve?: Resolve | undefined;
  /**
   * The URL of a proxy, http or https, that every attempt goes through: by CONNECT to https targets, which are then
   * spoken to in TLS and checked as always. Its own address is not judged. Names are then resolved by the proxy, so
   * that what they resolve to cannot be judged here: it is for the proxy to refuse addresses that are not public.
   * Hosts that are addresses, and names that are local by definition, are refused as always.
   */
  readonly proxy?: string | undefined;
  /** Certificates (PEM) to trust instead of the well-known authorities. */
  readonly ca?: string | undefined;
  /** How many connections there may be, of which unused ones are kept for later: 1,024 unless given. */
  readonly connections?: number | undefined;
  /** Milliseconds since the epoch, to read a date in `Retry-After`. */
  readonly now?: () => number;
}

export interface SendRequest {
  readonly url: string;
  /**
   * Sent beside `Host`, `Content-Length`, `User-Agent` and `Content-Type: application/json`, which may not be among
   * them. A value must hold no control character, and none beyond Latin-1.
   */
  readonly headers: Readonly<Record<string, string>>;
  /** Must not change until the attempt has ended. */
  readonly body: Uint8Array;
}

export interface SendResult extends Outcome {
  /** From the call to the end, in whole milliseconds. */
  readonly durationMs: number;
  /** The beginning of the answer's body, read as UTF-8, NUL replaced; "" when there was none. */
  readonly responseBody: string;
  /** Why it was no success, in one sentence for the endpoint's owner; null when it was one. */
  readonly error: string | null;
  /** As in `Failure`. */
  readonly speaks?: "http" | "https";
  /** The answer's headers, where the sender keeps them; they are as the receiver sent them. */
  readonly headers?: AnswerHeaders;
  readonly timings: Timings;
  /** Whether a kept connection turned out to be closed, so that the request was made twice. */
  readonly repeated: boolean;
}

export interface Sender {
  /** Makes one attempt and calls `done` with its result: once, and not before this has returned. */
  begin(request: SendRequest, done: (result: SendResult) => void): void;
  /** The same as a promise, which never rejects; `signal` ends the attempt as `canceled`. */
  send(request: SendRequest, signal?: AbortSignal): Promise<SendResult>;
  /** Ends what is under way as `canceled` and closes all connections. Later attempts end at once. */
  close(): void;
}

/**
 * How many attempts run at a time is up to the caller. On one core of two, 64 at a time with 700 bytes and nine headers
 * each, and without signing, an attempt costs 14 µs of CPU over http (50,000 a second) and 17 µs over https (27,000),
 * medians of four runs; 11 µs is what bare writes to sockets cost that read nothing of the answer but its status.
 *
 * @throws TypeError if the proxy or the user agent cannot be used
 */
export function createSender(options: SenderOptions): Sender {
  const {
    allowPrivate,
    timeoutMs = attemptTimeoutMs,
    maxResponseBytes = 16_384,
    keepBytes = keptBytes,
    keepHeaders = false,
  } = options;
  const proxy = options.proxy === undefined ? null : proxyOf(options.proxy);
  const underWay = new Set<Exchange>();
  const sending: Sending = {
    pool: new Pool({ capacity: options.connections ?? 1_024, inUse: () => underWay.size }),
    connect: { lookup: guardedLookup({ allowPrivate }, options.resolve), ca: options.ca, proxy },
    limits: { maxBodyBytes: maxResponseBytes, keepBytes, keepHeaders },
    timeoutMs,
    now: options.now ?? Date.now,
    underWay,
  };
  const common = commonLines(options.userAgent);
  let timer: Timer | null = null;
  let closed = false;

  // To check and take apart a URL costs a sixth of sending to it, and the same few come again and again.
  const targets = new Map<string, Target>();

  /** @returns the reason if the URL may not be called */
  function targetFor(url: string): Target | string {
    const known = targets.get(url);
    if (known !== undefined) return known;
    const checked = checkWebhookUrl(url, { allowPrivate });
    if (!checked.ok) return checked.reason;
    const target = targetOf(checked.url, common, proxy);
    if (targets.size >= maxTargets) targets.clear();
    targets.set(url, target);
    return target;
  }

  /**
   * Ends the attempts whose time is over. One timer does for all: they have the same time, so that those under way
   * are in the order of their ends. It keeps no process alive; their sockets do.
   */
  function endOverdue(): void {
    timer = null;
    const now = performance.now();
    for (const exchange of sending.underWay) {
      // A timer may be early by a part of a millisecond.
      const left = exchange.startedAt + timeoutMs - now;
      if (left >= 1) {
        timer = setTimeout(endOverdue, left).unref();
        return;
      }
      exchange.timeOut();
    }
  }

  function begin({ url, headers, body }: SendRequest, done: Done, signal?: AbortSignal): void {
    const target = targetFor(url);
    if (typeof target === "string") return void withoutRequest({ class: "blocked", error: target }, done);
    if (closed || signal?.aborted === true) return void withoutRequest(canceled, done);
    const head = requestHead(target, headers, body.length);
    if (head === null) return void withoutRequest(invalidHeaders, done);
    timer ??= setTimeout(endOverdue, timeoutMs).unref();
    new Exchange({ target, head, body, signal, done }, sending).begin();
  }

  return {
    begin: (request, done) => begin(request, done),
    send: (request, signal) => new Promise((resolve) => begin(request, resolve, signal)),
    close() {
      closed = true;
      for (const exchange of [...sending.underWay]) exchange.cancel();
      sending.pool.close();
      if (timer !== null) clearTimeout(timer);
    },
  };
}

type Done = (result: SendResult) => void;

function withoutRequest(failure: Failure, done: Done): void {
  const result: SendResult = {
    ...unanswered(failure),
    durationMs: 0,
    responseBody: "",
    timings: { dnsMs: null, connectMs: null, tlsMs: null, firstByteMs: null },
    repeated: false,
  };
  queueMicrotask(() => done(result));
}
