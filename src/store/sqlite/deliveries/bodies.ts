import { DamagedValue } from "../database/faults.ts";
import words from "./body-dictionary-1.txt" with { type: "text" };

/**
 * The body of an event as its row keeps it: its text, or where that is shorter a blob, of which the first byte names the
 * dictionary and the others are raw deflate.
 */
export type KeptBody = string | Uint8Array;

/** Loaded on first use, to keep it out of the start. */
const zlib = () => process.getBuiltinModule("node:zlib");

const format = 1;
/** What events of the built-in types have in common. It never changes: what was packed with it could not be read any more. */
const dictionary = Buffer.from(words);
/** The quickest level, because each event pays for it. */
const packing = { dictionary, level: 1, memLevel: 5, windowBits: 13, chunkSize: 1024 };
/** Of a body that is packed; a damaged one takes no more memory than that. */
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

/** The bytes of a body. Throws `DamagedValue`. */
export function bodyBytes(kept: KeptBody): Buffer {
  if (typeof kept === "string") return Buffer.from(kept);
  try {
    if (kept[0] !== format) throw new Error(`the format ${kept[0]} is unknown`);
    return zlib().inflateRawSync(kept.subarray(1), { dictionary, maxOutputLength: mostBytes });
  } catch (error) {
    throw Object.assign(new DamagedValue("the body of an event cannot be unpacked"), { cause: error });
  }
}

/** The same; null where the body is damaged, or not kept any more. */
export function readableBody(kept: KeptBody | null): Buffer | null {
  try {
    return kept === null ? null : bodyBytes(kept);
  } catch (error) {
    if (error instanceof DamagedValue) return null;
    throw error;
  }
}

/** The text of a body; null where it is not kept any more. Throws `DamagedValue`. */
export function bodyText(kept: KeptBody | null): string | null {
  return kept === null || typeof kept === "string" ? kept : bodyBytes(kept).toString();
}
