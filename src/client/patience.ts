import { retryAfterMs } from "./errors.ts";
import { sleep } from "./sleep.ts";

/** How long a client waits for a server that is busy. */
export interface Patience {
  /** Repetitions of a request, at most; by default 5. */
  readonly maxRetries?: number;
  /** A server that asks for a longer wait is not waited for; by default a minute. */
  readonly maxWaitMs?: number;
  /** Called before each wait. */
  waiting?(waitMs: number, status: number): void;
}

const firstWaitMs = 1_000;

/** Repeats a request that the server refuses for now, as `Retry-After` says, or after 1, 2, 4 … seconds. */
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

/** Whether the request may be repeated: 429 is said before anything is done; after the others a POST may be done. */
function isForNow(status: number, method: string): boolean {
  return status === 429 || ((status === 502 || status === 503 || status === 504) && method !== "POST");
}

/** A copy whose body can be sent while that of the request stays unread. */
export function copyOf(request: Request): Request {
  // The types of Bun and of Node differ in what a clone has; both give a request of their own.
  return request.clone() as Request;
}
