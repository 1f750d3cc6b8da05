/**
 * The HTTP client for webhooks, and the one module of this folder that others import. It makes one request per attempt:
 *
 * - The status decides. It must arrive within the time allowed, which runs from the call of `send` over resolving,
 *   connecting, TLS and context. A 2xx is a success. A redirect is not followed and is a failure like any other status.
 * - The body of an answer is read only to be shown. If it is endless, slow, broken off or malformed, the status stands:
 *   the receiver has answered, and another request would be a repetition. Reading stops at a size and at the end of the
 *   time allowed; then the connection is closed.
 * - A receiver may close a kept connection at the very moment that it is used again. If one breaks before any byte of an
 *   answer, the request is made once more, at once, on a new connection and within the same time. If the receiver has
 *   got both, it recognises the `webhook-id`.
 */

import { checkWebhookUrl, guardedLookup, type Resolve } from "../address.ts";
import { proxyOf } from "../egress-proxy.ts";
import { canceled, invalidHeaders } from "./failures.ts";
import { OutgoingRequest, type SenderContext } from "./outgoing-request.ts";
import { Pool } from "./pool.ts";
import { commonLines, type Destination, destinationOf, requestHead } from "./request-head.ts";
import { type PassedStage, type SendResult, unsent } from "./result.ts";

export type { PassedStage, ResponseHeaders, SendResult } from "./result.ts";
export { unsent } from "./result.ts";

/** The time allowed for an attempt in total. */
export const attemptTimeoutMs = 15_000;

/** What is read of an answer's body. */
const maxReadBytes = 16_384;

/** What is kept of it. */
export const keptBytes = 1_024;

/** URLs that are remembered as checked. */
const maxDestinations = 10_000;

export interface SenderOptions {
  /** Whether http URLs, and addresses that are not public, may be called. */
  readonly allowPrivate: boolean;
  /** The value of `User-Agent`. */
  readonly userAgent: string;
  /** The time allowed for an attempt in total: `attemptTimeoutMs` unless given. */
  readonly timeoutMs?: number | undefined;
  /** How much of an answer's body is handed back at most: 1 KiB unless given. */
  readonly keepBytes?: number;
  /** Whether the headers of answers are handed back: not unless given. */
  readonly keepHeaders?: boolean;
  /** Resolves names, instead of the system. */
  readonly resolve?: Resolve | undefined;
  /**
   * The URL of a proxy, http or https, that every attempt goes through: by CONNECT to https receivers, whose
   * certificates are checked as without it. Its own address is not checked. The proxy resolves names, so it has to
   * refuse addresses that are not public. Hosts that are addresses, and names that are local by definition, are refused
   * as without it.
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
  /** Asked whenever the request is about to be written, which may be long after `send`: false ends it as `canceled`. */
  readonly mayBeSent?: () => boolean;
  /** Called with each stage that is completed, and the milliseconds since the attempt began. Must not throw. */
  readonly watch?: ((stage: PassedStage, atMs: number) => void) | undefined;
}

export interface Sender {
  /** Makes one attempt. Never rejects; `signal` ends the attempt as `canceled`. */
  send(request: SendRequest, signal?: AbortSignal): Promise<SendResult>;
  /** Ends what is under way as `canceled` and closes all connections. Later attempts end at once. */
  close(): void;
}

/**
 * The caller bounds how many attempts run at a time.
 *
 * @throws TypeError if the proxy or the user agent cannot be used
 */
export function createSender(options: SenderOptions): Sender {
  const { allowPrivate, timeoutMs = attemptTimeoutMs, keepBytes = keptBytes, keepHeaders = false } = options;
  const proxy = options.proxy === undefined ? null : proxyOf(options.proxy);
  const underWay = new Set<OutgoingRequest>();
  const context: SenderContext = {
    pool: new Pool({ capacity: options.connections ?? 1_024, inUse: () => underWay.size }),
    connect: { lookup: guardedLookup({ allowPrivate }, options.resolve), ca: options.ca, proxy },
    limits: { maxBodyBytes: maxReadBytes, keepBytes, keepHeaders },
    timeoutMs,
    now: options.now ?? Date.now,
    underWay,
  };
  const common = commonLines(options.userAgent);
  let closed = false;

  // Checking and parsing a URL is a part of what sending costs, and most URLs come again.
  const destinations = new Map<string, Destination>();

  /** @returns the reason if the URL may not be called */
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
    async send({ url, headers, body, mayBeSent, watch }, signal) {
      const destination = destinationFor(url);
      if (typeof destination === "string") return unsent({ class: "blocked", error: destination });
      if (closed || signal?.aborted === true || mayBeSent?.() === false) return unsent(canceled);
      const head = requestHead(destination, headers, body.length);
      if (head === null) return unsent(invalidHeaders);
      const { promise, resolve: done } = Promise.withResolvers<SendResult>();
      new OutgoingRequest({ destination, head, body, mayBeSent, watch, signal, done }, context).begin();
      return promise;
    },
    close() {
      closed = true;
      for (const request of [...underWay]) request.cancel();
      context.pool.close();
    },
  };
}
