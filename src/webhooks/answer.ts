/**
 * Reads the answer to one request as its bytes come: HTTP/1.1 (RFC 9112), strictly and within bounds. Pure; what
 * it finds depends on the bytes alone, not on how they were split.
 *
 * What is not HTTP before the end of the head is a fault. From there on the status stands: whatever is wrong with
 * the body, or with telling where it ends, only ends the reading and the use of the connection.
 */

import { type AnswerHeaders, HeaderLines } from "./answer-headers.ts";
import { type Failure, invalidAnswer, speaksTls, switchedProtocols, tooLarge } from "./outcome.ts";

/**
 * Bytes of blank lines, interim answers and head together; beyond, the answer is too large. As much again is read
 * of what frames chunks, trailers included.
 */
const maxHeadBytes = 16_384;

/** For how long a receiver keeps a connection that it says nothing about. */
const unlimited = Number.POSITIVE_INFINITY;

/** A receiver that says how long it keeps a connection is taken to be this much earlier (its clock starts first). */
const keepMarginMs = 1_000;

const newline = 0x0a;
const anyText = "[\\t\\x20-\\x7e\\x80-\\xff]*";
const statusLine = new RegExp(`^HTTP/1\\.([01]) ([1-9][0-9]{2})(?: ${anyText})?$`);
const protocolName = "HTTP/1.";
const fieldLine = new RegExp(`^[!#$%&'*+.^_\`|~0-9A-Za-z-]+:${anyText}$`);
/** A line that goes on with the value of the last one (RFC 9112, section 5.2), which nobody should send. */
const foldedLine = new RegExp(`^[ \\t]${anyText}$`);
const chunkLine = new RegExp(`^([0-9A-Fa-f]{1,8})[ \\t]*(?:;${anyText})?$`);

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

export interface AnswerLimits {
  /** How much of the body is read at most. */
  readonly maxBodyBytes: number;
  /** How much of that is kept at most. */
  readonly keepBytes: number;
  /** Whether the headers are kept; not unless given. */
  readonly keepHeaders?: boolean;
}

export class Answer {
  /** The final status; null until its head is complete. */
  status: number | null = null;
  /** The value of `Retry-After`. */
  retryAfter: string | null = null;
  /** Why this is no answer; set only while there is no status. */
  fault: Failure | null = null;
  /** Whether nothing more is read: the answer is complete, or what follows cannot be or need not be read. */
  ended = false;
  /** When ended: for how many milliseconds the receiver keeps the connection; 0 where it must not be used again. */
  keepMs = 0;

  readonly #limits: AnswerLimits;
  readonly #tunnel: boolean;
  #part: Part = "status line";
  #line = "";
  #lineBytes = 0;
  #code = 0;
  #http11 = true;
  readonly #headers: HeaderLines | null;
  #kept: Uint8Array[] | null = null;
  #bodyBytes = 0;
  /** Of the sized body, or of the chunk. */
  #left = 0;

  // What the head says of the connection and of the body.
  #mayKeep = true;
  /** Whether the connection is kept unless one says otherwise: since 1.1. */
  #persistent = true;
  #announcedMs = unlimited;
  #length: string | null = null;
  #coding: string | null = null;

  /** @param tunnel whether this is the answer to CONNECT, of which a 2xx has no body (RFC 9110, section 9.3.6) */
  constructor(limits: AnswerLimits, { tunnel = false } = {}) {
    this.#limits = limits;
    this.#headers = limits.keepHeaders ? new HeaderLines() : null;
    this.#tunnel = tunnel;
  }

  /**
   * Takes the next bytes. Those beyond the end are not read, and the connection is not to be used again then.
   *
   * @returns how many were read
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

  /** The other side has sent all that it will. @returns whether there was an answer */
  close(): boolean {
    if (this.status === null) return false;
    this.#stop();
    return true;
  }

  /** The headers of the final answer, where they are kept. */
  get headers(): AnswerHeaders {
    return this.#headers?.all ?? [];
  }

