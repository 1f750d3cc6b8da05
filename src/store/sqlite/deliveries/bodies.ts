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
  pack ??= packer();
  const packed = pack(bytes);
  if (packed.length + 1 >= bytes.length) return body;
  const kept = Buffer.allocUnsafe(packed.length + 1);
  kept[0] = format;
  kept.set(packed, 1);
  return kept;
}

let pack: ((bytes: Uint8Array) => Uint8Array) | null = null;

/** What a stream of node:zlib has inside, in Bun as in Node.js. */
interface Deflating {
  readonly _handle?: {
    reset(): void;
    writeSync(
      flush: number,
      from: Uint8Array,
      at: number,
      bytes: number,
      to: Uint8Array,
      toAt: number,
      room: number,
    ): void;
  };
  /** First the room that is left. */
  readonly _writeState?: Uint32Array;
}

/**
 * Makes the function that packs bytes, whose result is good until the next call. `deflateRawSync` makes a stream for each
 * body, which costs more than to pack it, so one stream packs all. That takes what is inside of it; where it does not give
 * the same, as in another version of Bun, a stream is made for each.
 */
function packer(): (bytes: Uint8Array) => Uint8Array {
  const { createDeflateRaw, deflateRawSync, constants } = zlib();
  const alone = (bytes: Uint8Array) => deflateRawSync(bytes, packing);
  const { _handle: handle, _writeState: state } = createDeflateRaw(packing) as Deflating;
  if (typeof handle?.reset !== "function" || typeof handle.writeSync !== "function" || !state) return alone;
  const room = Buffer.allocUnsafeSlow(16_384);
  const together = (bytes: Uint8Array) => {
    if (bytes.length > room.length / 2) return alone(bytes);
    handle.reset();
    handle.writeSync(constants.Z_FINISH, bytes, 0, bytes.length, room, 0, room.length);
    return room.subarray(0, room.length - (state[0] ?? 0));
  };
  const samples = [dictionary.subarray(0, 600), dictionary.subarray(100, 300)];
  const isSame = samples.every((sample) => alone(sample).equals(together(sample)));
  return isSame ? together : alone;
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
