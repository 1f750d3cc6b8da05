import { describe, expect, test } from "bun:test";
import { headOf, malformed, read, refusal } from "../support/wire.ts";

/** How the first lines of requests are read (RFC 9112, sections 2 and 3), and which are refused. */

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
    expect(read(headOf(line, "Host: a"))).toMatchObject({ method, target, isHttp11: true });
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
    expect(refusal(headOf(line, "Host: a"))).toEqual(malformed);
  });

  test.each(["HTTP/2.0", "HTTP/1.2", "HTTP/0.9", "HTTP/3.0"])("%s is refused", (version) => {
    expect(refusal(headOf(`GET / ${version}`, "Host: a"))).toEqual([505, "version_not_supported"]);
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
    expect(refusal(headOf(`${method} / HTTP/1.1`, "Host: a"))).toEqual([501, "method_not_implemented"]);
  });

  test("CONNECT is not known in any form", () => {
    for (const target of ["api.example.com:443", "/", "http://a/"]) {
      expect(refusal(headOf(`CONNECT ${target} HTTP/1.1`, "Host: a"))).toEqual([
        501,
        "method_not_implemented",
      ]);
    }
  });
});

test("HTTP/1.0 is known as such", () => {
  expect(read(headOf("GET / HTTP/1.0"))).toMatchObject({ isHttp11: false, target: "/" });
  expect(read(headOf("GET / HTTP/1.1", "Host: a"))).toMatchObject({ isHttp11: true });
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
      read(headOf(`${method} ${target} HTTP/1.1`, "Host: a")),
    );
    if (!usual || !other) throw new Error("unreachable");
    expect({ ...usual, method: "", fields: null }).toEqual({ ...other, method: "", fields: null });
  }
});
