import { checkWebhookUrl, guardedLookup, proxyOf, type Resolve } from "./address.ts";
import { Pool } from "./pool.ts";
import { OutgoingRequest, type SenderContext } from "./request.ts";
import { commonLines, type Destination, destinationOf, requestHead } from "./request-head.ts";
import { canceled, invalidHeaders, type PassedStage, type SendResult, unsent } from "./result.ts";

/**
 * The HTTP client for webhooks, and the only module of this folder that others import. It makes one request per
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

export type { PassedStage, ResponseHeaders, SendResult } from "./result.ts";
export { unsent } from "./result.ts";

/** The time limit of an attempt. */
export const attemptTimeoutMs = 15_000;

/** The most bytes of an answer's body that are read. */
const maxReadBytes = 16_384;

/** The most bytes of it that are kept. */
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
  /** Whether the result has the headers of the answer; by default it has not. */
  readonly keepHeaders?: boolean;
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
  /** The maximum number of connections, idle ones included. */
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
  const { allowPrivate, timeoutMs = attemptTimeoutMs, keepBytes = keptBytes, keepHeaders = false } = options;
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
      const given = { destination, head, body, mayBeSent, connecting, watch, signal, done };
      new OutgoingRequest(given, context).begin();
      return promise;
    },
    close() {
      closed = true;
      for (const request of [...inFlight]) request.cancel();
      context.pool.close();
    },
  };
}
