import { describe, expect, test } from "bun:test";
import { readHead } from "../../src/wire/head.ts";
import { headOf, malformed, read, refusal } from "../support/wire.ts";

/** How the fields of requests are read (RFC 9112, sections 5 and 6), and which are refused. */

const get = (...fields: string[]) => headOf("GET / HTTP/1.1", "Host: a", ...fields);

describe("fields", () => {
  test("are found by their names in lower case, without white space around their values", () => {
    const { fields } = readHead(get("X-A:  one \t", "x-b:two", "EMPTY:", "X-C: a  b"), null);
    const names = ["x-a", "x-b", "empty", "x-c", "x-missing"];
    expect(names.map((name) => fields.get(name))).toEqual(["one", "two", "", "a  b", null]);
    expect(fields.entries).toEqual(["host", "a", "x-a", "one", "x-b", "two", "empty", "", "x-c", "a  b"]);
  });

  test("that come several times have their values joined, in order", () => {
    const { fields } = readHead(get("Accept: a", "X: y", "accept: b"), null);
    expect(fields.get("accept")).toBe("a, b");
  });

  test("may hold any byte but control characters", () => {
    const value = String.fromCharCode(...Array.from({ length: 95 }, (_, i) => 0x20 + i)).trim();
    const { fields } = readHead(get(`X: \x80${value}\ta\xff`), null);
    expect(fields.get("x")).toBe(`\x80${value}\ta\xff`);
  });

  test.each([
    ["a space before the colon", "Content-Length : 5"],
    ["a tab before the colon", "Transfer-Encoding\t: chunked"],
    ["a folded line", "X: a\r\n b"],
    ["a folded line with a tab", "X: a\r\n\tb"],
    ["no colon", "X"],
    ["no name", ": a"],
    ["a space in the name", "X Y: a"],
    ["a name beyond ASCII", "X\xe9: a"],
    ["NUL in the name", "X\0: a"],
    ["NUL in the value", "X: a\0b"],
    ["CR in the value", "X: a\rTransfer-Encoding: chunked"],
    ["LF in the value", "X: a\nTransfer-Encoding: chunked"],
    ["LF before a line's end", "X: a\n"],
    ["CR before a line's end", "X: a\r"],
    ["DEL in the value", "X: a\x7f"],
    ["vertical tab", "X: \x0ba"],
    ["quotes around the name", '"X": a'],
  ])("%s is refused", (_, line) => {
    expect(refusal(get(line))).toEqual(malformed);
  });

  test("white space between the request line and the first field is refused (section 2.2)", () => {
    expect(refusal(`GET / HTTP/1.1\r\n Host: a\r\n\r\n`)).toEqual(malformed);
    expect(refusal(`GET / HTTP/1.1\r\n \r\nHost: a\r\n\r\n`)).toEqual(malformed);
  });

  test("there are a hundred at most", () => {
    const lines = Array.from({ length: 100 }, (_, i) => `X-${i}: a`);
    expect(refusal(get(...lines.slice(1)))).toBeNull();
    expect(refusal(get(...lines))).toEqual([431, "head_too_large"]);
  });

  test("the same ones again are not read again", () => {
    const first = readHead(headOf("GET /a HTTP/1.1", "Host: a", "X: y"), null);
    expect(readHead(headOf("POST /b HTTP/1.1", "Host: a", "X: y"), first.fields).fields).toBe(first.fields);
    const other = readHead(headOf("GET /a HTTP/1.1", "Host: a", "X: z"), first.fields);
    expect(other.fields.get("x")).toBe("z");
  });
});

describe("Host", () => {
  test.each([
    "api.example.com",
    "api.example.com:8080",
    "api.example.com:",
    "127.0.0.1:8080",
    "[::1]:8080",
    "[::ffff:1.2.3.4]",
    "under_score",
    "xn--bcher-kva.example",
    "a%2eb",
    "",
  ])("%p is one", (value) => {
    expect(read(headOf("GET / HTTP/1.1", `Host: ${value}`))).toMatchObject({ fields: { host: value } });
  });

  test.each([
    "a b",
    "a/b",
    "a?b",
    "a#b",
    "user@a",
    "a\\b",
    "a:b",
    "a:80:80",
    "a:123456",
    "[::1",
    "::1",
    "é",
    "<a>",
  ])("%p is none", (value) => {
    expect(refusal(headOf("GET / HTTP/1.1", `Host: ${value}`))).toEqual(malformed);
  });

  test.each<[string, string[]]>([
    ["none", []],
    ["two", ["Host: a", "Host: b"]],
    ["the same twice", ["Host: a", "host: a"]],
  ])("%s is refused (section 3.2)", (_, lines) => {
    expect(refusal(headOf("GET / HTTP/1.1", ...lines))).toEqual(malformed);
  });

  test("HTTP/1.0 needs none, and may not have two either", () => {
    expect(refusal(headOf("GET / HTTP/1.0"))).toBeNull();
    expect(refusal(headOf("GET / HTTP/1.0", "Host: a", "Host: a"))).toEqual(malformed);
  });
});

