import { describe, expect, test } from "bun:test";
import { Body } from "../../src/wire/body.ts";
import { WireFault } from "../../src/wire/fault.ts";
import { usedBytes } from "../support/memory.ts";

/** How bodies are read (RFC 9112, sections 6 and 7.1), however their bytes are divided. */

const maxBytes = 32;

/** What a body is found to be: its text, "too large", "incomplete" or "refused"; and how much of the input was read. */
type Found = { readonly is: string; readonly read: number };

/** Reads a body that arrives in these pieces. @param length null: in chunks */
function readPieces(pieces: readonly Buffer[], length: number | null): Found {
  const body = new Body(length, maxBytes);
  let read = 0;
  try {
    for (const piece of pieces) {
      const at = body.feed(piece, 0);
      read += at;
      if (body.ended) break;
      // What is not read of a piece is the beginning of the next request, so only where the body has ended.
      expect(at).toBe(piece.length);
    }
  } catch (error) {
    if (!(error instanceof WireFault)) throw error;
    expect([error.status, error.code]).toEqual([400, "malformed_request"]);
    return { is: "refused", read: -1 };
  }
  expect(body.bytes().length).toBeLessThanOrEqual(maxBytes + 1);
  if (body.isTooLarge) return { is: "too large", read };
  return { is: body.ended ? Buffer.from(body.bytes()).toString("latin1") : "incomplete", read };
}

/** Every division of the input in two and in three, each byte alone, and pieces of each size. */
function* divisions(input: Buffer): Generator<Buffer[]> {
  const { length } = input;
  for (let size = 1; size <= length; size++) {
    yield Array.from({ length: Math.ceil(length / size) }, (_, i) =>
      input.subarray(i * size, (i + 1) * size),
    );
  }
  for (let one = 0; one <= length; one++) {
    for (let two = one; two <= length; two++) {
      yield [input.subarray(0, one), input.subarray(one, two), input.subarray(two)];
    }
  }
}

/** What every division of the input gives. */
function read(text: string, length: number | null = null): Found {
  const input = Buffer.from(text, "latin1");
  const whole = readPieces([input], length);
  for (const pieces of divisions(input)) expect(readPieces(pieces, length)).toEqual(whole);
  return whole;
}

const next = "GET / HTTP/1.1\r\n";

describe("a body with a length", () => {
  test.each([
    ["one byte", "a", 1, "a", 1],
    ["several", "hello", 5, "hello", 5],
    ["none", "", 0, "", 0],
    ["as large as it may be", "x".repeat(32), 32, "x".repeat(32), 32],
    ["all bytes", "\0\r\n\xff\x80", 5, "\0\r\n\xff\x80", 5],
    ["not all of it", "hell", 5, "incomplete", 4],
    ["nothing of it", "", 5, "incomplete", 0],
    ["another request behind it", `hello${next}`, 5, "hello", 5],
    ["what looks like a chunk", "2\r\nhi", 5, "2\r\nhi", 5],
    // Nobody waits for what would be refused.
    ["too much", "", 33, "too large", 0],
    ["far too much", "hello", 999_999_999_999_999, "too large", 0],
  ])("%s", (_, text, length, is, count) => {
    expect(read(text, length)).toEqual({ is, read: count });
  });
});

