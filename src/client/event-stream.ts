import { errorOf, OnairError } from "./errors.ts";
import { chunksOf, type ServerSentEvent, serverSentEvents } from "./server-sent-events.ts";
import { sleep } from "./sleep.ts";

/** An event of an application's event stream, as it is sent. */
export interface Streamed {
  readonly type: string;
  /** The position to continue from. */
  readonly id: string;
  readonly data: string;
}

/** Where a stream begins, when it ends, and who is told of its connections. */
export interface FollowOptions {
  /** The id of the stream to begin after; by default it begins now. */
  readonly from?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called at each connection. */
  connected?(): void;
  /** Called when the connection breaks, with the time until the next attempt. */
  interrupted?(reason: unknown, retryMs: number): void;
}

/** What opens the stream: `fetch` of a client. */
interface Source {
  fetch(path: string, init: RequestInit): Promise<Response>;
}

/** The server sends a heartbeat every 15 seconds; after three missing ones the connection counts as dead. */
const longestSilenceMs = 45_000;
const firstWaitMs = 1_000;
const longestWaitMs = 30_000;

/**
 * Follows the event stream of an application until the signal. After an interruption it connects again and continues at
 * its position. Throws `OnairError` when the server refuses for good.
 */
export async function* followStream(
  source: Source,
  { from = "", signal = new AbortController().signal, connected, interrupted }: FollowOptions,
): AsyncGenerator<Streamed, void> {
  const place: Place = { lastId: from, since: null };
  let retryMs = firstWaitMs;
  for (let failures = 0; !signal.aborted; ) {
    let reason: unknown = new Error("The stream ended");
    try {
      for await (const event of connection(source, place, signal, connected)) {
        failures = 0;
        place.lastId = event.lastId || place.lastId;
        retryMs = event.retryMs ?? retryMs;
        if (event.data !== null) yield { type: event.type, id: place.lastId, data: event.data };
      }
    } catch (error) {
      if (error instanceof OnairError && error.status !== 429 && error.status < 500) throw error;
      reason = error;
    }
    if (signal.aborted) return;
    const asked = reason instanceof OnairError ? reason.details.retryAfterMs : null;
    const waitMs = asked ?? Math.min(retryMs * 2 ** failures, longestWaitMs);
    failures++;
    interrupted?.(reason, waitMs);
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

async function* connection(
  source: Source,
  place: Place,
  signal: AbortSignal,
  connected: (() => void) | undefined,
): AsyncGenerator<ServerSentEvent, void> {
  const silence = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const heard = () => {
    clearTimeout(timer);
    timer = setTimeout(() => silence.abort(new Error("Nothing was heard for 45 seconds")), longestSilenceMs);
  };
  heard();
  try {
    const body = await connect(source, place, AbortSignal.any([signal, silence.signal]));
    connected?.();
    yield* serverSentEvents(chunksOf(body, heard));
  } finally {
    clearTimeout(timer);
    silence.abort();
  }
}

async function connect(
  source: Source,
  place: Place,
  signal: AbortSignal,
): Promise<ReadableStream<Uint8Array>> {
  const { lastId, since } = place;
  const after = lastId === "" && since !== null ? `?after=${new Date(since).toISOString()}` : "";
  const headers = { accept: "text/event-stream", ...(lastId && { "last-event-id": lastId }) };
  const response = await source.fetch(`/public/v1/events/stream${after}`, { headers, signal });
  const type = response.headers.get("content-type") ?? "";
  if (!response.ok || !response.body || !type.startsWith("text/event-stream")) throw await errorOf(response);
  place.since ??= Date.parse(response.headers.get("date") ?? "") || null;
  return response.body;
}
