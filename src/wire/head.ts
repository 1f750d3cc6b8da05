/*
 * Reads the head of a request: HTTP/1.1 (RFC 9112), strictly, so that no proxy in front can see another request in the
 * same bytes. Lines end with CRLF; nothing is folded; a body has one length or is chunked, never both.
 */

/** Why a request cannot be read. Its connection ends with the answer. */
export class WireFault extends Error {
  constructor(
    readonly status: 400 | 408 | 417 | 431 | 501 | 505,
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

/** Request line, fields and what separates them. */
export const maxHeadBytes = 16 * 1024;

const malformed = (message: string) => new WireFault(400, "malformed_request", message);

export const headTooLarge = () => {
  return new WireFault(431, "head_too_large", `The head of a request must be at most ${maxHeadBytes} bytes`);
};

/** The fields of a head. A connection that sends the same ones again is given the same object. */
export interface Fields {
  /** As they came, without a line's end before and with the empty line behind. */
  readonly text: string;
  /** Names in lower case, each followed by its value. */
  readonly entries: readonly string[];
  /** The value of a field; of one that came several times all of them, separated by commas; null where it is missing. */
  get(name: string): string | null;
  readonly host: string | null;
  /** Bytes of the body; null where it comes in chunks. */
  readonly contentLength: number | null;
  /** Whether the client waits for `100 Continue` before it sends the body. */
  readonly expectsContinue: boolean;
  readonly connection: "keep-alive" | "close" | null;
}

export interface Head {
  readonly method: string;
  /** Path and query as they came. */
  readonly target: string;
  /** 1.1, or 1.0, which knows neither chunks nor, unasked, a second request. */
  readonly isHttp11: boolean;
  readonly fields: Fields;
}

const methodAndTarget =
  /^([!#$%&'*+.^_`|~0-9A-Za-z-]{1,32}) ([\x21\x22\x24-\x7e\x80-\xff]+) HTTP\/1\.([01])$/;
const originForm = /^\/[\x21\x22\x24-\x7e]*$/;
const fieldLine = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t\x20-\x7e\x80-\xff]*$/;
const hostAndPort = /^(?:[A-Za-z0-9._~!$&'()*+,;=%-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{0,5})?$/;

/**
 * Reads a head: its text with the empty line at its end, each byte a character. `before` are the fields of the last
 * one. Throws a `WireFault`.
 */
export function readHead(text: string, before: Fields | null): Head {
  const lineEnd = text.indexOf("\r\n");
  const fieldsText = text.slice(lineEnd + 2);
  const fields = before !== null && before.text === fieldsText ? before : readFields(fieldsText);
  // The usual request first, because the expression for all of them takes longer.
  if (text.startsWith("GET /") && text.startsWith(" HTTP/1.1", lineEnd - 9)) {
    const target = text.slice(4, lineEnd - 9);
    if (fields.host !== null && originForm.test(target)) {
      return { method: "GET", target, isHttp11: true, fields };
    }
  }
  return readUnusual(text.slice(0, lineEnd), fields);
}

function readUnusual(line: string, fields: Fields): Head {
  const [, method = "", given = "", minor] = methodAndTarget.exec(line) ?? [];
  if (minor === undefined) {
    if (/ HTTP\/[0-9.]+$/.test(line) && !/ HTTP\/1\.[01]$/.test(line)) {
      throw new WireFault(505, "version_not_supported", "This server speaks HTTP/1.1");
    }
    throw malformed("The request line is not that of HTTP/1.1");
  }
  const isHttp11 = minor === "1";
  if (isHttp11 && fields.host === null) throw malformed("The Host header is missing");
  if (!isHttp11 && fields.contentLength === null) throw malformed("HTTP/1.0 knows no chunks");
  if (!/^[A-Z]+$/.test(method)) {
    throw new WireFault(501, "method_not_implemented", "This server does not know the method");
  }
  return { method, target: originOf(method, given), isHttp11, fields };
}

/** The target in origin-form (RFC 9112, section 3.2). */
function originOf(method: string, given: string): string {
  // Clients that do not encode what stands in a URL send UTF-8.
  const target = /[\x80-\xff]/.test(given) ? Buffer.from(given, "latin1").toString("utf8") : given;
  if (target.includes("\ufffd")) throw malformed("The target of the request is not UTF-8");
  if (target.startsWith("/")) return target;
  const [, path] = /^https?:\/\/[^/?]+(.*)$/i.exec(target) ?? [];
  if (path !== undefined) return path.startsWith("/") ? path : `/${path}`;
  if (method === "OPTIONS" && target === "*") return "/*";
  throw malformed("The target of the request must be a path");
}

function readFields(text: string): Fields {
  const entries: string[] = [];
  let at = 0;
  while (at < text.length - 2) {
    const end = text.indexOf("\r\n", at);
    const line = text.slice(at, end);
    if (!fieldLine.test(line)) throw malformed("A header line is malformed");
    const colon = line.indexOf(":");
    entries.push(line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim());
    at = end + 2;
  }
  const get = (name: string) => valuesOf(entries, name);
  return {
    text,
    entries,
    get,
    host: hostOf(entries),
    contentLength: lengthOf(get),
    expectsContinue: expectation(get),
    connection: connectionOf(get("connection")),
  };
}

function valuesOf(entries: readonly string[], name: string): string | null {
  let found: string | null = null;
  for (let i = 0; i < entries.length; i += 2) {
    if (entries[i] === name) found = found === null ? (entries[i + 1] ?? "") : `${found}, ${entries[i + 1]}`;
  }
  return found;
}

function hostOf(entries: readonly string[]): string | null {
  const hosts = entries.filter((_, i) => i % 2 === 1 && entries[i - 1] === "host");
  const [host = null] = hosts;
  if (hosts.length > 1) throw malformed("There is more than one Host header");
  if (host !== null && host !== "" && !hostAndPort.test(host))
    throw malformed("The Host header is malformed");
  return host;
}

/** RFC 9112, section 6.3: whoever could be understood in two ways is refused. */
function lengthOf(get: Fields["get"]): number | null {
  const coding = get("transfer-encoding");
  const length = get("content-length");
  if (coding !== null) {
    if (length !== null) throw malformed("A body has either Content-Length or Transfer-Encoding");
    if (coding.toLowerCase() === "chunked") return null;
    throw new WireFault(501, "coding_not_implemented", "The only transfer coding is chunked");
  }
  if (length === null) return 0;
  if (!/^[0-9]{1,15}$/.test(length)) throw malformed("Content-Length must be one decimal number");
  return Number(length);
}

function expectation(get: Fields["get"]): boolean {
  const expected = get("expect");
  if (expected === null) return false;
  if (expected.toLowerCase() === "100-continue") return true;
  throw new WireFault(417, "expectation_failed", "The only expectation is 100-continue");
}

function connectionOf(value: string | null): Fields["connection"] {
  const options = (value ?? "").toLowerCase().split(",");
  const has = (option: string) => options.some((one) => one.trim() === option);
  return has("close") ? "close" : has("keep-alive") ? "keep-alive" : null;
}