describe("a body in chunks", () => {
  test.each([
    ["none", "0\r\n\r\n", ""],
    ["one", "5\r\nhello\r\n0\r\n\r\n", "hello"],
    ["two", "2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n", "hello"],
    ["hexadecimal sizes", "a\r\n0123456789\r\nA\r\n0123456789\r\n0\r\n\r\n", "01234567890123456789"],
    ["zeros before a size", "00000001\r\na\r\n000\r\n\r\n", "a"],
    ["line ends as data", "4\r\n\r\n\r\n\r\n0\r\n\r\n", "\r\n\r\n"],
    ["the end as data", "5\r\n0\r\n\r\n\r\n0\r\n\r\n", "0\r\n\r\n"],
    ["extensions", '1;a\r\nx\r\n1;b=c;d="e"\r\ny\r\n0;f\r\n\r\n', "xy"],
    ["an extension beyond ASCII", '1;a="\xe9\t;\\""\r\nx\r\n0\r\n\r\n', "x"],
    ["trailers, which are left out", "1\r\nx\r\n0\r\nX-Checksum: abc\r\nY:\r\n\r\n", "x"],
    ["as much as there may be", `20\r\n${"x".repeat(32)}\r\n0\r\n\r\n`, "x".repeat(32)],
    ["as much in two", `1f\r\n${"x".repeat(31)}\r\n1\r\nx\r\n0\r\n\r\n`, "x".repeat(32)],
  ])("%s", (_, text, is) => {
    expect(read(text)).toEqual({ is, read: text.length });
    expect(read(text + next)).toEqual({ is, read: text.length });
  });

  test.each([
    ["nothing", ""],
    ["a part of a size", "1"],
    ["a size", "5\r\n"],
    ["a part of a chunk", "5\r\nhel"],
    ["a chunk", "5\r\nhello\r\n"],
    ["no end of the trailers", "0\r\nX: y\r\n"],
    ["half of the end", "0\r\n\r"],
  ])("%s is not all of it", (_, text) => {
    expect(read(text)).toEqual({ is: "incomplete", read: text.length });
  });

  test.each([
    ["no size", "\r\n"],
    ["no number", "x\r\n"],
    ["a prefix", "0x5\r\nhello\r\n0\r\n\r\n"],
    ["a sign", "+5\r\nhello\r\n0\r\n\r\n"],
    ["a negative size", "-1\r\n"],
    ["a size of nine digits", "000000005\r\nhello\r\n0\r\n\r\n"],
    ["a size that overflows 64 bits", "10000000000000005\r\nhello\r\n0\r\n\r\n"],
    ["space before a size", " 5\r\nhello\r\n0\r\n\r\n"],
    ["space behind a size", "5 \r\nhello\r\n0\r\n\r\n"],
    ["tab behind a size", "5\t\r\nhello\r\n0\r\n\r\n"],
    // Allowed by section 7.1.1, for old senders; parsers differ about it, and nobody sends it.
    ["space before an extension", "5 ;a\r\nhello\r\n0\r\n\r\n"],
    ["two sizes", "5 5\r\nhello\r\n0\r\n\r\n"],
    ["something else than an extension", "5,a\r\nhello\r\n0\r\n\r\n"],
    ["an extension without a name", "5;\r\nhello\r\n0\r\n\r\n"],
    ["an extension without a value", "5;a=\r\nhello\r\n0\r\n\r\n"],
    ["an extension that is none", "5;()\r\nhello\r\n0\r\n\r\n"],
    ["an extension with an open quote", '5;a="b\r\nhello\r\n0\r\n\r\n'],
    ["something behind a quote", '5;a="b"c\r\nhello\r\n0\r\n\r\n'],
    ["LF alone behind a size", "5\nhello\r\n0\r\n\r\n"],
    ["LF alone behind an extension", "5;a\nhello\r\n0\r\n\r\n"],
    ["CR in an extension", "5;a\rb\r\nhello\r\n0\r\n\r\n"],
    ["NUL in an extension", "5;\0\r\nhello\r\n0\r\n\r\n"],
    ["CR twice", "5\r\r\nhello\r\n0\r\n\r\n"],
    ["more data than the size says", "5\r\nhello!\r\n0\r\n\r\n"],
    ["less data than the size says", "5\r\nhell\r\n0\r\n\r\n"],
    ["LF alone behind the data", "5\r\nhello\n0\r\n\r\n"],
    ["no line end behind the data", "5\r\nhello0\r\n\r\n"],
    ["LF alone behind the last chunk", "0\n\r\n"],
    ["LF alone at the end", "0\r\n\n"],
    ["a space as the end", "0\r\n \r\n"],
    ["a trailer without a name", "0\r\n: x\r\n\r\n"],
    ["a trailer that is none", "0\r\nGET / HTTP/1.1\r\n\r\n"],
    ["a length as a trailer", "0\r\nContent-Length: 5\r\n\r\nhello"],
    ["a coding as a trailer", "0\r\ntransfer-encoding: chunked\r\n\r\n"],
    ["a host as a trailer", "0\r\nHOST: b\r\n\r\n"],
    ["a folded trailer", "0\r\nX: y\r\n z\r\n\r\n"],
    ["a space in a trailer's name", "0\r\nX : y\r\n\r\n"],
    ["CR in a trailer", "0\r\nX: y\rGET / HTTP/1.1\r\n\r\n"],
    ["LF in a trailer", "0\r\nX: y\nZ: a\r\n\r\n"],
    ["NUL in a trailer", "0\r\nX: \0\r\n\r\n"],
  ])("%s is refused", (_, text) => {
    expect(read(text)).toEqual({ is: "refused", read: -1 });
  });

  test("what is too large ends with the first byte beyond", () => {
    expect(read(`21\r\n${"x".repeat(33)}\r\n0\r\n\r\n`)).toEqual({ is: "too large", read: 4 + 33 });
    expect(read(`ffffffff\r\n${"x".repeat(40)}`)).toEqual({ is: "too large", read: 10 + 33 });
    expect(read(`20\r\n${"x".repeat(32)}\r\n1\r\nx`)).toEqual({ is: "too large", read: 4 + 32 + 2 + 3 + 1 });
    // It is not its size that is too large: that may be a lie.
    expect(read(`ffffffff\r\n${"x".repeat(32)}`)).toEqual({ is: "incomplete", read: 10 + 32 });
  });

  test("what stands around the data is bounded, too", () => {
    const around = 16 * 1024;
    const refused = (text: string) => readPieces([Buffer.from(text, "latin1")], null).is;
    const ends = "1;\r\n\r\n0\r\n\r\n";
    const extension = (bytes: number) => `1;${"e".repeat(bytes)}\r\nx\r\n0\r\n\r\n`;
    expect(refused(extension(around - ends.length))).toBe("x");
    expect(refused(extension(around - ends.length + 1))).toBe("refused");
    expect(refused(`0\r\n${"X: y\r\n".repeat(around / 6)}\r\n`)).toBe("refused");
    // A line that never ends.
    expect(refused("0".repeat(around + 1))).toBe("refused");
  });
});

test("a body that comes byte by byte takes not much more memory than its bytes", () => {
  const bytes = 64 * 1024;
  const body = new Body(bytes, bytes);
  const byte = Buffer.from("x");
  const before = usedBytes();
  for (let i = 0; i < bytes; i++) body.feed(byte, 0);
  expect(usedBytes() - before).toBeLessThan(16 * bytes);
  expect(body.bytes().length).toBe(bytes);
});
