import { malformed } from "./fault.ts";
import { fieldLine } from "./head.ts";

/** Of what frames the chunks of a body, trailers included. */
const maxFramingBytes = 16 * 1024;

const token = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
const quoted = String.raw`"(?:[\t\x20\x21\x23-\x5b\x5d-\x7e\x80-\xff]|\\[\t\x20-\x7e\x80-\xff])*"`;
/**
 * A size and its extensions. No white space is taken, although section 7.1.1 allows some for old senders: parsers do
 * not agree about it.
 */
const chunkLine = new RegExp(`^([0-9A-Fa-f]{1,8})(?:;${token}(?:=(?:${token}|${quoted}))?)*$`);

/** Trailers are left out, but for those that would say where the body ends or whose it is (RFC 9110, section 6.5.1). */
const headOnly = /^(?:content-length|transfer-encoding|host):/i;

/**
 * Reads the body of a request as its bytes come (RFC 9112, sections 6.2 and 7.1). At most `maxBytes` and one more of it
 * are kept; whoever reads it then sees that it is too large, without the rest having been waited for. What it finds
 * depends on the bytes alone, not on how they were split.
 */
export class Body {
  /** Whether nothing more is read: the body is complete, or larger than it may be. */
  ended: boolean;
  /** Whether there is more than `maxBytes`, so that nobody knows where the next request begins. */
  isTooLarge = false;
  /** A copy, which does not hold on to what was received; as its first `#bytes`. */
  #kept = new Uint8Array(0);
  #bytes = 0;
  #framingBytes = 0;
  /** Of the sized body, or of the chunk. */
  #left: number;
  #part: "data" | "chunk size" | "end of chunk" | "trailers";
  readonly #isSized: boolean;
  #line = "";

  /** @param length null: it comes in chunks */
  constructor(
    length: number | null,
    readonly maxBytes: number,
  ) {
    this.#isSized = length !== null;
    this.#left = length ?? 0;
    this.#part = this.#isSized ? "data" : "chunk size";
    this.isTooLarge = this.#left > maxBytes;
    this.ended = length === 0 || this.isTooLarge;
  }

  /** Bytes of memory that this takes. */
  get keptBytes(): number {
    return this.#kept.length;
  }

  /** Takes the next bytes from `at` on. @returns where it stopped. Throws a `WireFault`. */
  feed(bytes: Buffer, at: number): number {
    let next = at;
    while (next < bytes.length && !this.ended) {
      next = this.#part === "data" ? this.#takeData(bytes, next) : this.#takeLine(bytes, next);
    }
    return next;
  }

  /** What came of it. */
  bytes(): Uint8Array<ArrayBuffer> {
    return this.#bytes === this.#kept.length ? this.#kept : this.#kept.slice(0, this.#bytes);
  }

  #takeData(bytes: Buffer, at: number): number {
    const taken = Math.min(bytes.length - at, this.#left, this.maxBytes + 1 - this.#bytes);
    this.#keep(bytes.subarray(at, at + taken));
    this.#left -= taken;
    if (this.#bytes > this.maxBytes) this.ended = this.isTooLarge = true;
    else if (this.#left === 0) {
      this.ended = this.#isSized;
      this.#part = "end of chunk";
    }
    return at + taken;
  }

  /** The room for it doubles, so that many small pieces cost no more than a few large ones. */
  #keep(piece: Uint8Array): void {
    const bytes = this.#bytes + piece.length;
    if (bytes > this.#kept.length) {
      const room = new Uint8Array(this.#bytes === 0 ? bytes : Math.max(bytes, this.#kept.length * 2));
      room.set(this.#kept);
      this.#kept = room;
    }
    this.#kept.set(piece, this.#bytes);
    this.#bytes = bytes;
  }

  #takeLine(bytes: Buffer, at: number): number {
    const newline = bytes.indexOf(0x0a, at);
    const end = newline === -1 ? bytes.length : newline + 1;
    this.#framingBytes += end - at;
    if (this.#framingBytes > maxFramingBytes) {
      throw malformed(`There are more than ${maxFramingBytes} bytes around the data of the body's chunks`);
    }
    this.#line += bytes.toString("latin1", at, end);
    if (newline === -1) return end;
    if (!this.#line.endsWith("\r\n"))
      throw malformed("Lines between the chunks of a body end with CR and LF");
    this.#endLine(this.#line.slice(0, -2));
    this.#line = "";
    return end;
  }

  #endLine(line: string): void {
    if (this.#part === "end of chunk") {
      if (line !== "") throw malformed("A chunk of the body is not as long as it says");
      this.#part = "chunk size";
    } else if (this.#part === "trailers") {
      this.ended = line === "";
      if (!this.ended && (!fieldLine.test(line) || headOnly.test(line))) {
        throw malformed("A trailer of the body is malformed");
      }
    } else {
      const [, size] = chunkLine.exec(line) ?? [];
      if (size === undefined) throw malformed("A chunk of the body does not begin with its size");
      this.#left = Number.parseInt(size, 16);
      this.#part = this.#left === 0 ? "trailers" : "data";
    }
  }
}
