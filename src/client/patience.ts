import { retryAfterMs } from "./errors.ts";

/** The longest time of a timer; timers set for longer fire at once. */
const longestMs = 2 ** 31 - 1;

/** Waits, at most 24 days. Resolves early at the signal, without an error. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, Math.min(ms, longestMs));
    signal?.addEventListener("abort", end);
  });
}

/** How long a client waits for a busy server. */
export interface Patience {
  /** The maximum number of repetitions of a request; by default 5. */
  readonly maxRetries?: number;
  /** The longest wait, by default a minute. If the server asks for more, the request is not repeated. */
  readonly maxWaitMs?: number;
  /** Called before each wait. */
  waiting?(waitMs: number, status: number): void;
}

const firstWaitMs = 1_000;

/** Repeats a request that the server refuses temporarily: after `Retry-After`, or after 1, 2, 4 … seconds. */
export function patient(
  send: (request: Request) => Promise<Response>,
  { maxRetries = 5, maxWaitMs = 60_000, waiting }: Patience,
): (request: Request) => Promise<Response> {
  return async (request) => {
    for (let tries = 0; ; tries++) {
      const response = await send(copyOf(request));
      if (!isForNow(response.status, request.method) || tries >= maxRetries) return response;
      const waitMs = retryAfterMs(response) ?? firstWaitMs * 2 ** tries;
      if (waitMs > maxWaitMs) return response;
      await response.body?.cancel();
      waiting?.(waitMs, response.status);
      await sleep(waitMs, request.signal);
      request.signal.throwIfAborted();
    }
  };
}

/**
 * Whether the request may be repeated. 429 means that nothing was done; after 502 to 504, a POST may have been
 * executed.
 */
function isForNow(status: number, method: string): boolean {
  return status === 429 || ((status === 502 || status === 503 || status === 504) && method !== "POST");
}

/** Returns a copy to send, so that the body of the request stays unread. */
export function copyOf(request: Request): Request {
  // The types of Bun and Node differ for clones; both return a request.
  return request.clone() as Request;
}
