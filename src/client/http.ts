/** A wrong field of a request. */
interface WrongField {
  readonly in: string;
  readonly field: string;
  readonly message: string;
}

/** The details of an error answer. */
interface ErrorDetails {
  /** The HTTP status. */
  readonly status: number;
  /** The code, like `invalid_parameter`, or `invalid_client` of the token endpoint; "" when the answer has none. */
  readonly code: string;
  /** The id under which the server logged the request; "" when there is none. */
  readonly requestId: string;
  /** All wrong fields of the request. */
  readonly errors: readonly WrongField[];
  /** The wait requested by the server; null for none. */
  readonly retryAfterMs: number | null;
  /** The target of a redirect, which is not followed. */
  readonly location: string | null;
  /** The body of the answer, parsed when it is JSON. */
  readonly body: unknown;
}

/** An error answer of the API, thrown after all repetitions have failed. */
export class OnairError extends Error {
  override name = "OnairError";
  constructor(
    message: string,
    readonly details: ErrorDetails,
  ) {
    super(message);
  }

  get status(): number {
    return this.details.status;
  }

  get code(): string {
    return this.details.code;
  }
}

/** Reads an error answer. */
export async function errorOf(response: Response): Promise<OnairError> {
  const { status, headers } = response;
  const text = await response.text();
  const body = parsed(text);
  const { message, code, error, error_description, errors, request_id } = isRecord(body) ? body : {};
  const said = message ?? error_description;
  return new OnairError(typeof said === "string" ? said : `The answer was ${status}`, {
    status,
    code: textOf(error ?? code),
    requestId: textOf(request_id) || (headers.get("x-request-id") ?? ""),
    errors: Array.isArray(errors) ? errors : [],
    retryAfterMs: retryAfterMs(response),
    location: headers.get("location"),
    body: body ?? text,
  });
}

/** Returns the wait in `Retry-After`, which has seconds or a date; null when there is none. */
function retryAfterMs({ headers }: Response, now = Date.now()): number | null {
  const text = headers.get("retry-after")?.trim() ?? "";
  if (/^[0-9]{1,9}$/.test(text)) return Number(text) * 1000;
  const date = Date.parse(text);
  return Number.isNaN(date) ? null : Math.max(0, date - now);
}

const textOf = (value: unknown) => (typeof value === "string" ? value : "");

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The longest time of a timer. A timer set for a longer time fires at once. */
const longestMs = 2 ** 31 - 1;

/** Waits, at most 24 days. Resolves early when the signal is aborted, without an error. */
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
  /**
   * The longest wait, by default a minute; a wait that the server requests is up to a tenth longer. If the server
   * requests more than `maxWaitMs`, the request is not repeated.
   */
  readonly maxWaitMs?: number;
  /** Called before each wait. */
  waiting?(waitMs: number, status: number): void;
  /** Returns a number from 0 to 1, which spreads the waits; by default `Math.random`. */
  random?(): number;
}

/**
 * Spreads a wait, so that clients that were refused together do not come back together. A wait that the server
 * requested becomes up to a tenth longer, any other one is between zero and `waitMs`.
 */
export function withJitter(waitMs: number, isRequested: boolean, random = Math.random): number {
  return Math.round(waitMs * (isRequested ? 1 + random() / 10 : random()));
}

const firstWaitMs = 1_000;

/** Repeats a request that the server refuses temporarily: after `Retry-After`, or within 1, 2, 4 … seconds. */
export function patient(
  send: (request: Request) => Promise<Response>,
  { maxRetries = 5, maxWaitMs = 60_000, waiting, random }: Patience,
): (request: Request) => Promise<Response> {
  return async (request) => {
    for (let tries = 0; ; tries++) {
      const response = await send(copyOf(request));
      if (!isForNow(response.status, request) || tries >= maxRetries) return response;
      const requestedMs = retryAfterMs(response);
      const longestMs = requestedMs ?? firstWaitMs * 2 ** tries;
      if (longestMs > maxWaitMs) return response;
      const waitMs = withJitter(longestMs, requestedMs !== null, random);
      await response.body?.cancel();
      waiting?.(waitMs, response.status);
      await sleep(waitMs, request.signal);
      request.signal.throwIfAborted();
    }
  };
}

/** The paths of POST requests that have the same effect when they are executed twice. */
const repeatablePosts = /\/(?:oauth\/token|public\/v1\/events\/subscriptions)$/;

/**
 * Whether the request may be repeated. 429 means that nothing was done; after 502 to 504, the request may have been
 * executed.
 */
function isForNow(status: number, { method, url }: Request): boolean {
  if (status === 429) return true;
  if (status !== 502 && status !== 503 && status !== 504) return false;
  return method !== "POST" || repeatablePosts.test(new URL(url).pathname);
}

/** Returns a copy of a request to send, so that the body of the request stays unread. */
export function copyOf(request: Request): Request {
  // The types of Bun and Node differ for clones; both return a request.
  return request.clone() as Request;
}

/**
 * Yields the chunks of a body, and calls `notice` for each. Cancels the body when not all of it is read. Not every
 * browser can iterate a body.
 */
export async function* chunksOf(
  body: ReadableStream<Uint8Array>,
  notice: () => void = () => {},
): AsyncGenerator<Uint8Array, void> {
  const reader = body.getReader();
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      notice();
      yield value;
    }
  } finally {
    // The cancellation is not awaited, because a dead connection would delay the next connection.
    reader.cancel().catch(() => {});
  }
}
