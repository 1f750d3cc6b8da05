import { minute, second } from "../../domain/time.ts";
import { isLoopback } from "../../operations/doctor/server.ts";
import { connectionFault } from "./refusal.ts";

/** The error for a server that gave no answer. */
export class Unreachable extends Error {
  override name = "Unreachable";
  constructor(
    readonly origin: string,
    override readonly cause: unknown,
  ) {
    const hint = origin.startsWith("http:") && isReset(cause) ? ": it may be https and not http" : "";
    super(`${origin} cannot be reached: ${connectionFault(cause)}${hint}`);
  }

  /** Whether an established connection broke off. */
  get isBrokenOff(): boolean {
    return isReset(this.cause);
  }
}

const isReset = (cause: unknown) => cause instanceof Error && "code" in cause && cause.code === "ECONNRESET";

/**
 * Sends a request to an On Air server, for all commands. Follows no redirects. The answer must begin within `withinMs`,
 * by default a minute, unless a stream is sent. Requests to loopback bypass the proxy of the environment, which would
 * see the key or token. Throws `Unreachable`, or the error of the request body's source.
 */
export async function request(
  url: URL | string,
  init: BunFetchRequestInit = {},
  withinMs = minute,
): Promise<Response> {
  const { origin, hostname } = new URL(url);
  const { body } = init;
  const source = { failure: undefined as unknown };
  const late = new AbortController();
  const timer = isStream(body) ? undefined : setTimeout(() => late.abort(), withinMs);
  try {
    return await fetch(url, {
      redirect: "manual",
      timeout: false,
      ...(isLoopback(hostname) && { proxy: false }),
      ...init,
      signal: init.signal ? AbortSignal.any([init.signal, late.signal]) : late.signal,
      ...(isStream(body) && { body: recordingErrors(body, source) }),
    });
  } catch (error) {
    if (init.signal?.aborted) throw init.signal.reason;
    const cause = late.signal.aborted ? new DOMException(`${withinMs / second} s`, "TimeoutError") : error;
    throw source.failure ?? new Unreachable(origin, cause);
  } finally {
    clearTimeout(timer);
  }
}

const isStream = (body: unknown): body is AsyncIterable<Uint8Array> =>
  typeof body === "object" && body !== null && Symbol.asyncIterator in body && !(body instanceof Blob);

/** Passes the body on, and records an error of its source, to distinguish it from a broken connection. */
async function* recordingErrors(
  input: AsyncIterable<Uint8Array>,
  source: { failure: unknown },
): AsyncGenerator<Uint8Array> {
  try {
    yield* input;
  } catch (error) {
    source.failure = error;
    throw error;
  }
}
