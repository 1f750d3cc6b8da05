import { describe, expect, test } from "bun:test";
import { BlockedAddressError } from "../../../src/delivery/send/address.ts";
import { ResponseParser } from "../../../src/delivery/send/response.ts";
import { failureOf, statusError, timedOut } from "../../../src/delivery/send/result.ts";
import type { OutcomeClass } from "../../../src/delivery/send/send.ts";

const limits = { maxBodyBytes: 64, keepBytes: 16 };

/**
 * All that is to be known of an answer whose bytes came in these pieces, after which the connection was closed or not.
 */
function read(pieces: Buffer[], { close = false, tunnel = false } = {}) {
  const answer = new ResponseParser(limits, { tunnel });
  for (const piece of pieces) answer.feed(piece);
  if (close) answer.close();
  const { status, retryAfter, ended, keepMs, fault } = answer;
  return { status, retryAfter, ended, keepMs, fault: fault?.class ?? null, text: answer.text() };
}

/** The same bytes at once, one by one, and in all divisions in two. */
function divisions(bytes: string): Buffer[][] {
  const whole = Buffer.from(bytes, "latin1");
  const twos = Array.from(whole, (_, at) => [whole.subarray(0, at), whole.subarray(at)]);
  return [[whole], Array.from(whole, (byte) => Buffer.of(byte)), ...twos];
}

interface Expected {
  status?: number | null;
  text?: string;
  keepMs?: number;
  ended?: boolean;
  retryAfter?: string | null;
  fault?: string | null;
}

const kept = Number.POSITIVE_INFINITY;
const ok = "HTTP/1.1 200 OK\r\n";
const sized = "content-length: 2\r\n";
const chunked = "transfer-encoding: chunked\r\n";

/** A table of answers, each read in every division; what a row leaves out is as in `usual`. */
function table(usual: Expected, rows: [string, string, Expected?][], options = {}): void {
  for (const [name, bytes, expected] of rows) {
    test(name, () => {
      for (const pieces of divisions(bytes)) {
        const found = read(pieces, options);
        const at = `divided after ${pieces[0]?.length} of ${bytes.length}, in ${pieces.length}`;
        const rest = { status: 200, text: "", keepMs: 0, ended: true, retryAfter: null, fault: null };
        expect<object>({ at, ...found }).toEqual({ at, ...rest, ...usual, ...expected });
      }
    });
  }
}