  /** The beginning of the body, read as UTF-8, NUL replaced. */
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
      if (line.endsWith("\r\n")) this.#readLine(line.slice(0, -2));
      else this.#refuse(noHttp(line));
    }
    return end;
  }

  #beginLine(piece: string): void {
    this.#line += piece;
    if (this.#part !== "status line" || this.#line === "\r") return;
    // Another protocol may never end its line, nor say more until it is spoken to.
    const start = this.#line.slice(0, protocolName.length);
    if (start !== protocolName.slice(0, start.length)) this.#refuse(noHttp(this.#line));
  }

  #readLine(line: string): void {
    switch (this.#part) {
      case "status line":
        if (line !== "") this.#readStatus(line);
        break;
      case "head":
        if (line === "") this.#endHead();
        else this.#readField(line);
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
        else if (!fieldLine.test(line)) this.#stop();
        break;
    }
  }

  #readStatus(line: string): void {
    const match = statusLine.exec(line);
    if (match === null) {
      this.#refuse(invalidAnswer);
      return;
    }
    this.#code = Number(match[2]);
    this.#http11 = match[1] === "1";
    this.#persistent = this.#http11;
    this.#part = "head";
    if (this.#code === 101) this.#refuse(switchedProtocols);
  }

  #readField(line: string): void {
    if (!fieldLine.test(line)) {
      if (foldedLine.test(line)) this.#mayKeep = false;
      else this.#refuse(invalidAnswer);
      return;
    }
    this.#headers?.add(line);
    // Of all names of these lengths only the five below matter.
    const length = line.indexOf(":");
    if (length !== 10 && length !== 11 && length !== 14 && length !== 17) return;
    const value = line.slice(length + 1).trim();
    switch (line.slice(0, length).toLowerCase()) {
      case "connection":
        this.#readConnection(value.toLowerCase());
        break;
      case "keep-alive":
        this.#readKeepAlive(value);
        break;
      case "retry-after":
        this.retryAfter ??= value;
        break;
      case "content-length":
        if (this.#length !== null && this.#length !== value) this.#length = "ambiguous";
        else this.#length = value;
        break;
      case "transfer-encoding":
        this.#coding =
          this.#coding === null ? value.toLowerCase() : `${this.#coding}, ${value.toLowerCase()}`;
        break;
    }
  }

  #readConnection(value: string): void {
    const options = value.split(",").map((option) => option.trim());
    if (options.includes("close")) this.#mayKeep = false;
    else if (options.includes("keep-alive")) this.#persistent = true;
  }

  #readKeepAlive(value: string): void {
    const timeout = /(?:^|[,;\s])timeout\s*=\s*([0-9]{1,9})/i.exec(value)?.[1];
    if (timeout === undefined) return;
    this.#announcedMs = Math.max(Number(timeout) * 1_000 - keepMarginMs, 0);
  }

  /** RFC 9112, section 6.3: where the body ends. */
  #endHead(): void {
    const code = this.#code;
    if (code < 200) {
      this.#expectFinal();
      return;
    }
    this.status = code;
    this.#lineBytes = 0;
    const length = this.#length;
    const coding = this.#coding;
    if (code === 204 || code === 304 || (this.#tunnel && code < 300)) {
      // One that announces a body all the same may send it.
      if (coding !== null || (length !== null && length !== "0")) this.#mayKeep = false;
      this.#complete();
    } else if (coding !== null) {
      // Who sends both, or chunks before 1.1, may have meant another end than we see.
      if (length !== null || !this.#http11) this.#mayKeep = false;
      this.#part = coding === "chunked" ? "chunk size" : "body until close";
    } else if (length === null) {
      this.#part = "body until close";
    } else if (/^[0-9]{1,15}$/.test(length)) {
      this.#left = Number(length);
      this.#part = "sized body";
      if (this.#left === 0) this.#complete();
    } else {
      this.#stop();
    }
  }

  #expectFinal(): void {
    this.#headers?.clear();
    this.#part = "status line";
    this.#mayKeep = true;
    this.#announcedMs = unlimited;
    this.#length = null;
    this.#coding = null;
    this.retryAfter = null;
  }

  #readChunkSize(line: string): void {
    const size = chunkLine.exec(line)?.[1];
    this.#left = Number.parseInt(size ?? "", 16);
    if (size === undefined) this.#stop();
    else this.#part = this.#left === 0 ? "trailers" : "chunk";
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

  /** The answer has been read to its end, which is beyond doubt. */
  #complete(): void {
    this.#stop();
    if (this.#mayKeep && this.#persistent) this.keepMs = this.#announcedMs;
  }

  /** Nothing after this can be told apart. */
  #stop(): void {
    this.ended = true;
    this.#part = "nothing";
  }

  #refuse(failure: Failure): void {
    if (this.status === null) this.fault = failure;
    else this.#stop();
  }
}

/** What begins like an alert of TLS (RFC 8446, section 5.1) comes from a receiver that was spoken to without it. */
const noHttp = (line: string): Failure => (line.startsWith("\x15") ? speaksTls : invalidAnswer);

const utf8 = new TextDecoder();
