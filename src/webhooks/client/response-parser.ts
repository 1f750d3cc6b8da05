/**
 * An incremental, bounded parser for the response to one request. Pure: the result depends on the bytes alone, not on
 * how they were split.
 *
 * A line may end in LF alone (RFC 9112, section 2.2), as in the answers of shell scripts. An intermediary may divide
 * such an answer differently, so the connection is not reused.
 *
 * An invalid head is a fault. After the head, the status counts in any case: an error in the body or its framing only
 * ends the reading, and the connection is not reused.
 */

import { invalidResponse, type SendFailure, speaksTls, switchedProtocols, tooLarge } from "./failures.ts";
import {
  chunkSizeOf,
  isFieldLine,
  isTlsAlert,
  mayBeginStatusLine,
  ResponseHead,
} from "./response-grammar.ts";
import type { ResponseHeaders } from "./result.ts";

/**
 * The most bytes of blank lines, interim responses and head together. The same bound applies to the lines of chunks and
 * trailers together.
 */
const maxHeadBytes = 16_384;

/** Bounds for kept headers. */
const maxHeaders = 40;
const maxHeaderName = 100;

const newline = 0x0a;

type Part =
  | "status line"
  | "head"
  | "sized body"
  | "chunk size"
  | "chunk"
  | "end of chunk"
  | "trailers"
  | "body until close"
  | "nothing";

export interface ResponseLimits {
  /** The most bytes of the body that are read. */
  readonly maxBodyBytes: number;
  /** The most bytes of the body that are kept. */
  readonly keepBytes: number;
  /** Whether to keep the headers; by default they are not kept. */
  readonly keepHeaders?: boolean;
}

export class ResponseParser {
  /** The final status; null until its head is complete. */
  status: number | null = null;
  /** Why this is not a response; set only while there is no status. */
  fault: SendFailure | null = null;
  /** Whether reading has ended: the response is complete, or the rest cannot or need not be read. */
  ended = false;
  /** After the end: how many milliseconds the connection may be reused; 0 for not at all. */
  keepMs = 0;

  readonly #limits: ResponseLimits;
  readonly #isTunnel: boolean;
  #headers: [name: string, value: string][] = [];
  #part: Part = "status line";
  #line = "";
  #lineBytes = 0;
  /** Whether a line ended in LF alone. */
  #hasBareLf = false;
  #head: ResponseHead | null = null;
  #kept: Uint8Array[] | null = null;
  #bodyBytes = 0;
  /** Bytes that are left of the sized body or the chunk. */
  #left = 0;

  /** @param tunnel whether this is the response to CONNECT: then a 2xx has no body */
  constructor(limits: ResponseLimits, { tunnel = false } = {}) {
    this.#limits = limits;
    this.#isTunnel = tunnel;
  }

  /**
   * Parses the next bytes and returns how many of them were read. Bytes after the end are not read, and the connection
   * must then not be reused.
   */
  feed(bytes: Buffer): number {
    let at = 0;
    while (at < bytes.length && !this.ended && this.fault === null) {
      const inBody =
        this.#part === "sized body" || this.#part === "chunk" || this.#part === "body until close";
      at = inBody ? this.#takeBody(bytes, at) : this.#takeLine(bytes, at);
    }
    if (at < bytes.length) this.keepMs = 0;
    return at;
  }

  /** Ends parsing, because no more bytes will come. Returns whether there was a final status. */
  close(): boolean {
    if (this.status === null) return false;
    this.#stop();
    return true;
  }

  /** The value of the final response's `Retry-After`. */
  get retryAfter(): string | null {
    return this.#head?.retryAfter ?? null;
  }

  /** The headers of the final response, if they are kept. */
  get headers(): ResponseHeaders {
    return this.#headers;
  }

  /** The beginning of the body, decoded as UTF-8, with NUL replaced. */
  text(): string {
    const first = this.#kept?.[0];
    if (first === undefined) return "";
    const bytes = this.#kept?.length === 1 ? first : Buffer.concat(this.#kept ?? []);
    // A character that was cut in two at the limit is left out.
    const text =
      this.#bodyBytes <= this.#limits.keepBytes
        ? utf8.decode(bytes)
        : new TextDecoder().decode(bytes, { stream: true });
    // NUL is valid UTF-8, but PostgreSQL cannot store it in a text.
    return text.replaceAll("\0", "\ufffd");
  }

