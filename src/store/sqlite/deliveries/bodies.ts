import { DamagedValue } from "../database/faults.ts";
import words from "./body-dictionary-1.txt" with { type: "text" };

/**
 * The stored body of an event: its text, or a blob if that is shorter. The first byte of a blob is the format, which
 * includes the dictionary. The others are raw deflate.
 */
export type KeptBody = string | Uint8Array;

/** Loaded on first use, because it would delay the start. */
const zlib = () => process.getBuiltinModule("node:zlib");

const format = 1;
/** Text that events of built-in types have in common. It must never change, or stored bodies could not be unpacked. */
const dictionary = Buffer.from(words);
/** The fastest level, because each published event is packed. */
const packing = { dictionary, level: 1, memLevel: 5, windowBits: 13, chunkSize: 1024 };
/** The largest body that is packed. It bounds the memory for unpacking a damaged one. */
const mostBytes = 1024 * 1024;

export function keptBody(body: string): KeptBody {
  const bytes = Buffer.from(body);
  if (bytes.length > mostBytes) return body;
  const packed = zlib().deflateRawSync(bytes, packing);
  if (packed.length + 1 >= bytes.length) return body;
  const kept = Buffer.allocUnsafe(packed.length + 1);
  kept[0] = format;
  kept.set(packed, 1);
  return kept;
}

/** Returns the bytes of a body. Throws `DamagedValue`. */
export function bodyBytes(kept: KeptBody): Buffer {
  if (typeof kept === "string") return Buffer.from(kept);
  try {
    if (kept[0] !== format) throw new Error(`the format ${kept[0]} is unknown`);
    return zlib().inflateRawSync(kept.subarray(1), { dictionary, maxOutputLength: mostBytes });
  } catch (error) {
    throw Object.assign(new DamagedValue("the body of an event cannot be unpacked"), { cause: error });
  }
}

/** Returns the bytes of a body; null when it is damaged or no longer stored. */
export function readableBody(kept: KeptBody | null): Buffer | null {
  try {
    return kept === null ? null : bodyBytes(kept);
  } catch (error) {
    if (error instanceof DamagedValue) return null;
    throw error;
  }
}