describe("an answer with a certain end leaves the connection in use", () => {
  table({ keepMs: kept, text: "hi" }, [
    ["sized", `${ok}${sized}\r\nhi`],
    ["sized, and empty", `${ok}content-length: 0\r\n\r\n`, { text: "" }],
    ["sized twice in the same way", `${ok}${sized}Content-Length:2\r\n\r\nhi`],
    ["chunked", `${ok}${chunked}\r\n1\r\nh\r\n1\r\ni\r\n0\r\n\r\n`],
    [
      "chunked, with extensions and trailers",
      `${ok}${chunked}\r\n002;a="b"\r\nhi\r\n0;c\r\nx: y\r\nz: \r\n\r\n`,
    ],
    ["chunked in capitals", `${ok}Transfer-Encoding:  Chunked \r\n\r\n2 \r\nhi\r\n0\r\n\r\n`],
    ["204", "HTTP/1.1 204 No Content\r\n\r\n", { status: 204, text: "" }],
    [
      "204 that says that it is empty",
      "HTTP/1.1 204 No Content\r\ncontent-length: 0\r\n\r\n",
      { status: 204, text: "" },
    ],
    ["304", "HTTP/1.1 304 Not Modified\r\n\r\n", { status: 304, text: "" }],
    ["without a reason", `HTTP/1.1 200\r\n${sized}\r\nhi`],
    ["with an empty reason", `HTTP/1.1 200 \r\n${sized}\r\nhi`],
    ["with a reason in Latin-1", `HTTP/1.1 200 d\xe9j\xe0\r\n${sized}\r\nhi`],
    ["with a status that nobody knows", `HTTP/1.1 999 Denied\r\n${sized}\r\nhi`, { status: 999 }],
    ["after blank lines", `\r\n\r\n${ok}${sized}\r\nhi`],
    [
      "after interim answers",
      `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103\r\nlink: </a>\r\n\r\n${ok}${sized}\r\nhi`,
    ],
    [
      "after an interim answer whose headers are its own",
      `HTTP/1.1 103\r\nconnection: close\r\ncontent-length: 9\r\nretry-after: 1\r\nkeep-alive: timeout=1\r\n fold\r\n\r\n${ok}${sized}\r\nhi`,
    ],
    ["by HTTP/1.0 that agrees", `HTTP/1.0 200 OK\r\nconnection: Keep-Alive\r\n${sized}\r\nhi`],
    ["with an option that is not ours", `${ok}connection: upgrade, x\r\n${sized}\r\nhi`],
    ["for a time", `${ok}Keep-Alive: timeout=5, max=100\r\n${sized}\r\nhi`, { keepMs: 4_000 }],
    [
      "for a time, by HTTP/1.0",
      `HTTP/1.0 200 OK\r\nkeep-alive: max=1, timeout=3\r\nconnection: keep-alive\r\n${sized}\r\nhi`,
      { keepMs: 2_000 },
    ],
    ["for too short a time", `${ok}keep-alive: timeout=1\r\n${sized}\r\nhi`, { keepMs: 0 }],
    [
      "to come back later",
      `HTTP/1.1 429 Slow\r\nRetry-After:  120\t\r\n${sized}\r\nhi`,
      { status: 429, retryAfter: "120" },
    ],
    [
      "whose other headers have names of the same lengths",
      `${ok}x-abcdefgh: close\r\nx-abcdefghi: 1\r\nx-abcdefghijkl: 5\r\nx-abcdefghijklmno: gzip\r\n${sized}\r\nhi`,
    ],
    ["as long as may be read", `${ok}content-length: 64\r\n\r\n${"x".repeat(64)}`, { text: "x".repeat(16) }],
  ]);
});

