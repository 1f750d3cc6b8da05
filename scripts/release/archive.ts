/*
 * Reproducible archives: the same files give the same bytes. Entries are sorted, owned by root, and have the same time.
 * The archive tools of different systems do not guarantee this.
 */

/** A file of an archive. */
export interface Entry {
  /** Relative, with "/" between its parts. */
  readonly path: string;
  readonly content: string | Uint8Array;
  /** 0o644 by default. */
  readonly mode?: number;
}

const block = 512;

/** Returns a tar archive (ustar) of these files and their parent directories. Throws when a path is too long. */
export function tar(entries: readonly Entry[], mtime: number): Uint8Array<ArrayBuffer> {
  const sorted = [...entries].sort((one, other) => (one.path < other.path ? -1 : 1));
  const directories = new Set(sorted.flatMap(({ path }) => parentsOf(path)));
  const parts: Uint8Array[] = [];
  for (const path of [...directories].sort())
    parts.push(header({ path, mode: 0o755, size: 0, type: "5", mtime }));
  for (const { path, content, mode = 0o644 } of sorted) {
    const bytes = bytesOf(content);
    parts.push(header({ path, mode, size: bytes.length, type: "0", mtime }), bytes);
    parts.push(new Uint8Array(-bytes.length & (block - 1)));
  }
  return joined([...parts, new Uint8Array(2 * block)]);
}

/** Returns a tar archive compressed with gzip. */
export const tarGz = (entries: readonly Entry[], mtime: number): Uint8Array =>
  Bun.gzipSync(tar(entries, mtime), { level: 6, library: "libdeflate" });

/** Returns an ar archive, the format of Debian packages. */
export function ar(entries: readonly Entry[], mtime: number): Uint8Array<ArrayBuffer> {
  const parts = entries.flatMap(({ path, content }) => {
    const bytes = bytesOf(content);
    const fields = [
      path.padEnd(16),
      `${mtime}`.padEnd(12),
      "0     ",
      "0     ",
      "100644  ",
      `${bytes.length}`.padEnd(10),
    ];
    return [bytesOf(`${fields.join("")}\`\n`), bytes, bytesOf("\n".repeat(bytes.length % 2))];
  });
  return joined([bytesOf("!<arch>\n"), ...parts]);
}

interface Header {
  readonly path: string;
  readonly mode: number;
  readonly size: number;
  readonly type: "0" | "5";
  readonly mtime: number;
}

function header({ path, mode, size, type, mtime }: Header): Uint8Array {
  const bytes = new Uint8Array(block);
  const put = (offset: number, length: number, text: string) => {
    const { written } = new TextEncoder().encodeInto(text, bytes.subarray(offset, offset + length));
    if (written < text.length) throw new Error(`The path ${path} is too long for a tar archive`);
  };
  const octal = (value: number, length: number) => value.toString(8).padStart(length - 1, "0");
  const cut = path.length <= 100 ? 0 : path.indexOf("/", path.length - 101) + 1;
  put(0, 100, path.slice(cut));
  put(100, 8, octal(mode, 8));
  put(108, 8, octal(0, 8));
  put(116, 8, octal(0, 8));
  put(124, 12, octal(size, 12));
  put(136, 12, octal(mtime, 12));
  put(148, 8, " ".repeat(8));
  put(156, 1, type);
  put(257, 8, "ustar\x0000");
  put(265, 32, "root");
  put(297, 32, "root");
  put(345, 155, path.slice(0, Math.max(0, cut - 1)));
  const sum = bytes.reduce((total, byte) => total + byte, 0);
  put(148, 8, `${octal(sum, 7)}\0 `);
  return bytes;
}

function parentsOf(path: string): string[] {
  const names = path.split("/").slice(0, -1);
  return names.map((_, i) => `${names.slice(0, i + 1).join("/")}/`);
}

const bytesOf = (content: string | Uint8Array): Uint8Array =>
  typeof content === "string" ? new TextEncoder().encode(content) : content;

function joined(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((total, { length }) => total + length, 0));
  let offset = 0;
  for (const part of parts) {
    whole.set(part, offset);
    offset += part.length;
  }
  return whole;
}
