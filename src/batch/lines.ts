/** A line of a stream, without its newline. `bytes` is null for a line above the limit. */
export interface Line {
  /** Counted from 1, with blank lines. */
  readonly number: number;
  readonly bytes: Uint8Array | null;
}

/** Limits of the lines in memory. */
interface LineLimits {
  /** The most lines of a group. */
  readonly groupSize: number;
  /** The size in bytes at which a group is also full. */
  readonly groupBytes: number;
  readonly lineBytes: number;
}

const newline = 0x0a;

/**
 * Splits a stream into lines and yields them in groups, each as soon as it is full. Skips blank lines. Keeps one group
 * and one line in memory.
 */
export async function* lineGroups(
  stream: AsyncIterable<Uint8Array>,
  { groupSize, groupBytes, lineBytes }: LineLimits,
): AsyncGenerator<Line[]> {
  let group: Line[] = [];
  let held = 0;
  let number = 0;
  let rest: Uint8Array[] = [];
  let restBytes = 0;

  const finishLine = (last: Uint8Array) => {
    number++;
    const length = restBytes + last.byteLength;
    const bytes = length > lineBytes ? null : rest.length === 0 ? last : Buffer.concat([...rest, last]);
    rest = [];
    restBytes = 0;
    if (bytes !== null && isBlank(bytes)) return;
    group.push({ number, bytes });
    held += bytes?.byteLength ?? 0;
  };

  for await (const chunk of stream) {
    let start = 0;
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, start)) {
      finishLine(chunk.subarray(start, end));
      start = end + 1;
      if (group.length >= groupSize || held >= groupBytes) {
        yield group;
        group = [];
        held = 0;
      }
    }
    // Bytes above the limit are counted, so that the line is refused, but not stored.
    if (start < chunk.byteLength) {
      restBytes += chunk.byteLength - start;
      if (restBytes <= lineBytes) rest.push(chunk.slice(start));
      else rest = [];
    }
  }
  if (restBytes > 0) finishLine(new Uint8Array(0));
  if (group.length > 0) yield group;
}

/**
 * Yields a stream in chunks of complete lines. After the signal is aborted, it ends without waiting for more data, so
 * that the reader gets complete lines and a regular end. A line above `maxHeldBytes` is yielded in parts.
 */
export async function* untilSignal(
  stream: ReadableStream<Uint8Array>,
  signal: AbortSignal,
  maxHeldBytes: number,
): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader();
  signal.addEventListener("abort", () => reader.cancel().catch(() => {}));
  let rest = new Uint8Array(0);
  while (!signal.aborted) {
    const { done, value } = await reader.read();
    if (done) break;
    const chunk = rest.byteLength === 0 ? value : Buffer.concat([rest, value]);
    const lastEnd = chunk.lastIndexOf(newline) + 1;
    const end = lastEnd === 0 && chunk.byteLength > maxHeldBytes ? chunk.byteLength : lastEnd;
    rest = chunk.slice(end);
    if (end > 0) yield chunk.subarray(0, end);
  }
  if (rest.byteLength > 0 && !signal.aborted) yield rest;
}

function isBlank(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte === 0x20 || byte === 0x0d || byte === 0x09);
}
