import { Body } from "./body.ts";
import { malformed } from "./fault.ts";
import { type Fields, type Head, maxHeadBytes, memoryOf, readHead, tooManyBytes } from "./head.ts";

/** Of a body; one that is larger is told by its length or by the one byte more that is read of it. */
export const maxBodyBytes = 64 * 1024;

/** Of fields that are remembered from one request of a connection to the next. */
const maxRememberedBytes = 2 * 1024;

/** A request that has arrived as a whole. */
export interface Arrived {
  readonly head: Head;
  /** null where it has none. */
  readonly body: Uint8Array<ArrayBuffer> | null;
  /** Whether there is more of the body than was read, so that nobody knows where the next request begins. */
  readonly isTooLarge: boolean;
}

/** Reads requests, one after the other, out of the bytes of a connection. */
export class Requests {
  /** What there is of the next request. */
  part: "nothing" | "head" | "body" = "nothing";
  #bytes: Buffer = empty;
  #at = 0;
  #fields: Fields | null = null;
  #incoming: { readonly head: Head; readonly body: Body } | null = null;
  #isExpected = false;

  /** Bytes that are held. */
  get heldBytes(): number {
    return this.#bytes.length - this.#at;
  }

  /** Bytes of memory that this takes, those that are read already included. */
  get keptBytes(): number {
    if (this.#incoming === null) return this.#bytes.length;
    const { head, body } = this.#incoming;
    return this.#bytes.length + memoryOf(head.fields) + body.keptBytes;
  }

  add(bytes: Buffer): void {
    this.#bytes = this.heldBytes === 0 ? bytes : Buffer.concat([this.#bytes.subarray(this.#at), bytes]);
    this.#at = 0;
  }

  /** The next request; null: not before more bytes have come. Throws a `WireFault`, after which nothing is read. */
  next(): Arrived | null {
    this.part = "nothing";
    if (this.#incoming === null) {
      const head = this.#nextHead();
      if (head === null) return null;
      const { contentLength, expectsContinue } = head.fields;
      if (contentLength === 0) return { head, body: null, isTooLarge: false };
      this.#incoming = { head, body: new Body(contentLength, maxBodyBytes) };
      this.#isExpected = expectsContinue && head.isHttp11;
    }
    const { head, body } = this.#incoming;
    this.#at = body.feed(this.#bytes, this.#at);
    if (!body.ended) {
      this.part = "body";
      return null;
    }
    this.#incoming = null;
    this.#isExpected = false;
    return { head, body: body.bytes(), isTooLarge: body.isTooLarge };
  }

  /** Whether the client waits to be told to send the body; it has to be told once. */
  takeExpectation(): boolean {
    const isExpected = this.#isExpected;
    this.#isExpected = false;
    return isExpected;
  }

  /** Lets go of what was read. Only when it is half of it or more, so that many small requests are not copied often. */
  settle(): void {
    if (this.#at * 2 < this.#bytes.length) return;
    this.#bytes = this.heldBytes === 0 ? empty : Buffer.from(this.#bytes.subarray(this.#at));
    this.#at = 0;
  }

  /** Lets go of everything: nothing more is read. */
  clear(): void {
    this.#bytes = empty;
    this.#at = 0;
    this.#incoming = null;
    this.#fields = null;
  }

  #nextHead(): Head | null {
    const bytes = this.#bytes;
    // Empty lines before a request are to be ignored (RFC 9112, section 2.2).
    while (bytes[this.#at] === 0x0d && bytes[this.#at + 1] === 0x0a) this.#at += 2;
    const start = this.#at;
    if (start === bytes.length) return null;
    const end = bytes.indexOf(headEnd, start);
    if (end === -1 || end + headEnd.length - start > maxHeadBytes) return this.#requireHead();
    // Each byte a character. No more of them than the head, because its fields are kept, and what they are a part of.
    const head = readHead(bytes.toString("latin1", start, end + headEnd.length), this.#fields);
    this.#fields = end - start <= maxRememberedBytes ? head.fields : null;
    this.#at = end + headEnd.length;
    return head;
  }

  /** Refuses what cannot become a head any more; otherwise more of it is to come: null. */
  #requireHead(): null {
    const beginning = this.#bytes.toString("latin1", this.#at, this.#at + maxHeadBytes);
    if (this.heldBytes > maxHeadBytes) throw tooManyBytes(beginning);
    if (/(?:^|[^\r])\n/.test(beginning)) {
      throw malformed("Lines of a head end with CR and LF");
    }
    this.part = "head";
    return null;
  }
}

const empty = Buffer.alloc(0);
const headEnd = Buffer.from("\r\n\r\n");
