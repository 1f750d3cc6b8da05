import { WireFault } from "./head.ts";

/** Of what frames the chunks of a body, trailers included. */
const maxFramingBytes = 16 * 1024;

const chunkLine = /^([0-9A-Fa-f]{1,8})[\t ]*(?:;[\t\x20-\x7e\x80-\xff]*)?$/;
const malformed = () => new WireFault(400, "malformed_request", "The chunks of the body are malformed");

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
  readonly #kept: Buffer[] = [];
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
    return new Uint8Array(Buffer.concat(this.#kept));
  }

  #takeData(bytes: Buffer, at: number): number {
    const taken = Math.min(bytes.length - at, this.#left, this.maxBytes + 1 - this.#bytes);
    // A copy: what is kept must not hold on to the whole of what was received.
    this.#kept.push(Buffer.from(bytes.subarray(at, at + taken)));
    this.#bytes += taken;
    this.#left -= taken;
    if (this.#bytes > this.maxBytes) this.ended = this.isTooLarge = true;
    else if (this.#left === 0) {
      this.ended = this.#isSized;
      this.#part = "end of chunk";
    }
    return at + taken;
  }

  #takeLine(bytes: Buffer, at: number): number {
    const newline = bytes.indexOf(0x0a, at);
    const end = newline === -1 ? bytes.length : newline + 1;
    this.#framingBytes += end - at;
    if (this.#framingBytes > maxFramingBytes) throw malformed();
    this.#line += bytes.toString("latin1", at, end);
    if (newline === -1) return end;
    if (!this.#line.endsWith("\r\n")) throw malformed();
    this.#endLine(this.#line.slice(0, -2));
    this.#line = "";
    return end;
  }

  #endLine(line: string): void {
    if (this.#part === "end of chunk") {
      if (line !== "") throw malformed();
      this.#part = "chunk size";
    } else if (this.#part === "trailers") {
      this.ended = line === "";
    } else {
      const [, size] = chunkLine.exec(line) ?? [];
      if (size === undefined) throw malformed();
      this.#left = Number.parseInt(size, 16);
      this.#part = this.#left === 0 ? "trailers" : "data";
    }
  }
}
