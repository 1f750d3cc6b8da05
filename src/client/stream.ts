import type { Client } from "./create-client.ts";
import {
  type AnyEvent,
  type DeliveryInfo,
  eventOf,
  type NoticeEvent,
  type PlatformEvent,
  type ReceivedEvent,
} from "./events.ts";
import { chunksOf, errorOf, OnairError, sleep, withJitter } from "./http.ts";

/**
 * A range of time whose events are no longer kept. `GET /public/v1/events/deliveries` may still list their deliveries.
 */
export interface StreamGap {
  readonly type: "gap";
  /** The position in the stream. */
  readonly position: string;
  readonly data: { readonly from: string; readonly to: string };
}

/** A notice on the stream. A notice belongs to no subscription. */
export type StreamNotice = NoticeEvent & {
  readonly delivery: Pick<DeliveryInfo, "id">;
  readonly position: string;
};

/** An event of the stream; a later stream can start after its `position`. */
export type StreamEvent<Event> = ReceivedEvent<Event> & { readonly position: string };

/**
 * Yields the events of the application, or of the user whose token the client has, as they happen, and notices about
 * the application's endpoint. Reconnects after an interruption and continues at its position. Ends with `signal`.
 * Throws an `OnairError` when the server refuses permanently. `Own` are event types that the platform registered.
 */
export async function* stream<Own extends AnyEvent = never>(
  client: Pick<Client, "fetch">,
  options: FollowOptions = {},
): AsyncGenerator<StreamEvent<PlatformEvent | NoInfer<Own>> | StreamNotice | StreamGap, void> {
  for await (const { type, id: position, data } of followStream(client, options)) {
    if (type === "gap") yield { type, position, data: JSON.parse(data) };
    else {
      const { headers, body } = JSON.parse(data) as { headers: Record<string, string>; body: string };
      yield { ...eventOf<PlatformEvent | Own>(body, (name) => headers[name]), position };
    }
  }
}

/** A server-sent event. */
interface ServerSentEvent {
  /** The type of the event; by default `message`. */
  readonly type: string;
  /** The data; null for a frame without data, which is not an event, but may carry an id. */
  readonly data: string | null;
  /** The last id of the stream so far; "" before the first. */
  readonly lastId: string;
  /** The time to wait before connecting again; null when unspecified. */
  readonly retryMs: number | null;
}

/** The longest accepted frame, in characters. */
const longestFrame = 8 * 1024 * 1024;

/**
 * Parses server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html, section 9.2.6), including
 * frames without data. Throws when a frame exceeds 8 Mi characters.
 */
export async function* serverSentEvents(stream: AsyncIterable<Uint8Array>): AsyncGenerator<ServerSentEvent> {
  let lastId = "";
  for await (const lines of frames(stream)) {
    let type = "";
    let retryMs: number | null = null;
    const data: string[] = [];
    for (const line of lines) {
      const colon = line.indexOf(":");
      const field = colon === -1 ? line : line.slice(0, colon);
      const value = colon === -1 ? "" : line.slice(colon + 1).replace(/^ /, "");
      if (field === "data") data.push(value);
      else if (field === "event") type = value;
      else if (field === "id" && !value.includes("\0")) lastId = value;
      else if (field === "retry" && /^[0-9]{1,9}$/.test(value)) retryMs = Number(value);
    }
    yield { type: type || "message", data: data.length > 0 ? data.join("\n") : null, lastId, retryMs };
  }
}

/** Yields the lines of each frame. Drops a last frame without a blank line. Reads each chunk once. */
async function* frames(stream: AsyncIterable<Uint8Array>): AsyncGenerator<string[]> {
  const decoder = new TextDecoder(); // removes a byte order mark
  // `begun` is the beginning of a line, and a CR that may be the first half of a CRLF.
  let begun = "";
  let lastCr = "";
  let lines: string[] = [];
  let length = 0;
  for await (const bytes of stream) {
    const text = lastCr + decoder.decode(bytes, { stream: true });
    lastCr = text.endsWith("\r") ? "\r" : "";
    const parts = text.slice(0, text.length - lastCr.length).split(/\r\n|\n|\r/);
    const rest = parts.pop() ?? "";
    for (const part of parts) {
      const line = begun + part;
      begun = "";
      length += line.length;
      if (line !== "") lines.push(line);
      else if (lines.length > 0) {
        yield lines;
        lines = [];
        length = 0;
      }
    }
    begun += rest;
    if (length + begun.length > longestFrame) throw new Error("The stream sent a frame that is too long");
  }
}

/** An event of an application's event stream, as sent by the server. */
export interface Streamed {
  readonly type: string;
  /** The position to continue from. */
  readonly id: string;
  readonly data: string;
}

/** The start and end of a stream, and callbacks for its connections. */
interface FollowOptions {
  /** The id after which the stream starts; by default it starts now. */
  readonly from?: string | undefined;
  /** Without `from`, the publishing time to start at. */
  readonly after?: Date | undefined;
  /**
   * One of up to 64 parts of the stream: `2/8` has the events of every eighth broadcaster. Positions are valid for
   * their shard.
   */
  readonly shard?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called at each connection. */
  connected?(): void;
  /** Called when the connection breaks, with the time until the next attempt. */
  interrupted?(reason: unknown, retryMs: number): void;
  /** Returns a number from 0 to 1, which spreads the waits before connecting again; by default `Math.random`. */
  random?(): number;
}

/** Opens the stream, as `fetch` of a client does. */
interface Source {
  fetch(path: string, init: RequestInit): Promise<Response>;
}

/** The silence after which a connection counts as dead: three heartbeats, which the server sends every 15 seconds. */
const longestSilenceMs = 45_000;
const firstWaitMs = 1_000;
const longestWaitMs = 30_000;

/**
 * Follows the event stream of an application until the signal. Reconnects after an interruption and continues at its
 * position. Throws an `OnairError` when the server refuses permanently.
 */
export async function* followStream(source: Source, options: FollowOptions): AsyncGenerator<Streamed, void> {
  const { from = "", after, shard, signal = new AbortController().signal, connected, interrupted } = options;
  const place: Place = { lastId: from, since: after?.getTime() ?? null, shard };
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
    const requestedMs = reason instanceof OnairError ? reason.details.retryAfterMs : null;
    const longestMs = requestedMs ?? Math.min(retryMs * 2 ** failures, longestWaitMs);
    const waitMs = withJitter(longestMs, requestedMs !== null, options.random);
    failures++;
    interrupted?.(reason, waitMs);
    await sleep(waitMs, signal);
  }
}

/** The position of a reader in the stream. */
interface Place {
  /** The id of the last event; "" before the first event. */
  lastId: string;
  /** The time to start at. Without one, the time of the first connection by the server's clock; later events count. */
  since: number | null;
  readonly shard: string | undefined;
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
  const { lastId, since, shard } = place;
  const query = new URLSearchParams(shard === undefined ? {} : { shard });
  if (lastId === "" && since !== null) query.set("after", new Date(since).toISOString());
  const headers = { accept: "text/event-stream", ...(lastId && { "last-event-id": lastId }) };
  const response = await source.fetch(`/public/v1/events/stream${query.size > 0 ? `?${query}` : ""}`, {
    headers,
    signal,
  });
  const type = response.headers.get("content-type") ?? "";
  if (!response.ok || !response.body || !type.startsWith("text/event-stream")) throw await errorOf(response);
  place.since ??= Date.parse(response.headers.get("date") ?? "") || null;
  return response.body;
}
