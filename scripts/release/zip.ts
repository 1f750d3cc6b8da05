import type { Entry } from "./archive.ts";

/** A reproducible zip archive: the same files give the same bytes. `time` is in seconds since 1970. */
export function zip(entries: readonly Entry[], time: number): Uint8Array {
  const sorted = [...entries].sort((one, other) => (one.path < other.path ? -1 : 1));
  const parts: Uint8Array[] = [];
  const directory: Uint8Array[] = [];
  let offset = 0;
  const when = dosTime(time);
  for (const { path, content, mode = 0o644 } of sorted) {
    const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
    const packed = Bun.deflateSync(Uint8Array.from(bytes), { level: 6, library: "libdeflate" });
    const name = new TextEncoder().encode(path);
    // Version 2.0, names in UTF-8, deflated; then time, checksum, sizes, and the length of the name.
    const common = [
      [2, 20],
      [2, 0x0800],
      [2, 8],
      [4, when],
      [4, Bun.hash.crc32(bytes)],
      [4, packed.length],
      [4, bytes.length],
      [2, name.length],
      [2, 0],
    ] as const;
    const local = numbers([[4, 0x04034b50], ...common]);
    // Made on Unix; without a comment; the mode of the file.
    const central = numbers([
      [4, 0x02014b50],
      [2, (3 << 8) | 20],
      ...common,
      [2, 0],
      [2, 0],
      [2, 0],
      [4, ((0o100000 | mode) << 16) >>> 0],
      [4, offset],
    ]);
    parts.push(local, name, packed);
    directory.push(central, name);
    offset += local.length + name.length + packed.length;
  }
  const size = directory.reduce((total, { length }) => total + length, 0);
  const end = numbers([
    [4, 0x06054b50],
    [2, 0],
    [2, 0],
    [2, sorted.length],
    [2, sorted.length],
    [4, size],
    [4, offset],
    [2, 0],
  ]);
  return new Uint8Array(Buffer.concat([...parts, ...directory, end]));
}

/** Numbers in as many bytes each, the lowest first. */
function numbers(values: readonly (readonly [size: 2 | 4, value: number])[]): Uint8Array {
  const buffer = Buffer.alloc(values.reduce((total, [size]) => total + size, 0));
  let at = 0;
  for (const [size, value] of values) at = buffer.writeUIntLE(value, at, size);
  return buffer;
}

/** A time as zip has it, in UTC and steps of two seconds, from 1980 on. */
function dosTime(seconds: number): number {
  const at = new Date(Math.max(seconds, Date.UTC(1980, 0, 1) / 1000) * 1000);
  const date = ((at.getUTCFullYear() - 1980) << 9) | ((at.getUTCMonth() + 1) << 5) | at.getUTCDate();
  const time = (at.getUTCHours() << 11) | (at.getUTCMinutes() << 5) | (at.getUTCSeconds() >> 1);
  return ((date << 16) | time) >>> 0;
}
