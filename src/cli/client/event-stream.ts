import { second } from "../../domain/time.ts";
import { inWords } from "./faults.ts";
import { request } from "./http.ts";
import { readError } from "./refusal.ts";
import { type ServerSentEvent, serverSentEvents } from "./server-sent-events.ts";

/** One thing that came of the event stream of an application. */
export interface Streamed {
  readonly type: string;
  /** Where to go on behind it. */
  readonly id: string;
  readonly data: string;
}

interface EventStreamOptions {
  /** The public listener, without a trailing slash. */
  readonly url: string;
  readonly token: string;
  /** Begin behind this id; null: now. */
  readonly lastId: string | null;
  readonly signal: AbortSignal;
  /** Told of every connection. */
  connected(): void;
  /** Told why there is none, and when it is tried again. */
  interrupted(reason: string, retryMs: number): void;
}

/** The server breaks a silence after 15 seconds; after three times that nobody is there. */
const longestSilenceMs = 45 * second;
const longestWaitMs = 30 * second;

/** The stream refuses this caller, and will again. */
class StreamRefused extends Error {}

/**
 * Follows the event stream of an application until the signal, through any interruption: it connects again and goes on
 * where it was. Throws `StreamRefused` where the server refuses it for good.
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
      reason = inWords(error);
    }
    if (signal.aborted) return;
    const waitMs = Math.min(retryMs * 2 ** failures++, longestWaitMs);
    options.interrupted(reason, waitMs);
    await sleep(waitMs, signal);
  }
}

/** Where to go on. */
interface Place {
  /** "" before the first event. */
  lastId: string;
  /** When the first connection was made, by the clock of the server: from then on nothing is to be missed. */
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

/** Calls `notice` for each part, comments included, which are no events. */
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
