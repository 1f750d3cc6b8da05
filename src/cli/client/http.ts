import { isLoopback } from "../../doctor/ask.ts";
import { connectionFault } from "./faults.ts";

/** A server gave no answer. */
export class Unreachable extends Error {
  override name = "Unreachable";
  constructor(
    readonly origin: string,
    override readonly cause: unknown,
  ) {
    super(`${origin} cannot be reached: ${connectionFault(cause)}`);
  }

  /** Whether the connection broke after it was established. */
  get isBrokenOff(): boolean {
    return this.cause instanceof Error && "code" in this.cause && this.cause.code === "ECONNRESET";
  }
}

/**
 * Sends a request to an On Air server; all commands use it. It follows no redirect and has no time limit. Requests to
 * this machine bypass the proxy of the environment, which would see the key or token. Throws `Unreachable`, or the
 * error of the body.
 */
export async function request(url: URL | string, init: BunFetchRequestInit = {}): Promise<Response> {
  const { origin, hostname } = new URL(url);
  const source = { failure: undefined as unknown };
  const { body } = init;
  try {
    return await fetch(url, {
      redirect: "manual",
      timeout: false,
      ...(isLoopback(hostname) && { proxy: false }),
      ...init,
      ...(isStream(body) && { body: recordingErrors(body, source) }),
    });
  } catch (error) {
    if (init.signal?.aborted) throw init.signal.reason;
    throw source.failure ?? new Unreachable(origin, error);
  }
}

const isStream = (body: unknown): body is AsyncIterable<Uint8Array> =>
  typeof body === "object" && body !== null && Symbol.asyncIterator in body && !(body instanceof Blob);

/** Records an error of the body's source, to distinguish it from a broken connection. */
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
