/** A line of a stream, without its end. `bytes` is null where it was longer than allowed. */
export interface Line {
  /** From 1 on, blank lines counted. */
  readonly number: number;
  readonly bytes: Uint8Array | null;
}

const newline = 0x0a;

/**
 * Splits a stream into lines and hands them out in groups of up to `groupSize`, each as soon as the next line would
 * not fit. Holds one group and one line at a time, whatever the length of the stream; blank lines are passed over.
 */
export async function* lineGroups(
  stream: AsyncIterable<Uint8Array>,
  groupSize: number,
  maxLineBytes: number,
): AsyncGenerator<Line[]> {
  let group: Line[] = [];
  let number = 0;
  let rest: Uint8Array[] = [];
  let restBytes = 0;

  const finishLine = (last: Uint8Array) => {
    number++;
    const length = restBytes + last.byteLength;
    const bytes = length > maxLineBytes ? null : rest.length === 0 ? last : Buffer.concat([...rest, last]);
    rest = [];
    restBytes = 0;
    if (bytes === null || !isBlank(bytes)) group.push({ number, bytes });
  };

  for await (const chunk of stream) {
    let start = 0;
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, start)) {
      finishLine(chunk.subarray(start, end));
      start = end + 1;
      if (group.length >= groupSize) {
        yield group;
        group = [];
      }
    }
    // What is over the limit is counted, so that the line is refused, but not kept.
    if (start < chunk.byteLength) {
      restBytes += chunk.byteLength - start;
      if (restBytes <= maxLineBytes) rest.push(chunk.slice(start));
      else rest = [];
    }
  }
  if (restBytes > 0) finishLine(new Uint8Array(0));
  if (group.length > 0) yield group;
}

function isBlank(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte === 0x20 || byte === 0x0d || byte === 0x09);
}
