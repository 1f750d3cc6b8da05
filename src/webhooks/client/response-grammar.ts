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
export function mayBeginStatusLine(start: string): boolean {
  const part = start.slice(0, protocolName.length);
  return part === protocolName.slice(0, part.length);
}

/**
 * Whether a response begins as a TLS alert (RFC 8446, section 5.1), which a TLS server sends when it gets plain text.
 */
export function isTlsAlert(start: string): boolean {
  return start.startsWith("\x15");
}

/** Whether a line is a valid header field. */
export function isFieldLine(line: string): boolean {
  return fieldForm.test(line);
}

/** The size of a chunk (RFC 9112, section 7.1); null if the line is malformed. */
export function chunkSizeOf(line: string): number | null {
  const size = chunkSizeForm.exec(line)?.[1];
  return size === undefined ? null : Number.parseInt(size, 16);
}

/** How the end of the body is found (RFC 9112, section 6.3); `unknown`: the length is malformed. */
type BodyFraming =
  | { readonly kind: "none" | "chunked" | "until close" | "unknown" }
  | { readonly kind: "sized"; readonly bytes: number };

/** The transfer codings of a response, in lower case. `identity` was one in RFC 2616 and codes nothing. */
function codingsOf(value: string): string[] {
  return value
    .split(",")
    .map((coding) => coding.trim())
    .filter((coding) => coding !== "" && coding !== "identity");
}

/** The head of one response, interim or final. */
export class ResponseHead {
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
