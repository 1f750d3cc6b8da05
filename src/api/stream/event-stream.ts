import { endOfTick } from "../../runtime/event-loop.ts";
import { type RequestContext, reply } from "../http/context.ts";

const headers = {
  "content-type": "text/event-stream",
  // nginx must not buffer the stream.
  "x-accel-buffering": "no",
  // A connection that outlived its stream would have no idle timeout.
  connection: "close",
};

type Stream = ReadableStream<Uint8Array>;

/**
 * Answers with server-sent events. The idle timeout is switched off. HEAD gets only the headers.
 * @param open opens the stream; `cut` closes the connection soon, even if the client does not read
 */
export async function replyStream(
  requestContext: RequestContext,
  open: (cut: () => void) => Stream | Promise<Stream>,
): Promise<Response> {
  if (requestContext.method === "HEAD") return reply(requestContext, 200, new ReadableStream(), headers);
  const { listener, request } = requestContext;
  const { server, streams } = listener;
  const stream = await open(() => server?.timeout(request, 1));
  server?.timeout(request, 0);
  if (server) streams.add(request, server);
  return reply(requestContext, 200, stream, headers);
}

/**
 * Answers with a stream of server-sent events that ends by itself within seconds. The idle timeout stays on: otherwise
 * a client that does not read would keep the connection open for ever.
 */
export function replyShortStream(requestContext: RequestContext, stream: Stream): Response {
  return reply(requestContext, 200, stream, headers);
}

/** The reason for the end of a stream. */
export type StreamEnding = "client" | "stalled" | "not_allowed" | "failed" | "stopping";

/** A part of a stream and the position after it. */
export interface StreamPart<Position> {
  /** null when there is nothing to send. */
  readonly bytes: Uint8Array | null;
  readonly position: Position;
  /** Whether the part reaches the end of the log. */
  readonly isAll: boolean;
}

interface EventStreamOptions<Position> {
  /** The position at which the stream begins. */
  readonly position: Position;
  /** The first bytes of the stream. */
  readonly opening: Uint8Array;
  /** Returns the part after a position, with `isReminded` at least a heartbeat; null if the stream must end. */
  next(position: Position, isReminded: boolean): Promise<StreamPart<Position> | null>;
  /** Called once. */
  ended(reason: StreamEnding): void;
}

/** An open stream. It requests the next part when the reader has taken the last part, and so buffers a single part. */
export class EventStream<Position> {
  readonly readable: ReadableStream<Uint8Array>;
  /** The time at which bytes were last passed to the reader, by `performance.now()`. */
  sentAt = performance.now();
  readonly #options: EventStreamOptions<Position>;
  #position: Position;
  #opening: Uint8Array | null;
  #isBehind = true;
  #isReminded = false;
  #isPulled = false;
  #isEnded = false;
  #waiting: (() => void) | null = null;
  #controller: ReadableStreamDefaultController<Uint8Array> | null = null;

  constructor(options: EventStreamOptions<Position>) {
    this.#options = options;
    this.#position = options.position;
    this.#opening = options.opening;
    this.readable = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        pull: () => this.#pull(),
        cancel: () => this.#end("client"),
      },
      { highWaterMark: 0 },
    );
  }

  /** Whether the reader has taken all bytes. */
  get isTaken(): boolean {
    return this.#isPulled;
  }

  /** Wakes the stream: there may be something new. */
  wake(): void {
    this.#isBehind = true;
    this.#waiting?.();
  }

  /** Makes the stream send at least a heartbeat. */
  remind(): void {
    this.#isReminded = true;
    this.#waiting?.();
  }

  end(reason: Exclude<StreamEnding, "client">): void {
    if (!this.#isEnded) this.#controller?.close();
    this.#end(reason);
  }

  #end(reason: StreamEnding): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#waiting?.();
    this.#options.ended(reason);
  }

  async #pull(): Promise<void> {
    this.#isPulled = true;
    try {
      const bytes = this.#opening ?? (await this.#found());
      this.#opening = null;
      if (bytes === null || this.#isEnded) return;
      this.sentAt = performance.now();
      this.#controller?.enqueue(bytes);
    } catch {
      this.end("failed");
    } finally {
      this.#isPulled = false;
    }
  }

  /** Waits for bytes to send; null when the stream has ended. */
  async #found(): Promise<Uint8Array | null> {
    while (!this.#isEnded) {
      if (!this.#isBehind && !this.#isReminded) {
        await new Promise<void>((resolve) => {
          this.#waiting = resolve;
        });
        this.#waiting = null;
        continue;
      }
      const isReminded = this.#isReminded;
      this.#isBehind = false;
      this.#isReminded = false;
      const part = await this.#options.next(this.#position, isReminded);
      if (part === null) {
        this.end("not_allowed");
        return null;
      }
      this.#position = part.position;
      if (!part.isAll) this.#isBehind = true;
      if (part.bytes) return part.bytes;
      // Of a long log, a stream may have nothing. Other requests run between its reads.
      if (!part.isAll) await endOfTick();
    }
    return null;
  }
}

/*
 * The frames of event streams (https://html.spec.whatwg.org/multipage/server-sent-events.html). A blank line ends a
 * frame. Each frame has data: many client libraries hand a frame without data to the application as an event with empty
 * data, against the specification. So a heartbeat has no blank line after it: for a client that splits the stream into
 * frames, it is the beginning of the next event.
 */

/** The time after which a client should reconnect when the stream has ended. */
const retryMs = 1_000;

/** The first line of a stream. */
export const opening = `retry: ${retryMs}\n`;

/**
 * An empty comment that shows that the connection is alive. It is short because it counts towards the length of the
 * next event, which some clients limit to 64 KiB.
 */
export const heartbeat = ":\n";

/** Returns a frame. @param data an object is sent as JSON, which has no line breaks */
export function frame(event: string, data: string | object, id?: string): string {
  const text = typeof data === "string" ? data : JSON.stringify(data);
  return `${id === undefined ? "" : `id: ${id}\n`}event: ${event}\ndata: ${text}\n\n`;
}
