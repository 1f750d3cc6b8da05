import { describe, expect, test } from "bun:test";
import { type Head, readHead, WireFault } from "../../src/wire/head.ts";

/** How heads of requests are read (RFC 9112, sections 2 to 6), and which are refused. */

const host = "Host: api.example.com\r\n";

/** A head of these lines. */
function head(line: string, ...fields: string[]): string {
  return `${[line, ...fields].join("\r\n")}\r\n\r\n`;
}

const get = (...fields: string[]) => head("GET / HTTP/1.1", "Host: a", ...fields);

function read(text: string): Head | [number, string] {
  try {
    return readHead(text, null);
  } catch (error) {
    if (!(error instanceof WireFault)) throw error;
    return [error.status, error.code];
  }
}

/** The status and code that a head is refused with; null where it is not. */
function refusal(text: string): [number, string] | null {
  const result = read(text);
  return Array.isArray(result) ? result : null;
}

const malformed: [number, string] = [400, "malformed_request"];

describe("the request line", () => {
  test.each([
    ["GET / HTTP/1.1", "GET", "/"],
    ["GET /public/v1/users/xqcow?a=b&c=%20 HTTP/1.1", "GET", "/public/v1/users/xqcow?a=b&c=%20"],
    ["HEAD / HTTP/1.1", "HEAD", "/"],
    ["POST / HTTP/1.1", "POST", "/"],
    ["PUT / HTTP/1.1", "PUT", "/"],
    ["PATCH / HTTP/1.1", "PATCH", "/"],
    ["DELETE / HTTP/1.1", "DELETE", "/"],
    ["OPTIONS / HTTP/1.1", "OPTIONS", "/"],
    ["TRACE / HTTP/1.1", "TRACE", "/"],
    // Not touched: what a path means is not for HTTP to say.
    ["GET //a/./b/../c HTTP/1.1", "GET", "//a/./b/../c"],
    ['GET /?a\\b|{}"<>^` HTTP/1.1', "GET", '/?a\\b|{}"<>^`'],
    ["GET /caf\xc3\xa9 HTTP/1.1", "GET", "/café"],
    // Section 3.2.2: absolute-form; the host in it is as little asked for as the one in `Host`.
    ["GET http://api.example.com/a?b HTTP/1.1", "GET", "/a?b"],
    ["GET HTTPS://api.example.com:443/a HTTP/1.1", "GET", "/a"],
    ["GET http://[::1]:8080 HTTP/1.1", "GET", "/"],
    ["GET http://api.example.com?b HTTP/1.1", "GET", "/?b"],
    ["GET http://api.example.com/a\xe2\x80\xa8b HTTP/1.1", "GET", "/a\u2028b"],
    // Section 3.2.4: asterisk-form.
    ["OPTIONS * HTTP/1.1", "OPTIONS", "/*"],
  ])("%s", (line, method, target) => {
    expect(read(head(line, "Host: a"))).toMatchObject({ method, target, isHttp11: true });
  });

  test.each([
    ["no target", "GET HTTP/1.1"],
    ["HTTP/0.9", "GET /"],
    ["nothing", ""],
    ["two spaces", "GET  / HTTP/1.1"],
    ["a space in the target", "GET /a b HTTP/1.1"],
    ["a space behind the version", "GET / HTTP/1.1 "],
    ["a space before the method", " GET / HTTP/1.1"],
    ["tabs", "GET\t/\tHTTP/1.1"],
    ["a fragment", "GET /#a HTTP/1.1"],
    ["NUL in the target", "GET /\0 HTTP/1.1"],
    ["DEL in the target", "GET /\x7f HTTP/1.1"],
    ["CR in the target", "GET /\rHost: b HTTP/1.1"],
    ["LF in the target", "GET /\nHost: b HTTP/1.1"],
    ["CR behind the version", "GET / HTTP/1.1\r"],
    ["NUL in the method", "GE\0T / HTTP/1.1"],
    ["a colon in the method", "GET: / HTTP/1.1"],
    ["a path without a slash", "GET a HTTP/1.1"],
    ["another scheme", "GET ftp://a/ HTTP/1.1"],
    ["no authority", "GET http:///a HTTP/1.1"],
    ["a user in the authority", "GET http://good@evil/ HTTP/1.1"],
    ["a backslash in the authority", "GET http://a\\b/ HTTP/1.1"],
    ["a target that is not UTF-8", "GET /\xff HTTP/1.1"],
    ["an overlong slash", "GET /\xc0\xaf HTTP/1.1"],
    ["half of a surrogate pair", "GET /\xed\xa0\x80 HTTP/1.1"],
    ["an asterisk that is not for OPTIONS", "GET * HTTP/1.1"],
    ["a lower-case version", "GET / http/1.1"],
    ["another protocol", "GET / HTTPS/1.1"],
    ["a version of three digits", "GET / HTTP/1.10"],
    ["no minor version", "GET / HTTP/1"],
    ["a signed version", "GET / HTTP/+1.1"],
  ])("%s is refused", (_, line) => {
    expect(refusal(head(line, "Host: a"))).toEqual(malformed);
  });

  test.each(["HTTP/2.0", "HTTP/1.2", "HTTP/0.9", "HTTP/3.0"])("%s is refused", (version) => {
    expect(refusal(head(`GET / ${version}`, "Host: a"))).toEqual([505, "version_not_supported"]);
  });

  test("the preface of HTTP/2 is refused", () => {
    expect(refusal("PRI * HTTP/2.0\r\n\r\n")).toEqual([505, "version_not_supported"]);
  });

  test.each([
    "FOO",
    "TRACK",
    "get",
    "Get",
    "GETX",
    "PROPFIND",
    "M-SEARCH",
    "!#$%&'*+.^_`|~",
    "a method of 1,000 bytes",
  ])("method %s is not known", (name) => {
    const method = name.includes(" ") ? "X".repeat(1000) : name;
    expect(refusal(head(`${method} / HTTP/1.1`, "Host: a"))).toEqual([501, "method_not_implemented"]);
  });

  test("CONNECT is not known in any form", () => {
    for (const target of ["api.example.com:443", "/", "http://a/"]) {
      expect(refusal(head(`CONNECT ${target} HTTP/1.1`, "Host: a"))).toEqual([501, "method_not_implemented"]);
    }
  });
});

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
    const first = readHead(head("GET /a HTTP/1.1", "Host: a", "X: y"), null);
    expect(readHead(head("POST /b HTTP/1.1", "Host: a", "X: y"), first.fields).fields).toBe(first.fields);
    const other = readHead(head("GET /a HTTP/1.1", "Host: a", "X: z"), first.fields);
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
    expect(read(head("GET / HTTP/1.1", `Host: ${value}`))).toMatchObject({ fields: { host: value } });
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
    expect(refusal(head("GET / HTTP/1.1", `Host: ${value}`))).toEqual(malformed);
  });

  test.each<[string, string[]]>([
    ["none", []],
    ["two", ["Host: a", "Host: b"]],
    ["the same twice", ["Host: a", "host: a"]],
  ])("%s is refused (section 3.2)", (_, lines) => {
    expect(refusal(head("GET / HTTP/1.1", ...lines))).toEqual(malformed);
  });

  test("HTTP/1.0 needs none, and may not have two either", () => {
    expect(refusal(head("GET / HTTP/1.0"))).toBeNull();
    expect(refusal(head("GET / HTTP/1.0", "Host: a", "Host: a"))).toEqual(malformed);
  });
});

