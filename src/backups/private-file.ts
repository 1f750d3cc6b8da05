import fs, { closeSync, constants, fsyncSync, openSync } from "node:fs";

/** Size and hash (hexadecimal) of a file's content. */
export interface Content {
  readonly size_bytes: number;
  readonly sha256: string;
}

/** Syncs after this many bytes, so that syncs of other files on the disk do not wait for the whole file. */
const syncedBytes = 4 * 1024 * 1024;

const { O_WRONLY, O_CREAT, O_TRUNC, O_NOFOLLOW } = constants;

/**
 * Writes a stream into a file readable only for its owner, in place of an existing one, but not where a link leads to;
 * resolves when it is on disk.
 * Calls `wrote` with the number of bytes so far.
 */
export async function writePrivately(
  path: string,
  chunks: AsyncIterable<Uint8Array>,
  wrote: (bytes: number) => void,
): Promise<Content> {
  const hasher = new Bun.CryptoHasher("sha256");
  let size = 0;
  let synced = 0;
  // Not "node:fs/promises": `fs` loads that on first use, which keeps it out of the start.
  const file = await fs.promises.open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0o600);
  try {
    await file.chmod(0o600);
    for await (const chunk of chunks) {
      hasher.update(chunk);
      await file.writeFile(chunk);
      size += chunk.length;
      wrote(size);
      if (size - synced < syncedBytes) continue;
      await file.datasync();
      synced = size;
    }
    await file.sync();
  } catch (error) {
    // The system names no file for a failed write.
    throw error instanceof Error && "syscall" in error && error.syscall !== "read"
      ? Object.assign(error, { path })
      : error;
  } finally {
    await file.close();
  }
  return { size_bytes: size, sha256: hasher.digest("hex") };
}

/** Syncs the entries of a directory. */
export function syncDirectory(directory: string): void {
  const fd = openSync(directory, "r");
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