describe("what says how long the body is", () => {
  const lengthOf = (...lines: string[]) => {
    const result = read(headOf("POST / HTTP/1.1", "Host: a", ...lines));
    return Array.isArray(result) ? result : result.fields.contentLength;
  };
  const notImplemented: [number, string] = [501, "coding_not_implemented"];

  test.each<[string[], number | null]>([
    [[], 0],
    [["Content-Length: 0"], 0],
    [["Content-Length: 5"], 5],
    [["content-length:\t5\t"], 5],
    [["Content-Length: 0005"], 5],
    [["Content-Length: 999999999999999"], 999_999_999_999_999],
    // null: in chunks.
    [["Transfer-Encoding: chunked"], null],
    [["transfer-encoding:CHUNKED "], null],
  ])("%j is %p", (lines, length) => {
    expect(lengthOf(...lines)).toBe(length);
  });

  test.each([
    ["nothing", ["Content-Length:"]],
    ["a sign", ["Content-Length: +5"]],
    ["a negative one", ["Content-Length: -5"]],
    ["a hexadecimal one", ["Content-Length: 0x5"]],
    ["an exponent", ["Content-Length: 5e1"]],
    ["a fraction", ["Content-Length: 5.0"]],
    ["two numbers", ["Content-Length: 5 5"]],
    ["a list", ["Content-Length: 5, 5"]],
    ["the same twice", ["Content-Length: 5", "Content-Length: 5"]],
    ["two that differ", ["Content-Length: 5", "Content-Length: 6"]],
    ["one beyond what is exact", ["Content-Length: 9007199254740993"]],
    ["one that overflows", ["Content-Length: 18446744073709551621"]],
    ["digits of another script", ["Content-Length: \xb2"]],
    // White space of Unicode, but not of HTTP: a proxy in front may see another length, or none.
    ["a no-break space", ["Content-Length: 5\xa0"]],
    ["another control character", ["Content-Length: 5\x0b"]],
  ])("Content-Length: %s is refused", (_, lines) => {
    expect(lengthOf(...lines)).toEqual(malformed);
  });

  test.each([
    ["Transfer-Encoding: chunked", "Content-Length: 5"],
    ["Content-Length: 0", "Transfer-Encoding: chunked"],
    ["Transfer-Encoding: identity", "Content-Length: 5"],
    ["Transfer-Encoding:", "Content-Length: 5"],
  ])("%s with %s is refused", (one, two) => {
    expect(lengthOf(one, two)).toEqual(malformed);
  });

  test.each<string[]>([
    ["Transfer-Encoding: gzip, chunked"],
    ["Transfer-Encoding: gzip,deflate\t,\tCHUNKED "],
    ["Transfer-Encoding: ,chunked"],
    ["Transfer-Encoding: identity", "Transfer-Encoding: chunked"],
  ])("%s is a coding that is not known", (...lines) => {
    expect(lengthOf(...lines.filter((line) => typeof line === "string"))).toEqual(notImplemented);
  });

  test.each<string[]>([
    ["Transfer-Encoding:"],
    ["Transfer-Encoding: identity"],
    ["Transfer-Encoding: gzip"],
    ["Transfer-Encoding: chunked, identity"],
    ["Transfer-Encoding: chunked,"],
    ["Transfer-Encoding: chunked, chunked"],
    ["Transfer-Encoding: xchunked"],
    ["Transfer-Encoding: chunkedx"],
    ['Transfer-Encoding: "chunked"'],
    ["Transfer-Encoding: chunked;a=b"],
    ["Transfer-Encoding: chun ked"],
    ["Transfer-Encoding: chunked\xa0"],
    ["Transfer-Encoding: \x85chunked"],
    ["Transfer-Encoding: chunked", "Transfer-Encoding: chunked"],
    ["Transfer-Encoding: chunked", "Transfer-Encoding: identity"],
  ])("%s does not end with chunked, once: nobody knows where the body ends (section 6.3)", (...lines) => {
    expect(lengthOf(...lines.filter((line) => typeof line === "string"))).toEqual(malformed);
  });

  test("HTTP/1.0 knows no chunks (section 6.1)", () => {
    expect(refusal(headOf("POST / HTTP/1.0", "Transfer-Encoding: chunked"))).toEqual(malformed);
  });

  test("another name than these says nothing", () => {
    expect(lengthOf("Content_Length: 5", "X-Content-Length: 5", "Transfer_Encoding: chunked")).toBe(0);
  });
});

describe("Connection and Expect", () => {
  test.each([
    ["close", "close"],
    ["Close", "close"],
    ["keep-alive", "keep-alive"],
    ["Keep-Alive, Upgrade", "keep-alive"],
    ["keep-alive, close", "close"],
    ["upgrade\t,\tclose", "close"],
    ["Upgrade, HTTP2-Settings", null],
    ["closed", null],
    ["close\xa0", null],
    ["", null],
  ])("Connection: %s", (value, expected) => {
    expect(read(get(`Connection: ${value}`))).toMatchObject({ fields: { connection: expected } });
  });

  test("Connection in several lines", () => {
    expect(read(get("Connection: keep-alive", "Connection: close"))).toMatchObject({
      fields: { connection: "close" },
    });
  });

  test("100-continue is expected in any case of its letters; nothing else can be", () => {
    expect(read(get("Expect: 100-Continue"))).toMatchObject({ fields: { expectsContinue: true } });
    expect(read(get())).toMatchObject({ fields: { expectsContinue: false } });
    for (const value of ["200-ok", "", "100-continue, 100-continue", "100-continue\xa0"]) {
      expect(refusal(get(`Expect: ${value}`))).toEqual([417, "expectation_failed"]);
    }
  });
});
