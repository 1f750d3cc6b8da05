import { expect, test } from "bun:test";
import { serverSentEvents } from "../../src/client/stream.ts";

async function read(text: string, size = text.length): Promise<unknown[]> {
  const bytes = new TextEncoder().encode(text);
  async function* chunks() {
    for (let i = 0; i < bytes.length; i += Math.max(1, size)) yield bytes.subarray(i, i + Math.max(1, size));
  }
  const events = [];
  for await (const event of serverSentEvents(chunks())) events.push(event);
  return events;
}

const event = (data: string | null, more: object = {}) => ({
  type: "message",
  data,
  lastId: "",
  retryMs: null,
  ...more,
});

test.each<[string, string, unknown[]]>([
  ["nothing", "", []],
  ["one line", "data: a\n\n", [event("a")]],
  ["lines that end otherwise", "data: a\r\n\r\ndata: b\r\rdata: c\n\n", [event("a"), event("b"), event("c")]],
  ["lines that belong together", "data: a\ndata: b\n\n", [event("a\nb")]],
  ["only the first space belongs to the colon", "data:a\n\ndata:  b\n\n", [event("a"), event(" b")]],
  ["a name", "event: x\ndata: a\n\n", [event("a", { type: "x" })]],
  [
    "an event name applies to one event, an id to all that follow",
    "id: 1\nevent: x\ndata: a\n\ndata: b\n\n",
    [event("a", { type: "x", lastId: "1" }), event("b", { lastId: "1" })],
  ],
  ["an id without data", "id: 7\n\n", [event(null, { lastId: "7" })]],
  ["an id with NUL is none", "id: a\0b\ndata: a\n\n", [event("a")]],
  ["retry", "retry: 250\ndata: a\n\nretry: soon\ndata: b\n\n", [event("a", { retryMs: 250 }), event("b")]],
  ["comments and unknown fields", ": hello\n\ndata: a\nfoo: bar\nfoo\n\n", [event(null), event("a")]],
  ["empty data", "data\n\n", [event("")]],
  ["what no blank line ends does not count", "data: a\n\ndata: b\n", [event("a")]],
  ["characters of several bytes", "data: 星🎉\n\n", [event("星🎉")]],
  ["a byte order mark", "\ufeffdata: a\n\n", [event("a")]],
])("%s, however the stream is divided", async (_, text, events) => {
  for (const size of [text.length * 4, 1, 2, 3, 7]) expect(await read(text, size)).toEqual(events);
});

test("an endless line is an error", async () => {
  await expect(read(`data: ${"x".repeat(9_000_000)}`)).rejects.toThrow("that is too long");
});

test("an endless frame is an error", async () => {
  await expect(read(`data: ${"x".repeat(1_000)}\n`.repeat(9_000))).rejects.toThrow("that is too long");
});

test("as many lines in complete frames are accepted", async () => {
  expect(await read(`data: ${"x".repeat(1_000)}\n\n`.repeat(9_000), 65_536)).toHaveLength(9_000);
});

test("a line that arrives in many pieces takes time in proportion to its length", async () => {
  const leastMs = async (length: number) => {
    let least = Number.POSITIVE_INFINITY;
    for (let i = 0; i < 3; i++) {
      const startedAt = performance.now();
      await read(`data: ${"x".repeat(length)}\n\n`, 100);
      least = Math.min(least, performance.now() - startedAt);
    }
    return least;
  };
  await leastMs(100_000);
  // Work that grows with the square would take sixteen times as long.
  expect(await leastMs(2_000_000)).toBeLessThan(10 * (await leastMs(500_000)));
});