  #takeLine(bytes: Buffer, from: number): number {
    const found = bytes.indexOf(newline, from);
    const end = found < 0 ? bytes.length : found + 1;
    this.#lineBytes += end - from;
    if (this.#lineBytes > maxHeadBytes) this.#refuse(tooLarge);
    else if (found < 0) this.#beginLine(bytes.toString("latin1", from, end));
    else {
      const line = this.#line + bytes.toString("latin1", from, end);
      this.#line = "";
      const hasCr = line.endsWith("\r\n");
      if (!hasCr) this.#hasBareLf = true;
      this.#readLine(line.slice(0, hasCr ? -2 : -1));
    }
    return end;
  }

  #beginLine(piece: string): void {
    this.#line += piece;
    if (this.#part !== "status line" || this.#line === "\r") return;
    // Checked before the end of the line, because another protocol may never end it.
    if (!mayBeginStatusLine(this.#line)) this.#refuse(noHttp(this.#line));
  }

  #readLine(line: string): void {
    switch (this.#part) {
      case "status line":
        if (line !== "") this.#beginHead(line);
        break;
      case "head":
        if (line === "") this.#endHead();
        else if (this.#head?.add(line) !== true) this.#refuse(invalidResponse);
        else if (this.#limits.keepHeaders) this.#keepHeader(line);
        break;
      case "chunk size":
        this.#readChunkSize(line);
        break;
      case "end of chunk":
        if (line === "") this.#part = "chunk size";
        else this.#stop();
        break;
      case "trailers":
        if (line === "") this.#complete();
        else if (!isFieldLine(line)) this.#stop();
        break;
    }
  }

  #beginHead(line: string): void {
    this.#head = ResponseHead.begin(line);
    this.#part = "head";
    if (this.#head === null) this.#refuse(noHttp(line));
    else if (this.#head.status === 101) this.#refuse(switchedProtocols);
  }

  #keepHeader(line: string): void {
    const end = line.indexOf(":");
    // A folded line continues the last value and has no name.
    if (/^[ \t]/.test(line) || end > maxHeaderName || this.#headers.length >= maxHeaders) return;
    this.#headers.push([line.slice(0, end).toLowerCase(), line.slice(end + 1).trim()]);
  }

  #endHead(): void {
    const head = this.#head;
    if (head === null || head.status < 200) {
      // An interim response; the final one follows.
      this.#head = null;
      this.#headers = [];
      this.#part = "status line";
      return;
    }
    this.status = head.status;
    this.#lineBytes = 0;
    const framing = head.framing(this.#isTunnel);
    switch (framing.kind) {
      case "none":
        this.#complete();
        break;
      case "chunked":
        this.#part = "chunk size";
        break;
      case "until close":
        this.#part = "body until close";
        break;
      case "unknown":
        this.#stop();
        break;
      case "sized":
        this.#left = framing.bytes;
        this.#part = "sized body";
        if (this.#left === 0) this.#complete();
        break;
    }
  }

  #readChunkSize(line: string): void {
    const size = chunkSizeOf(line);
    if (size === null) {
      this.#stop();
      return;
    }
    this.#left = size;
    this.#part = size === 0 ? "trailers" : "chunk";
  }

  #takeBody(bytes: Buffer, from: number): number {
    const sized = this.#part !== "body until close";
    const end = sized ? Math.min(bytes.length, from + this.#left) : bytes.length;
    const room = this.#limits.keepBytes - this.#bodyBytes;
    if (room > 0) {
      this.#kept ??= [];
      this.#kept.push(bytes.subarray(from, Math.min(end, from + room)));
    }
    this.#bodyBytes += end - from;
    this.#left -= end - from;
    if (this.#bodyBytes > this.#limits.maxBodyBytes) this.#stop();
    else if (sized && this.#left === 0) {
      if (this.#part === "chunk") this.#part = "end of chunk";
      else this.#complete();
    }
    return end;
  }

  /** Ends reading at the unambiguous end of the response. */
  #complete(): void {
    this.#stop();
    this.keepMs = this.#hasBareLf ? 0 : (this.#head?.keepMs ?? 0);
  }

  /** Ends reading; the connection is not reused. */
  #stop(): void {
    this.ended = true;
    this.#part = "nothing";
  }

  #refuse(failure: SendFailure): void {
    if (this.status === null) this.fault = failure;
    else this.#stop();
  }
}

const noHttp = (start: string): SendFailure => (isTlsAlert(start) ? speaksTls : invalidResponse);

const utf8 = new TextDecoder();
