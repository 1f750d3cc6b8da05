import { close, open, read } from "node:fs";
import { promisify } from "node:util";

/** A range of bytes: `end` is exclusive. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

const chunkBytes = 256 * 1024;

/**
 * Streams a part of a file at the pace of the client. Reads in Node's thread pool: a `Bun.file` body is read on this
 * thread, which blocks the event loop while a slow disk answers.
 */
export function fileStream(path: string, range: ByteRange): ReadableStream<Uint8Array> {
  return streamOf(chunksOf(path, range));
}

/** A stream that takes the next chunk only when it is read, and ends the generator when it is canceled. */
export function streamOf(chunks: AsyncGenerator<Uint8Array>): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await chunks.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      async cancel() {
        await chunks.return(undefined);
      },
    },
    { highWaterMark: 0 },
  );
}

// Not `FileHandle`: one that is garbage collected while open ends the process.
const [openFile, readFile, closeFile] = [promisify(open), promisify(read), promisify(close)];

/** Opens the file when the first chunk is requested. */
async function* chunksOf(path: string, { start, end }: ByteRange): AsyncGenerator<Uint8Array> {
  const fd = await openFile(path, "r");
  try {
    for (let at = start; at < end; ) {
      const chunk = new Uint8Array(Math.min(chunkBytes, end - at));
      const { bytesRead } = await readFile(fd, chunk, 0, chunk.length, at);
      if (bytesRead === 0) throw new Error("The file has become shorter");
      at += bytesRead;
      yield chunk.subarray(0, bytesRead);
    }
  } finally {
    await closeFile(fd);
  }
}

/** Returns the first `maxBytes` bytes of a body; the rest is not read. */
export async function beginningOf(
  body: ReadableStream<Uint8Array> | null,
  maxBytes: number,
): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let missing = maxBytes;
  for await (const chunk of body ?? []) {
    chunks.push(chunk.subarray(0, missing));
    missing -= chunk.length;
    if (missing <= 0) break;
  }
  return Buffer.concat(chunks);
}
