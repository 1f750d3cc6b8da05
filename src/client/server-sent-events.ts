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

/** Yields the lines of each frame. Drops a last frame without a blank line. Reads each chunk once. */
async function* frames(stream: AsyncIterable<Uint8Array>): AsyncGenerator<string[]> {
  const decoder = new TextDecoder(); // removes a byte order mark
  // The beginning of a line, and a CR that may be the first half of a CRLF.
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