describe("what says how long the body is", () => {
  const lengthOf = (...lines: string[]) => {
    const result = read(head("POST / HTTP/1.1", "Host: a", ...lines));
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
    ["Transfer-Encoding:"],
    ["Transfer-Encoding: identity"],
    ["Transfer-Encoding: gzip"],
    ["Transfer-Encoding: gzip, chunked"],
    ["Transfer-Encoding: chunked, identity"],
    ["Transfer-Encoding: chunked, chunked"],
    ["Transfer-Encoding: xchunked"],
    ["Transfer-Encoding: chunkedx"],
    ['Transfer-Encoding: "chunked"'],
    ["Transfer-Encoding: chunked;a=b"],
    ["Transfer-Encoding: ,chunked"],
    ["Transfer-Encoding: chun ked"],
    ["Transfer-Encoding: chunked\xa0"],
    ["Transfer-Encoding: \x85chunked"],
    ["Transfer-Encoding: chunked", "Transfer-Encoding: chunked"],
    ["Transfer-Encoding: chunked", "Transfer-Encoding: identity"],
    ["Transfer-Encoding: identity", "Transfer-Encoding: chunked"],
  ])("%s is a coding that is not known", (...lines) => {
    expect(lengthOf(...lines.filter((line) => typeof line === "string"))).toEqual(notImplemented);
  });

  test("HTTP/1.0 knows no chunks (section 6.1)", () => {
    expect(refusal(head("POST / HTTP/1.0", "Transfer-Encoding: chunked"))).toEqual(malformed);
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

test("HTTP/1.0 is known as such", () => {
  expect(read(head("GET / HTTP/1.0"))).toMatchObject({ isHttp11: false, target: "/" });
  expect(read(`GET / HTTP/1.1\r\n${host}\r\n`)).toMatchObject({ isHttp11: true });
});

test("the usual request is read as all others are", () => {
  // The same target by the way for all requests: behind a method that is not GET.
  const targets = [
    "/",
    "/a?b",
    "/a b",
    "/a#",
    "/\x7f",
    "/\0",
    "a",
    "*",
    "/caf\xc3\xa9",
    "//",
    "/a\\b",
    "/ HTTP/1.1",
  ];
  for (const target of targets) {
    const [usual, other] = ["GET", "POST"].map((method) =>
      read(head(`${method} ${target} HTTP/1.1`, "Host: a")),
    );
    if (!usual || !other) throw new Error("unreachable");
    expect({ ...usual, method: "", fields: null }).toEqual({ ...other, method: "", fields: null });
  }
});
