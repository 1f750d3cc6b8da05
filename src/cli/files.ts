import { accessSync, constants, createReadStream, openSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { Readable } from "node:stream";
import { UsageError } from "./command.ts";
import { note } from "./output/print.ts";

/*
 * Files that a command reads and writes.
 */

/**
 * Returns the size of a file in bytes; null for a pipe and for "-", standard input. Throws when the file cannot be
 * read, so that a command fails before any work.
 */
export function sizeOf(file: string): number | null {
  if (file === "-") return null;
  const stats = statSync(file, { throwIfNoEntry: false });
  if (!stats) throw new UsageError(`There is no file ${file}`);
  if (stats.isDirectory()) throw new UsageError(`${file} is a directory`);
  accessSync(file, constants.R_OK);
  return stats.isFile() ? stats.size : null;
}

const newline = 0x0a;

/** Returns the number of line ends in a chunk. */
export function lineEnds(chunk: Uint8Array): number {
  let ends = 0;
  for (let at = chunk.indexOf(newline); at !== -1; at = chunk.indexOf(newline, at + 1)) ends++;
  return ends;
}

/** Whether the input is typed on the terminal. Progress is then not drawn. */
export function isTyped(file: string): boolean {
  return file === "-" && process.stdin.isTTY === true;
}

/** Opens a stream of a file, or of standard input for "-". */
export function streamOf(file: string): ReadableStream<Uint8Array> {
  if (file === "-") {
    if (isTyped(file)) note("Reading from the terminal; Ctrl-D ends the input.");
    return Bun.stdin.stream();
  }
  // The file is opened before the data directory, because a command of root then continues as the directory's owner.
  if (statSync(file).isFile()) return Bun.file(openSync(file, "r")).stream();
  // Bun's streams fail on devices such as /dev/null. Node's type of a stream lacks Bun's extensions.
  return Readable.toWeb(createReadStream(file)) as unknown as ReadableStream<Uint8Array>;
}

/** Adds a mistake when a file must not be replaced. A device is never replaced, because it could not be restored. */
export function checkOutputFile(
  file: string,
  { force }: { readonly force: boolean },
  mistakes: string[],
): void {
  const directory = dirname(file);
  if (!statSync(directory, { throwIfNoEntry: false })?.isDirectory()) {
    mistakes.push(`There is no directory ${directory}`);
    return;
  }
  const there = statSync(file, { throwIfNoEntry: false });
  if (!there) return;
  if (there.isDirectory()) mistakes.push(`${file} is a directory; name a file in it`);
  else if (!there.isFile())
    mistakes.push(`${file} is not a regular file; name another, or "-" for standard output`);
  else if (!force) mistakes.push(`${file} exists already; --force replaces it`);
}

/** Writes a temporary file next to `file` and renames it when it is complete, so that a partial file never appears. */
export async function replaceFile<T>(file: string, write: (partial: string) => Promise<T>): Promise<T> {
  const partial = `${file}.partial`;
  try {
    const result = await write(partial);
    renameSync(partial, file);
    return result;
  } finally {
    rmSync(partial, { force: true });
  }
}
