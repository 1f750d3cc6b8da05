import { Body } from "./body.ts";
import { type Fields, type Head, headTooLarge, maxHeadBytes, readHead, WireFault } from "./head.ts";

/** Of a body; one that is larger is told by its length or by the one byte more that is read of it. */
export const maxBodyBytes = 64 * 1024;

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
  /** The same bytes, each a character. */
  #text = "";
  #fields: Fields | null = null;
  #incoming: { readonly head: Head; readonly body: Body } | null = null;
  #isExpected = false;

  /** Bytes that are held. */
  get heldBytes(): number {
    return this.#bytes.length - this.#at;
  }

  add(bytes: Buffer): void {
    this.#bytes = this.heldBytes === 0 ? bytes : Buffer.concat([this.#bytes.subarray(this.#at), bytes]);
    this.#at = 0;
    this.#text = "";
  }

  /** The next request; null: not before more bytes have come. Throws a `WireFault`, after which nothing is read. */
  next(): Arrived | null {
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

  /** Lets go of what was read. A copy is kept of the rest, which must not hold on to the whole of what was received. */
  settle(): void {
    const isRead = this.heldBytes === 0;
    this.#bytes = isRead ? empty : Buffer.from(this.#bytes.subarray(this.#at));
    this.#at = 0;
    this.#text = "";
  }

  #nextHead(): Head | null {
    this.part = "nothing";
    if (this.heldBytes === 0) return null;
    this.#text ||= this.#bytes.toString("latin1");
    // Empty lines before a request are to be ignored (RFC 9112, section 2.2).
    while (this.#text.startsWith("\r\n", this.#at)) this.#at += 2;
    const end = this.#text.indexOf("\r\n\r\n", this.#at);
    if (end === -1) {
      this.#requireHead(this.#text.slice(this.#at));
      return null;
    }
    if (end + 4 - this.#at > maxHeadBytes) throw headTooLarge();
    const head = readHead(this.#text.slice(this.#at, end + 4), this.#fields);
    this.#fields = head.fields;
    this.#at = end + 4;
    return head;
  }

  /** Refuses what cannot become a head any more. */
  #requireHead(beginning: string): void {
    if (beginning.length > maxHeadBytes) throw headTooLarge();
    if (/(?:^|[^\r])\n/.test(beginning)) {
      throw new WireFault(400, "malformed_request", "Lines of a head end with CR and LF");
    }
    if (beginning !== "") this.part = "head";
  }
}

const empty = Buffer.alloc(0);
