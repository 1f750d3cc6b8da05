import { close, closeSync, open, openSync, read, readSync } from "node:fs";
import { promisify } from "node:util";

/** Reads a small file or pipe. Throws a `TypeError` whose message continues "FILE, which", such as "does not exist". */
export function smallFile(path: string, mostBytes: number): string {
  const bytes = Buffer.alloc(mostBytes + 1);
  let length = 0;
  try {
    const file = openSync(path, "r");
    try {
      // A pipe, such as "<(command)" in bash, returns its content in pieces.
      for (let read = -1; read !== 0; length += read) {
        read = readSync(file, bytes, length, bytes.length - length, null);
      }
    } finally {
      closeSync(file);
    }
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    throw new TypeError(reasons[code] ?? `cannot be read (${code})`);
  }
  if (length > mostBytes) throw new TypeError(`has more than ${mostBytes} bytes`);
  // Some editors write a byte order mark, which is no part of the content.
  return bytes.toString("utf8", 0, length).replace(/^\ufeff/, "");
}

const reasons: Readonly<Record<string, string>> = {
  EACCES: "this user may not read",
  EISDIR: "is a directory",
  ENOENT: "does not exist",
};

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

// Not `FileHandle`: an open one that is garbage collected ends the process.
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
