import { closeSync, openSync, readSync } from "node:fs";

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