describe("the status stands, but the connection is not used again,", () => {
  table({ text: "hi" }, [
    ["when the receiver says so", `${ok}connection: close\r\n${sized}\r\nhi`],
    [
      "when it says so among others, and otherwise too",
      `${ok}connection: x, Close\r\nconnection: keep-alive\r\n${sized}\r\nhi`,
    ],
    ["by HTTP/1.0", `HTTP/1.0 200 OK\r\n${sized}\r\nhi`],
    [
      "by HTTP/1.0 in chunks",
      `HTTP/1.0 200 OK\r\nconnection: keep-alive\r\n${chunked}\r\n2\r\nhi\r\n0\r\n\r\n`,
    ],
    ["with bytes beyond the end", `${ok}${sized}\r\nhiHTTP/1.1 500 Oops\r\n\r\n`],
    ["with bytes beyond the last chunk", `${ok}${chunked}\r\n2\r\nhi\r\n0\r\n\r\n\n`],
    ["with both a length and chunks", `${ok}content-length: 9\r\n${chunked}\r\n2\r\nhi\r\n0\r\n\r\n`],
    ["with two lengths", `${ok}${sized}content-length: 3\r\n\r\nhi`, { text: "" }],
    ["with a list of lengths", `${ok}content-length: 2, 2\r\n\r\nhi`, { text: "" }],
    ["with a negative length", `${ok}content-length: -2\r\n\r\nhi`, { text: "" }],
    ["with a length in hexadecimal", `${ok}content-length: 0x2\r\n\r\nhi`, { text: "" }],
    ["with a length beyond counting", `${ok}content-length: ${"9".repeat(16)}\r\n\r\nhi`, { text: "" }],
    ["with an empty length", `${ok}content-length:\r\n\r\nhi`, { text: "" }],
    ["with a folded header", `${ok}x: a\r\n b\r\n${sized}\r\nhi`],
    ["with a folded length", `${ok}content-length: 2\r\n 0\r\n\r\nhi`],
    ["with a folded first line", `${ok} x: y\r\n${sized}\r\nhi`],
    ["with 204 and a length", "HTTP/1.1 204 No\r\ncontent-length: 2\r\n\r\n", { status: 204, text: "" }],
    ["with 304 and chunks", `HTTP/1.1 304 Not\r\n${chunked}\r\n`, { status: 304, text: "" }],
    ["with a malformed chunk", `${ok}${chunked}\r\n2\r\nhi\r\nzz\r\n`],
    ["with a chunk longer than told", `${ok}${chunked}\r\n2\r\nhi!\r\n0\r\n\r\n`],
    ["with a chunk size that is signed", `${ok}${chunked}\r\n+2\r\nhi\r\n0\r\n\r\n`, { text: "" }],
    ["with a chunk size without end", `${ok}${chunked}\r\n000000002\r\nhi`, { text: "" }],
    ["with LF alone in every line", "HTTP/1.1 200 OK\ncontent-length: 2\n\nhi"],
    ["with LF alone after the status line", `HTTP/1.1 200 OK\n${sized}\r\nhi`],
    ["with LF alone after a header", `${ok}content-length: 2\n\r\nhi`],
    ["with LF alone at the end of the head", `${ok}${sized}\nhi`],
    ["with LF alone before the head", `\n${ok}${sized}\r\nhi`],
    ["with LF alone in an interim answer", `HTTP/1.1 100 Continue\n\n${ok}${sized}\r\nhi`],
    ["with LF alone, of any status", "HTTP/1.1 410 Gone\n\n", { status: 410, text: "", ended: false }],
    ["with LF alone in the lines of chunks", `${ok}${chunked}\r\n2\nhi\n0\nx: y\n\n`],
    ["with a chunk size that ends in LF alone", `${ok}${chunked}\r\n2\nhi\r\n0\r\n\r\n`],
    ["with a coding before chunked", `${ok}transfer-encoding: gzip, chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n`],
    ["with codings in two lines", `${ok}transfer-encoding: gzip\r\n${chunked}\r\n2\r\nhi\r\n0\r\n\r\n`],
    ["with chunked twice", `${ok}${chunked}${chunked}\r\n2\r\nhi\r\n0\r\n\r\n`],
    ["with an empty coding", `${ok}transfer-encoding: chunked ,\r\n\r\n2\r\nhi\r\n0\r\n\r\n`],
    ["with the coding identity", `${ok}Transfer-Encoding: Identity\r\n${sized}\r\nhi`],
    [
      "with a coding before chunked, and a length",
      `${ok}${sized}transfer-encoding: br, chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n`,
    ],
    ["with malformed trailers", `${ok}${chunked}\r\n2\r\nhi\r\n0\r\nx y\r\n\r\n`],
    [
      "with a longer body than is read",
      `${ok}content-length: 65\r\n\r\n${"x".repeat(65)}`,
      { text: "x".repeat(16) },
    ],
    ["with an endless body", `${ok}\r\n${"x".repeat(200)}`, { text: "x".repeat(16) }],
  ]);
});

describe("the other side has closed", () => {
  table(
    { text: "hi" },
    [
      ["after a body of any length", `${ok}\r\nhi`],
      ["after a body in another coding", `${ok}transfer-encoding: gzip\r\n\r\nhi`],
      ["after a body in chunks that are coded again", `${ok}transfer-encoding: chunked, gzip\r\n\r\nhi`],
      ["within a sized body", `${ok}content-length: 3\r\n\r\nhi`],
      ["within a chunk", `${ok}${chunked}\r\n3\r\nhi`],
      ["within the head", `${ok}content-len`, { status: null, ended: false, text: "" }],
      ["before the head", "", { status: null, ended: false, text: "" }],
    ],
    { close: true },
  );
});

test("a body until close has not ended before", () => {
  for (const pieces of divisions(`${ok}\r\nhi`))
    expect(read(pieces)).toMatchObject({ status: 200, ended: false });
});

