import { second } from "../../domain/time.ts";
import { describeError } from "./faults.ts";
import { request } from "./http.ts";
import { readError } from "./refusal.ts";
import { type ServerSentEvent, serverSentEvents } from "./server-sent-events.ts";

/** An event of an application's event stream. */
export interface Streamed {
  readonly type: string;
  /** The position to continue from. */
  readonly id: string;
  readonly data: string;
}

interface EventStreamOptions {
  /** The public listener, without a trailing slash. */
  readonly url: string;
  readonly token: string;
  /** The id to begin after; null begins now. */
  readonly lastId: string | null;
  readonly signal: AbortSignal;
  /** Called at each connection. */
  connected(): void;
  /** Called when the connection breaks, with the time until the next attempt. */
  interrupted(reason: string, retryMs: number): void;
}

/** The server sends a heartbeat every 15 seconds; after three missing ones the connection counts as dead. */
const longestSilenceMs = 45 * second;
const longestWaitMs = 30 * second;

/** The server refuses the stream permanently. */
class StreamRefused extends Error {}

/**
 * Follows the event stream of an application until the signal. After an interruption it connects again and continues at
 * its position. Throws `StreamRefused` when the server refuses permanently.
 */
export async function* followStream(options: EventStreamOptions): AsyncGenerator<Streamed> {
  const { signal } = options;
  const place: Place = { lastId: options.lastId ?? "", since: null };
  let retryMs = second;
  for (let failures = 0; !signal.aborted; ) {
    let reason = "The stream ended";
    try {
      for await (const event of connection(options, place)) {
        failures = 0;
        place.lastId = event.lastId || place.lastId;
        retryMs = event.retryMs ?? retryMs;
        if (event.data !== null) yield { type: event.type, id: place.lastId, data: event.data };
      }
    } catch (error) {
      if (error instanceof StreamRefused) throw error;
      reason = describeError(error);
    }
    if (signal.aborted) return;
    const waitMs = Math.min(retryMs * 2 ** failures++, longestWaitMs);
    options.interrupted(reason, waitMs);
    await sleep(waitMs, signal);
  }
}

/** The position of a reader. */
interface Place {
  /** "" before the first event. */
  lastId: string;
  /** The time of the first connection, by the server's clock: events from then on must not be missed. */
  since: number | null;
}

async function* connection(options: EventStreamOptions, place: Place): AsyncGenerator<ServerSentEvent> {
  const silence = new AbortController();
  let timer: Timer | undefined;
  const heard = () => {
    clearTimeout(timer);
    timer = setTimeout(() => silence.abort(new Error("Nothing was heard for 45 seconds")), longestSilenceMs);
  };
  heard();
  try {
    const answer = await connect(options, place, AbortSignal.any([options.signal, silence.signal]));
    options.connected();
    yield* serverSentEvents(noticed(answer, heard));
  } finally {
    clearTimeout(timer);
    silence.abort();
  }
}

/** Calls `notice` for each chunk, comments included. */
async function* noticed(parts: AsyncIterable<Uint8Array>, notice: () => void): AsyncGenerator<Uint8Array> {
  for await (const part of parts) {
    notice();
    yield part;
  }
}

async function connect(
  { url, token }: EventStreamOptions,
  place: Place,
  signal: AbortSignal,
): Promise<AsyncIterable<Uint8Array>> {
  const { lastId, since } = place;
  const after = lastId === "" && since !== null ? `?after=${new Date(since).toISOString()}` : "";
  const response = await request(`${url}/public/v1/events/stream${after}`, {
    headers: { authorization: `Bearer ${token}`, ...(lastId && { "last-event-id": lastId }) },
    signal,
  });
  const type = response.headers.get("content-type") ?? "";
  if (response.ok && response.body && type.startsWith("text/event-stream")) {
    place.since ??= Date.parse(response.headers.get("date") ?? "") || null;
    return response.body;
  }
  const text = await response.text();
  const message = `${url} answered ${response.status}: ${readError(text)?.message ?? "that is no event stream"}`;
  if (response.status === 429 || response.status >= 500) throw new Error(message);
  throw new StreamRefused(message);
}

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
