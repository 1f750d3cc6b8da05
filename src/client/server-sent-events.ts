/** A server-sent event. */
export interface ServerSentEvent {
  /** `message` by default. */
  readonly type: string;
  /** null for a frame without data: it is not an event, but may carry an id. */
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

/** Yields the lines of each frame. Drops a last frame without a blank line. */
async function* frames(stream: AsyncIterable<Uint8Array>): AsyncGenerator<string[]> {
  const decoder = new TextDecoder(); // removes a byte order mark
  let rest = "";
  let lines: string[] = [];
  let length = 0;
  for await (const bytes of stream) {
    rest += decoder.decode(bytes, { stream: true });
    for (;;) {
      const end = /\r\n|\n|\r/.exec(rest);
      // A CR at the end may be the first half of a CRLF.
      if (!end || (end[0] === "\r" && end.index === rest.length - 1)) break;
      const line = rest.slice(0, end.index);
      rest = rest.slice(end.index + end[0].length);
      length += line.length;
      if (line !== "") lines.push(line);
      else if (lines.length > 0) {
        yield lines;
        lines = [];
        length = 0;
      }
    }
    if (length + rest.length > longestFrame) throw new Error("The stream sent a frame that is too long");
  }
}