describe("no answer", () => {
  table({ status: null, ended: false, fault: "protocol" }, [
    ["words", "hello there\r\n\r\n"],
    ["another protocol that says nothing more", "SSH-2.0"],
    ["TLS", "\x15\x03\x01\x00\x02\x02\x46"],
    ["HTTP/2", "HTTP/2 200\r\n\r\n"],
    ["HTTP/1.2", "HTTP/1.2 200 OK\r\n\r\n"],
    ["HTTP in small letters", "http/1.1 200 OK\r\n\r\n"],
    ["a status that is none", "HTTP/1.1 099 OK\r\n\r\n"],
    ["a status of two digits", "HTTP/1.1 20 OK\r\n\r\n"],
    ["a status of four digits", "HTTP/1.1 2000 OK\r\n\r\n"],
    ["two spaces", "HTTP/1.1  200 OK\r\n\r\n"],
    ["NUL in the reason", "HTTP/1.1 200 O\0K\r\n\r\n"],
    ["CR in the reason", "HTTP/1.1 200 O\rK\r\n\r\n"],
    ["words with LF alone", "hello there\n\n"],
    ["a header line without a colon that ends in LF alone", `${ok}x: y\nz\r\n\r\n`],
    ["CR before CRLF", `${ok}x: y\r\r\n\r\n`],
    ["a header without a colon", `${ok}x\r\n\r\n`],
    ["a header without a name", `${ok}: y\r\n\r\n`],
    ["a space before the colon", `${ok}content-length : 0\r\n\r\n`],
    ["CR in a value", `${ok}x: a\rb: c\r\n\r\n`],
    ["NUL in a value", `${ok}x: a\0\r\n\r\n`],
    ["NUL in a folded value", `${ok}x: a\r\n \0\r\n\r\n`],
    ["a switch of protocols", "HTTP/1.1 101 Switching\r\nupgrade: x\r\n\r\n"],
    ["garbage after an interim answer", "HTTP/1.1 100 Continue\r\n\r\nhello"],
  ]);
});

describe("without bound", () => {
  const flood = (unit: string) => unit.repeat(Math.ceil(16_385 / unit.length));

  test.each([
    ["a status line", `HTTP/1.1 200 ${flood("x")}`],
    ["a header line", `${ok}x: ${flood("x")}`],
    ["header lines", `${ok}${flood("x: y\r\n")}`],
    ["blank lines", flood("\r\n")],
    ["blank lines of LF alone", flood("\n")],
    ["header lines with LF alone", `HTTP/1.1 200 OK\n${flood("x: y\n")}`],
    ["interim answers", flood("HTTP/1.1 102 Processing\r\n\r\n")],
  ])("%s: too large, at the first byte beyond 16 KiB", (_, bytes) => {
    const whole = Buffer.from(bytes);
    const bytewise = Array.from(whole, (byte) => Buffer.of(byte));
    for (const pieces of [[whole], bytewise]) {
      expect(read(pieces)).toMatchObject({ status: null, fault: "too_large" });
    }
    expect(read([whole.subarray(0, 16_384)])).toMatchObject({ status: null, fault: null });
  });

  test.each([
    ["trailers", `0\r\n${flood("x: y\r\n")}`],
    ["a trailer", `0\r\nx: ${flood("y")}`],
    ["an extension of a chunk", `1;${flood("x")}`],
    ["a body in chunks", flood("1\r\nx\r\n")],
  ])("%s: the status stands", (_, bytes) => {
    const whole = Buffer.from(`${ok}${chunked}\r\n${bytes}`);
    for (const pieces of [[whole], Array.from(whole, (byte) => Buffer.of(byte))]) {
      expect(read(pieces)).toMatchObject({ status: 200, ended: true, keepMs: 0, fault: null });
    }
  });
});

describe("the answer to CONNECT", () => {
  table(
    {},
    [
      ["has no body when it is a 2xx", "HTTP/1.1 200 Connection established\r\n\r\n", { keepMs: kept }],
      ["has none whatever it says", `${ok}${sized}\r\n`],
    ],
    { tunnel: true },
  );
  test("leaves the bytes behind the response unread", () => {
    const answer = new ResponseParser(limits, { tunnel: true });
    expect(answer.feed(Buffer.from(`${ok}\r\nearly`))).toBe(ok.length + 2);
  });
});

