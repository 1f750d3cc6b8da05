import fs, { closeSync, fsyncSync, openSync } from "node:fs";

/** What a file holds: its size and the hash of its content in hexadecimal digits. */
export interface Content {
  readonly size_bytes: number;
  readonly sha256: string;
}

/** Taken to the disk along the way, so that no sync of others on it has to wait behind all of it. */
const syncedBytes = 4 * 1024 * 1024;

/**
 * Writes what arrives into a file for its owner alone, in place of what was there; when it resolves, that is on disk.
 * `wrote` is told how many bytes there are.
 */
export async function writePrivately(
  path: string,
  chunks: AsyncIterable<Uint8Array>,
  wrote: (bytes: number) => void,
): Promise<Content> {
  const hasher = new Bun.CryptoHasher("sha256");
  let size = 0;
  let synced = 0;
  // Not "node:fs/promises" here and beside: `fs` loads that when it is first used, 4 ms that no start should wait for.
  const file = await fs.promises.open(path, "w", 0o600);
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
  } finally {
    await file.close();
  }
  return { size_bytes: size, sha256: hasher.digest("hex") };
}

/** Makes sure that the names in a directory are on disk. */
export function syncDirectory(directory: string): void {
  const fd = openSync(directory, "r");
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
