import {
  invalidResponse,
  type ResponseHeaders,
  type SendFailure,
  speaksTls,
  switchedProtocols,
  tooLarge,
} from "./result.ts";

/**
 * The grammar of a response's head and framing in HTTP/1.1 (RFC 9112), applied strictly. Pure. Lines are passed without
 * their end.
 */

const anyText = "[\\t\\x20-\\x7e\\x80-\\xff]*";
const statusForm = new RegExp(`^HTTP/1\\.([01]) ([1-9][0-9]{2})(?: ${anyText})?$`);
const fieldForm = new RegExp(`^[!#$%&'*+.^_\`|~0-9A-Za-z-]+:${anyText}$`);
const foldedForm = new RegExp(`^[ \\t]${anyText}$`);
const chunkSizeForm = new RegExp(`^([0-9A-Fa-f]{1,8})[ \\t]*(?:;${anyText})?$`);
const lengthForm = /^[0-9]{1,15}$/;
const protocolName = "HTTP/1.";

/** The keep-alive time if the receiver states none. */
const noLimit = Number.POSITIVE_INFINITY;

/** Subtracted from the stated keep-alive time, because the receiver's timer starts first. */
const keepMarginMs = 1_000;

/** Whether a status line may begin with these characters. */
function mayBeginStatusLine(start: string): boolean {
  const part = start.slice(0, protocolName.length);
  return part === protocolName.slice(0, part.length);
}

/**
 * Whether a response begins as a TLS alert (RFC 8446, section 5.1), which a TLS server sends when it gets plain text.
 */
function isTlsAlert(start: string): boolean {
  return start.startsWith("\x15");
}

/** Whether a line is a valid header field. */
function isFieldLine(line: string): boolean {
  return fieldForm.test(line);
}

/** The size of a chunk (RFC 9112, section 7.1); null if the line is malformed. */
function chunkSizeOf(line: string): number | null {
  const size = chunkSizeForm.exec(line)?.[1];
  return size === undefined ? null : Number.parseInt(size, 16);
}

/** How the end of the body is found (RFC 9112, section 6.3); `unknown`: the length is malformed. */
type BodyFraming =
  | { readonly kind: "none" | "chunked" | "until close" | "unknown" }
  | { readonly kind: "sized"; readonly bytes: number };

/** The transfer codings of a response, in lower case. `identity`, a coding of RFC 2616, codes nothing. */
function codingsOf(value: string): string[] {
  return value
    .split(",")
    .map((coding) => coding.trim())
    .filter((coding) => coding !== "" && coding !== "identity");
}

/** The head of one response, interim or final. */
class ResponseHead {
  readonly status: number;
  /** The value of the first `Retry-After`. */
  retryAfter: string | null = null;

  readonly #isHttp11: boolean;
  /** Whether the connection stays open: by default in HTTP/1.1, else as the head states. */
  #isPersistent: boolean;
  /** Whether the end of the response is unambiguous, and the receiver does not announce closing. */
  #mayKeep = true;
  #statedMs = noLimit;
  #length: string | null = null;
  #coding: string | null = null;

  private constructor(status: number, isHttp11: boolean) {
    this.status = status;
    this.#isHttp11 = isHttp11;
    this.#isPersistent = isHttp11;
  }

  /** Returns null if the status line is malformed. */
  static begin(statusLine: string): ResponseHead | null {
    const match = statusForm.exec(statusLine);
    return match === null ? null : new ResponseHead(Number(match[2]), match[1] === "1");
  }

  /** Adds a header line. Returns false if it is malformed. */
  add(line: string): boolean {
    if (!isFieldLine(line)) {
      // Folded lines are obsolete (RFC 9112, section 5.2): an intermediary may have read the head differently.
      this.#mayKeep = false;
      return foldedForm.test(line);
    }
    // Other lengths are skipped for speed: none of the five names below has them.
    const length = line.indexOf(":");
    if (length !== 10 && length !== 11 && length !== 14 && length !== 17) return true;
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
    return true;
  }

  /** How many milliseconds the connection may be reused after the response; 0 for not at all. */
  get keepMs(): number {
    return this.#mayKeep && this.#isPersistent ? this.#statedMs : 0;
  }

  /**
   * Returns how the end of the body is found. To be called when the head is complete.
   *
   * @param isTunnel whether this is the response to CONNECT: then a 2xx has no body (RFC 9110, section 9.3.6)
   */
  framing(isTunnel: boolean): BodyFraming {
    const { status } = this;
    const length = this.#length;
    const coding = this.#coding;
    const codings = codingsOf(coding ?? "");
    if (status === 204 || status === 304 || (isTunnel && status < 300)) {
      // A receiver that announces a body here may send it.
      if (coding !== null || (length !== null && length !== "0")) this.#mayKeep = false;
      return { kind: "none" };
    }
    if (coding !== null) {
      // With both headers, or with chunks before HTTP/1.1, the end is ambiguous.
      // Other codings than chunked alone are rare: an intermediary may have read them differently.
      if (length !== null || !this.#isHttp11 || coding !== "chunked") this.#mayKeep = false;
      if (codings.length > 0) return { kind: codings.at(-1) === "chunked" ? "chunked" : "until close" };
    }
    if (length === null) return { kind: "until close" };
    return lengthForm.test(length) ? { kind: "sized", bytes: Number(length) } : { kind: "unknown" };
  }

  #readConnection(value: string): void {
    const options = value.split(",").map((option) => option.trim());
    if (options.includes("close")) this.#mayKeep = false;
    else if (options.includes("keep-alive")) this.#isPersistent = true;
  }

  #readKeepAlive(value: string): void {
    const timeout = /(?:^|[,;\s])timeout\s*=\s*([0-9]{1,9})/i.exec(value)?.[1];
    if (timeout === undefined) return;
    this.#statedMs = Math.max(Number(timeout) * 1_000 - keepMarginMs, 0);
  }
}

/**
 * The most bytes of blank lines, interim responses and head together. The same bound applies to the lines of chunks and
 * trailers together.
 */
const maxHeadBytes = 16_384;

/** The most headers that are kept. */
const maxHeaders = 40;
/** The longest name of a header that is kept. */
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
  /** Whether to keep the headers: always, or those of a response that is not 2xx. By default they are not kept. */
  readonly keepHeaders?: "always" | "failed" | undefined;
}

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
        else if (this.#keepsHeaders) this.#keepHeader(line);
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

  get #keepsHeaders(): boolean {
    const { keepHeaders } = this.#limits;
    const status = this.#head?.status ?? 0;
    return keepHeaders === "always" || (keepHeaders === "failed" && status >= 300);
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
      // An interim response. The final response follows.
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