describe("headers", () => {
  const bytes = `HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n${ok}Content-Length: 0\r\nX-A:  b \r\nx-a: c\r\n\r\n`;

  test("are kept when asked for, of the final response alone", () => {
    for (const pieces of divisions(bytes)) {
      const answer = new ResponseParser({ ...limits, keepHeaders: "always" });
      for (const piece of pieces) answer.feed(piece);
      expect(answer.headers).toEqual([
        ["content-length", "0"],
        ["x-a", "b"],
        ["x-a", "c"],
      ]);
    }
  });

  test("are not kept otherwise", () => {
    const answer = new ResponseParser(limits);
    answer.feed(Buffer.from(bytes));
    expect([answer.status, answer.headers]).toEqual([200, []]);
  });
});

test("an alert of TLS is recognised, however it comes", () => {
  for (const alert of ["15030100020246", "1503030002020a", "15"]) {
    const answer = new ResponseParser(limits);
    answer.feed(Buffer.from(alert, "hex"));
    expect(answer.fault).toMatchObject({ class: "protocol", speaks: "https" });
  }
});

function failure(code: string, more: object = {}): Error {
  return Object.assign(new Error(`secret details at 10.0.0.1 ${code}`), { code, ...more });
}

describe("failureOf", () => {
  test.each<[string, OutcomeClass]>([
    ["ENOTFOUND", "dns"],
    ["EAI_AGAIN", "dns"],
    ["ESERVFAIL", "dns"],
    ["ECONNREFUSED", "refused"],
    ["EHOSTUNREACH", "unreachable"],
    ["ENETUNREACH", "unreachable"],
    ["ETIMEDOUT", "unreachable"],
    ["ECONNRESET", "reset"],
    ["EPIPE", "reset"],
    ["ERR_SOCKET_CLOSED", "reset"],
    ["CERT_HAS_EXPIRED", "tls"],
    ["DEPTH_ZERO_SELF_SIGNED_CERT", "tls"],
    ["SELF_SIGNED_CERT_IN_CHAIN", "tls"],
    ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", "tls"],
    ["ERR_TLS_CERT_ALTNAME_INVALID", "tls"],
    ["ERR_SSL_WRONG_VERSION_NUMBER", "tls"],
    ["EMFILE", "internal"],
    ["ERR_INVALID_CHAR", "internal"],
  ])("%s is %s", (code, kind) => {
    const { class: found, error } = failureOf(failure(code), "connecting");
    expect(found).toBe(kind);
    expect(error).toMatch(/^[A-Z].*\.$/);
    expect(error).not.toMatch(/secret|10\.0\.0\.1/);
  });

  test("a resolver that could not be reached is not a receiver that refused", () => {
    expect(failureOf(failure("ECONNREFUSED", { syscall: "getaddrinfo" }), "connecting").class).toBe("dns");
  });

  test("an address that is not public is blocked", () => {
    expect(failureOf(new BlockedAddressError(), "resolving the host name").class).toBe("blocked");
  });

  test("of several failed addresses, the first one is reported", () => {
    const all = Object.assign(new AggregateError([failure("ECONNREFUSED")]), { code: "ECONNREFUSED" });
    expect(failureOf(all, "connecting").class).toBe("refused");
  });

  test("anything at all can be classed", () => {
    for (const thrown of [undefined, null, "text", 5, {}, { code: 5 }, new Error("no code")]) {
      expect(failureOf(thrown, "connecting")).toEqual({
        class: "internal",
        error: "The request could not be made (unknown).",
      });
    }
  });

  test("names the stage at which a connection broke or timed out", () => {
    expect(failureOf(failure("ECONNRESET"), "agreeing on encryption").error).toBe(
      "The connection was closed while agreeing on encryption.",
    );
    expect(timedOut(15_000, "connecting").error).toBe("The time limit of 15 s was reached while connecting.");
  });
});

test("statusError speaks of all but 2xx", () => {
  expect([199, 200, 299, 300, 399, 400].map(statusError)).toEqual([
    "The answer was 199.",
    null,
    null,
    "The answer was 300. Redirects are not followed.",
    "The answer was 399. Redirects are not followed.",
    "The answer was 400.",
  ]);
});
