import { accessSync, constants, statSync } from "node:fs";
import { UsageError } from "./command.ts";

/**
 * The size of a file in bytes; null for a pipe and for "-", standard input. Throws where the file cannot be read,
 * before anything else has begun.
 */
export function sizeOf(file: string): number | null {
  if (file === "-") return null;
  const stats = statSync(file, { throwIfNoEntry: false });
  if (!stats) throw new UsageError(`There is no file ${file}`);
  if (stats.isDirectory()) throw new UsageError(`${file} is a directory`);
  accessSync(file, constants.R_OK);
  return stats.isFile() ? stats.size : null;
}

/** The bytes of a file, or of standard input for "-". */
export function streamOf(file: string): ReadableStream<Uint8Array> {
  return file === "-" ? Bun.stdin.stream() : Bun.file(file).stream();
}
