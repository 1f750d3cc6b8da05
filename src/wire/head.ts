/*
 * Reads the head of a request: HTTP/1.1 (RFC 9112), strictly, so that no proxy in front can see another request in the
 * same bytes. Lines end with CRLF; nothing is folded; a body has one length or is chunked, never both.
 */

import { malformed, WireFault } from "./fault.ts";

/** Request line, fields and what separates them. */
export const maxHeadBytes = 16 * 1024;

/** A `Headers` takes time that grows with the square of their number: 3,000 lines took 34 ms. */
const maxFieldLines = 100;

const headTooLarge = (message: string) => new WireFault("head_too_large", message);

/** What is wrong with a head of more than `maxHeadBytes`, from what came of it. */
export function tooManyBytes(beginning: string): WireFault {
  const limit = `must be at most ${maxHeadBytes} bytes`;
  if (beginning.includes("\r\n")) return headTooLarge(`The head of a request ${limit}`);
  return new WireFault("target_too_long", `The first line of a request ${limit}`);
}

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

/** Bytes of memory that fields take: their text, and what was cut out of it (measured: 2 to 3 times the text). */
export function memoryOf({ text }: Fields): number {
  return 3 * text.length;
}

export interface Head {
  readonly method: string;
  /** Path and query as they came. */
  readonly target: string;
  /** 1.1, or 1.0, which knows neither chunks nor, unasked, a second request. */
  readonly isHttp11: boolean;
  readonly fields: Fields;
}

const requestLine = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+) ([\x21\x22\x24-\x7e\x80-\xff]+) HTTP\/([0-9]\.[0-9])$/;
const originForm = /^\/[\x21\x22\x24-\x7e]*$/;
/** A line of a head or, behind a body in chunks, of its trailers. */
export const fieldLine = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t\x20-\x7e\x80-\xff]*$/;
const hostAndPort = /^(?:[A-Za-z0-9._~!$&'()*+,;=%-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{0,5})?$/;

/** Those of RFC 9110 but CONNECT, and PATCH. A `Request` that is made with one that Bun does not know is a GET. */
const methods = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"]);

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
  const [, method = "", given = "", version] = requestLine.exec(line) ?? [];
  if (version === undefined) throw malformed("The request line is not that of HTTP/1.1");
  if (version !== "1.1" && version !== "1.0") {
    throw new WireFault("version_not_supported", "This server speaks HTTP/1.1");
  }
  const isHttp11 = version === "1.1";
  if (isHttp11 && fields.host === null) throw malformed("The Host header is missing");
  if (!isHttp11 && fields.contentLength === null) throw malformed("HTTP/1.0 knows no chunks");
  if (!methods.has(method)) {
    throw new WireFault("method_not_implemented", "This server does not know the method");
  }
  return { method, target: originOf(method, given), isHttp11, fields };
}

/** The target in origin-form (RFC 9112, section 3.2). */
function originOf(method: string, given: string): string {
  // Clients that do not encode what stands in a URL send UTF-8.
  const target = /[\x80-\xff]/.test(given) ? Buffer.from(given, "latin1").toString("utf8") : given;
  if (target.includes("\ufffd")) throw malformed("The target of the request is not UTF-8");
  if (target.startsWith("/")) return target;
  const [, authority = "", path = ""] = /^https?:\/\/([^/?]*)(.*)$/is.exec(target) ?? [];
  if (hostAndPort.test(authority)) return path.startsWith("/") ? path : `/${path}`;
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
    entries.push(line.slice(0, colon).toLowerCase(), fieldValue(line, colon + 1));
    at = end + 2;
  }
  if (entries.length > maxFieldLines * 2) {
    throw headTooLarge(`A request must have at most ${maxFieldLines} header lines`);
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

/** What a line holds from `start` on. Not `trim`: to HTTP, unlike Unicode, a no-break space is part of a value. */
function fieldValue(line: string, start: number): string {
  let end = line.length;
  while (start < end && isSpace(line.charCodeAt(start))) start++;
  while (start < end && isSpace(line.charCodeAt(end - 1))) end--;
  return line.slice(start, end);
}

const isSpace = (code: number) => code === 0x20 || code === 0x09;

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
    // Otherwise nobody can say where the body ends, whatever codings are known.
    const codings = coding.split(",").map((one) => fieldValue(one, 0).toLowerCase());
    if (codings.indexOf("chunked") !== codings.length - 1) {
      throw malformed("Of the transfer codings the last one, and no other, must be chunked");
    }
    throw new WireFault("coding_not_implemented", "The only transfer coding is chunked");
  }
  if (length === null) return 0;
  if (!/^[0-9]{1,15}$/.test(length)) throw malformed("Content-Length must be one decimal number");
  return Number(length);
}

function expectation(get: Fields["get"]): boolean {
  const expected = get("expect");
  if (expected === null) return false;
  if (expected.toLowerCase() === "100-continue") return true;
  throw new WireFault("expectation_failed", "The only expectation is 100-continue");
}

function connectionOf(value: string | null): Fields["connection"] {
  const options = (value ?? "").split(",").map((option) => fieldValue(option, 0).toLowerCase());
  if (options.includes("close")) return "close";
  return options.includes("keep-alive") ? "keep-alive" : null;
}
