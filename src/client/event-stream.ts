import { chunksOf } from "./chunks.ts";
import { errorOf, OnairError } from "./errors.ts";
import { type ServerSentEvent, serverSentEvents } from "./server-sent-events.ts";
import { sleep } from "./sleep.ts";

/** An event of an application's event stream, as sent by the server. */
export interface Streamed {
  readonly type: string;
  /** The position to continue from. */
  readonly id: string;
  readonly data: string;
}

/** The start and end of a stream, and callbacks for its connections. */
export interface FollowOptions {
  /** The id after which the stream starts; by default it starts now. */
  readonly from?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called at each connection. */
  connected?(): void;
  /** Called when the connection breaks, with the time until the next attempt. */
  interrupted?(reason: unknown, retryMs: number): void;
}

/** Opens the stream; `fetch` of a client does this. */
interface Source {
  fetch(path: string, init: RequestInit): Promise<Response>;
}

/** The server sends a heartbeat every 15 seconds; after three missing ones the connection counts as dead. */
const longestSilenceMs = 45_000;
const firstWaitMs = 1_000;
const longestWaitMs = 30_000;

/**
 * Follows the event stream of an application until the signal. Reconnects after an interruption and continues at its
 * position. Throws an `OnairError` when the server refuses permanently.
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
      const open = (signal: AbortSignal) => connect(source, place, signal);
      for await (const event of liveEvents(open, signal, connected)) {
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

/** Yields the events of a stream that `open` requests. Throws when the connection is dead. */
export async function* liveEvents(
  open: (signal: AbortSignal) => Promise<ReadableStream<Uint8Array>>,
  signal: AbortSignal,
  connected?: () => void,
): AsyncGenerator<ServerSentEvent, void> {
  const silence = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const restartTimer = () => {
    clearTimeout(timer);
    timer = setTimeout(
      () => silence.abort(new Error("The server sent nothing for 45 seconds")),
      longestSilenceMs,
    );
  };
  restartTimer();
  try {
    const body = await open(AbortSignal.any([signal, silence.signal]));
    connected?.();
    yield* serverSentEvents(chunksOf(body, restartTimer));
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
