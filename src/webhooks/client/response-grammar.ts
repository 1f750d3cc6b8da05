/**
 * The grammar of a response's head and of its framing: HTTP/1.1 (RFC 9112), strictly. Pure. A line comes without its
 * CRLF.
 */

const anyText = "[\\t\\x20-\\x7e\\x80-\\xff]*";
const statusForm = new RegExp(`^HTTP/1\\.([01]) ([1-9][0-9]{2})(?: ${anyText})?$`);
const fieldForm = new RegExp(`^[!#$%&'*+.^_\`|~0-9A-Za-z-]+:${anyText}$`);
const foldedForm = new RegExp(`^[ \\t]${anyText}$`);
const chunkSizeForm = new RegExp(`^([0-9A-Fa-f]{1,8})[ \\t]*(?:;${anyText})?$`);
const lengthForm = /^[0-9]{1,15}$/;
const protocolName = "HTTP/1.";

/** The keep-alive time of a receiver that states none. */
const noLimit = Number.POSITIVE_INFINITY;

/** Subtracted from the keep-alive time that a receiver states, because its clock starts first. */
const keepMarginMs = 1_000;

/** Whether a status line may begin with these characters. */
export function mayBeginStatusLine(start: string): boolean {
  const part = start.slice(0, protocolName.length);
  return part === protocolName.slice(0, part.length);
}

/** Whether these characters begin an alert of TLS (RFC 8446, section 5.1): a TLS server was spoken to without TLS. */
export function isTlsAlert(start: string): boolean {
  return start.startsWith("\x15");
}

export function isFieldLine(line: string): boolean {
  return fieldForm.test(line);
}

/** The size of a chunk (RFC 9112, section 7.1); null if the line is malformed. */
export function chunkSizeOf(line: string): number | null {
  const size = chunkSizeForm.exec(line)?.[1];
  return size === undefined ? null : Number.parseInt(size, 16);
}

/** Where the body ends (RFC 9112, section 6.3); `unknown`: the length is malformed. */
type BodyFraming =
  | { readonly kind: "none" | "chunked" | "until close" | "unknown" }
  | { readonly kind: "sized"; readonly bytes: number };

/** The head of one response, interim or final. */
export class ResponseHead {
  readonly status: number;
  /** The value of the first `Retry-After`. */
  retryAfter: string | null = null;

  readonly #isHttp11: boolean;
  /** Whether the connection stays open unless the head states otherwise: since HTTP/1.1. */
  #isPersistent: boolean;
  /** Whether the end of the response is beyond doubt, and the receiver does not close. */
  #mayKeep = true;
  #statedMs = noLimit;
  #length: string | null = null;
  #coding: string | null = null;

  private constructor(status: number, isHttp11: boolean) {
    this.status = status;
    this.#isHttp11 = isHttp11;
    this.#isPersistent = isHttp11;
  }

  /** Null if the status line is malformed. */
  static begin(statusLine: string): ResponseHead | null {
    const match = statusForm.exec(statusLine);
    return match === null ? null : new ResponseHead(Number(match[2]), match[1] === "1");
  }

  /** Takes a header line. Returns false if it is malformed. */
  add(line: string): boolean {
    if (!isFieldLine(line)) {
      // A continuation of the last value (RFC 9112, section 5.2) is obsolete: a reader before us may see another head.
      this.#mayKeep = false;
      return foldedForm.test(line);
    }
    // Of all names of these lengths only the five below matter.
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

  /** For how many milliseconds the connection may be used again once the response is complete; 0: not at all. */
  get keepMs(): number {
    return this.#mayKeep && this.#isPersistent ? this.#statedMs : 0;
  }

  /**
   * To be called when the head is complete.
   *
   * @param isTunnel whether CONNECT was asked, of which a 2xx has no body (RFC 9110, section 9.3.6)
   */
  framing(isTunnel: boolean): BodyFraming {
    const { status } = this;
    const length = this.#length;
    const coding = this.#coding;
    if (status === 204 || status === 304 || (isTunnel && status < 300)) {
      // A receiver that announces a body all the same may send it.
      if (coding !== null || (length !== null && length !== "0")) this.#mayKeep = false;
      return { kind: "none" };
    }
    if (coding !== null) {
      // With both, or with chunks before 1.1, the receiver may mean another end.
      if (length !== null || !this.#isHttp11) this.#mayKeep = false;
      return { kind: coding === "chunked" ? "chunked" : "until close" };
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
