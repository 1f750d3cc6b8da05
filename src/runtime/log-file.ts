import { closeSync, openSync, write } from "node:fs";
import { promisify } from "node:util";
import type { LineWriter } from "./log-output.ts";

const writeSome = promisify(write);

/**
 * Returns a function that opens a file for appending; a new file is readable by its owner and group. Throws if the file
 * cannot be opened.
 */
export function fileLines(path: string): () => LineWriter {
  const open = () => {
    const file = openSync(path, "a", 0o640);
    return {
      async write(lines: Uint8Array) {
        const kept = new Uint8Array(lines);
        for (let at = 0; at < kept.length; ) at += (await writeSome(file, kept, at)).bytesWritten;
      },
      flush() {},
      end: () => closeSync(file),
    };
  };
  try {
    open().end();
  } catch (error) {
    const { code } = error as { code?: string };
    throw new Error(`The log file ${path} cannot be opened (${code}). Name another one with --log-file.`);
  }
  return open;
}
